/* SPDX-License-Identifier: MIT */
#include "server/catalog/json_schema.h"
#include <string.h>

#include "server/base/ascii.h"

/*
 * client/elicitation "Form Mode Security": passwords, keys, access tokens and
 * payment credentials must not be asked for in a form. Names are compared as
 * words, so that "tokens_used", "secretary" and "spinning" are no secrets.
 */
#define MAX_WORDS 16
#define MAX_WORD  32

struct words {
	char word[MAX_WORDS][MAX_WORD];
	size_t n;
};

static bool is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

static bool is_lower(char c)
{
	return c >= 'a' && c <= 'z';
}

/* "apiKey", "API_KEY", "api-key" and "APIKey" are the words api and key. */
static bool begins_word(const char *s, size_t i)
{
	if (i == 0)
		return true;
	if (!is_upper(s[i]))
		return false;
	return !is_upper(s[i - 1]) || is_lower(s[i + 1]);
}

static void split(const char *s, struct words *w)
{
	size_t len = 0;

	memset(w, 0, sizeof(*w));
	for (size_t i = 0; s[i]; i++) {
		char c = s[i];

		if (!is_upper(c) && !is_lower(c) && !ascii_is_digit(c)) {
			w->n += len > 0;
			len = 0;
			continue;
		}
		if (len > 0 && begins_word(s, i)) {
			w->n++;
			len = 0;
		}
		if (w->n == MAX_WORDS)
			return;
		if (len < MAX_WORD - 1)
			w->word[w->n][len++] = (char)(c | 0x20);
	}
	w->n += len > 0;
}

/* One or several words in a row; several also written as one. */
static const char *const secrets[] = {
	"pwd",
	"passcode",
	"pass phrase",
	"pass code",
	"secret",
	"secrets",
	"credential",
	"credentials",
	"api key",
	"api keys",
	"access key",
	"private key",
	"secret key",
	"signing key",
	"encryption key",
	"ssh key",
	"access token",
	"auth token",
	"bearer token",
	"refresh token",
	"id token",
	"session token",
	"api token",
	"security token",
	"jwt",
	"session cookie",
	"credit card",
	"debit card",
	"card number",
	"card code",
	"cvv",
	"cvv2",
	"cvc",
	"cvc2",
	"security code",
	"ssn",
	"social security",
	"pin code",
	"pin number",
	"card pin",
	"otp",
	"totp",
	"one time code",
	"mfa code",
	"2fa code",
	"recovery code",
	"recovery phrase",
	"seed phrase",
	"backup code",
	"security answer",
};

/* So plain that they count in the middle of a word too: "dbpassword". */
static const char *const anywhere[] = {"password", "passwd",     "passphrase",
				       "apikey",   "privatekey", NULL};

/* The words of @secret at word @at, each its own or run together. */
static bool stands_at(const struct words *w, size_t at, const char *secret)
{
	size_t next = at;

	while (*secret) {
		size_t n = strcspn(secret, " ");

		if (next == w->n || strlen(w->word[next]) != n ||
		    memcmp(w->word[next], secret, n) != 0)
			return false;
		next++;
		secret += n;
		secret += *secret == ' ';
	}
	return true;
}

static bool is_run_together(const char *word, const char *secret)
{
	for (; *secret; secret++) {
		if (*secret != ' ' && *word++ != *secret)
			return false;
	}
	return *word == '\0';
}

bool json_schema_secret_name(const char *name)
{
	struct words w;

	split(name, &w);
	/* "token" alone or last is one; "token_count" is not. Nor is a
	 * "gpio_pin". */
	if (w.n > 0 && strcmp(w.word[w.n - 1], "token") == 0)
		return true;
	if (w.n == 1 && strcmp(w.word[0], "pin") == 0)
		return true;
	for (size_t i = 0; i < w.n; i++) {
		for (const char *const *a = anywhere; *a; a++) {
			if (strstr(w.word[i], *a))
				return true;
		}
		for (size_t k = 0; k < sizeof(secrets) / sizeof(*secrets);
		     k++) {
			if (stands_at(&w, i, secrets[k]) ||
			    is_run_together(w.word[i], secrets[k]))
				return true;
		}
	}
	return false;
}

const char *json_schema_secret_property(const json_t *schema)
{
	json_t *properties = json_object_get(schema, "properties");
	const char *name;
	json_t *p;

	json_object_foreach (properties, name, p) {
		const char *format =
			json_string_value(json_object_get(p, "format"));

		if (json_schema_secret_name(name) ||
		    (format && strcmp(format, "password") == 0))
			return name;
	}
	return NULL;
}
