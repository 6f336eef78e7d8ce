/* SPDX-License-Identifier: MIT */
/* Where keys come from, and the few primitives beside them. What a sealed state
 * holds and binds: tests/unit/protocol/test_request_state.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "server/base/log.h"
#include "server/security/keyring.h"

#define K1       "one AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
#define K2       "two BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBA"
#define VARIABLE "BIDE_TEST_KEYS"

struct place {
	char dir[256];
	char path[300];
};

static int set_up(void **state)
{
	static struct place p;
	const char *tmp = getenv("TMPDIR");

	log_set_level(LOG_NONE);
	assert_true(security_init());
	(void)snprintf(p.dir, sizeof(p.dir), "%s/bide-keys-XXXXXX",
		       tmp != NULL ? tmp : "/tmp");
	assert_non_null(mkdtemp(p.dir));
	(void)snprintf(p.path, sizeof(p.path), "%s/keys", p.dir);
	*state = &p;
	return 0;
}

static int tear_down(void **state)
{
	struct place *p = *state;

	(void)unlink(p->path);
	(void)unsetenv(VARIABLE);
	return rmdir(p->dir);
}

static void write_file(const struct place *p, const char *text, mode_t mode)
{
	FILE *f = fopen(p->path, "we");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(p->path, mode), 0);
}

static struct keyring *from_file(const struct place *p, const char *text)
{
	struct bide_error err = {0};
	struct keyring *k = NULL;

	write_file(p, text, 0600);
	if (keyring_from_file(p->path, &k, &err) != BIDE_OK)
		fail_msg("%s", err.text);
	return k;
}

static struct keyring *from_env(const char *text)
{
	struct bide_error err = {0};
	struct keyring *k = NULL;

	assert_int_equal(setenv(VARIABLE, text, 1), 0);
	if (keyring_from_env(VARIABLE, &k, &err) != BIDE_OK)
		fail_msg("%s", err.text);
	return k;
}

/* @a seals; @why: what @b says to it. */
static void opens(struct keyring *a, struct keyring *b, enum keyring_why why)
{
	char *text = keyring_seal(a, "secret", 6);
	char *plain = NULL;
	char kid[16];
	size_t len = 0;

	assert_non_null(text);
	assert_null(strstr(text, "secret"));
	assert_int_equal(keyring_open(b, text, strlen(text), &plain, &len, kid),
			 why);
	if (why == KEYRING_OK) {
		assert_int_equal(len, 6);
		assert_string_equal(plain, "secret");
	} else {
		assert_null(plain);
	}
	free(plain);
	free(text);
}

/* The first seals, all open; order alone changes who seals. */
static void test_file__first_seals_all_open(void **state)
{
	struct keyring *old = from_file(*state, K1 "\n");
	struct keyring *both =
		from_file(*state, "# rotated\n\n" K2 "\r\n" K1 "\n");
	struct keyring *new = from_file(*state, K2);
	char *text = keyring_seal(both, "x", 1);

	assert_true(strncmp(text, "b1.two.", 7) == 0);
	assert_null(strchr(text, '='));
	free(text);
	opens(old, both, KEYRING_OK);
	opens(both, new, KEYRING_OK);
	opens(both, old, KEYRING_UNKNOWN_KEY);
	opens(old, new, KEYRING_UNKNOWN_KEY);
	keyring_free(old);
	keyring_free(both);
	keyring_free(new);
}

/* The id is no key: another key under the same id opens nothing. */
static void test_file__same_id_other_key(void **state)
{
	struct keyring *a = from_file(*state, K1);
	struct keyring *b = from_file(
		*state, "one BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBA");

	opens(a, b, KEYRING_MAC);
	keyring_free(a);
	keyring_free(b);
}

static void refused(const struct place *p, const char *text, const char *why)
{
	struct bide_error err = {0};
	struct keyring *k = NULL;

	write_file(p, text, 0600);
	assert_int_not_equal(keyring_from_file(p->path, &k, &err), BIDE_OK);
	assert_null(k);
	if (strstr(err.text, why) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", err.text, why);
	/* A key is never in a text that may be logged. */
	assert_null(strstr(err.text, "AAAA"));
}

static void test_file__says_what_is_wrong(void **state)
{
	char many[1024] = "";

	refused(*state, "", "holds no key");
	refused(*state, "# nothing\n", "holds no key");
	refused(*state, "one", "each line");
	refused(*state, "a-name-of-20-letters AAAA", "each line");
	refused(*state, "a.b AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
		"each line");
	refused(*state, "one AAAA", "32 bytes");
	refused(*state, K1 "=", "32 bytes");
	refused(*state, K1 "\n" K1, "twice");
	for (int i = 0; i <= STORE_KEYS_MAX; i++) {
		size_t n = strlen(many);

		(void)snprintf(many + n, sizeof(many) - n, "k%d%s\n", i,
			       K1 + 3);
	}
	refused(*state, many, "more than");
}

static void test_file__must_be_its_owners_alone(void **state)
{
	const struct place *p = *state;
	struct bide_error err = {0};
	struct keyring *k = NULL;

	write_file(p, K1, 0640);
	assert_int_equal(keyring_from_file(p->path, &k, &err), BIDE_INVALID);
	assert_non_null(strstr(err.text, "chmod 600"));
	assert_int_equal(unlink(p->path), 0);
	assert_int_equal(keyring_from_file(p->path, &k, &err), BIDE_IO);
	assert_null(k);
}

static void test_env__is_read_like_a_file(void **state)
{
	struct keyring *file = from_file(*state, K2 "\n" K1);
	struct keyring *lines = from_env(K2 "\n" K1 "\n");
	struct keyring *commas = from_env(K2 "," K1);
	struct keyring *one = from_env(K1);

	opens(file, lines, KEYRING_OK);
	opens(file, commas, KEYRING_OK);
	opens(one, commas, KEYRING_OK);
	opens(commas, one, KEYRING_UNKNOWN_KEY);
	/* The variable itself is left as it was. */
	assert_string_equal(getenv(VARIABLE), K1);
	keyring_free(file);
	keyring_free(lines);
	keyring_free(commas);
	keyring_free(one);
}

static void test_env__says_what_is_wrong(void **state)
{
	struct bide_error err = {0};
	struct keyring *k = NULL;

	(void)state;
	(void)unsetenv(VARIABLE);
	assert_int_equal(keyring_from_env(VARIABLE, &k, &err), BIDE_INVALID);
	assert_non_null(strstr(err.text, VARIABLE));
	assert_int_equal(setenv(VARIABLE, ",", 1), 0);
	assert_int_equal(keyring_from_env(VARIABLE, &k, &err), BIDE_INVALID);
	assert_non_null(strstr(err.text, "holds no key"));
	assert_int_equal(setenv(VARIABLE, K1 ",one", 1), 0);
	assert_int_equal(keyring_from_env(VARIABLE, &k, &err), BIDE_INVALID);
	assert_non_null(strstr(err.text, "each line"));
	assert_null(k);
}

/* ---- beside them ---- */
static void test_token__is_long_and_never_the_same(void **state)
{
	char seen[64][SECURITY_TOKEN_TEXT];

	(void)state;
	for (int i = 0; i < 64; i++) {
		security_token(seen[i]);
		assert_true(strlen(seen[i]) * 6 >= 128);
		assert_true(seen[i][0] != '-' && seen[i][0] != '_');
		assert_int_equal(strspn(seen[i],
					"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijkl"
					"mnopqrstuvwxyz0123456789-_"),
				 strlen(seen[i]));
		for (int j = 0; j < i; j++)
			assert_string_not_equal(seen[i], seen[j]);
	}
}

/* "Value Encoding": the one spelling, every byte consumed. */
static void test_base64__is_strict(void **state)
{
	static const char *const bad[] = {
		"SGVsbG8",     "SGVsbG8==",  "SGVsbG9=", "SGVs bG8=",
		"SGVs!!!bG8=", "SGVsbG8=\n", "-_-_",     "="};
	char out[16];
	size_t n = 0;
	char *text;

	(void)state;
	assert_true(
		security_base64_decode("SGVsbG8=", 8, out, sizeof(out), &n));
	assert_int_equal(n, 5);
	assert_memory_equal(out, "Hello", 5);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (security_base64_decode(bad[i], strlen(bad[i]), out,
					   sizeof(out), &n))
			fail_msg("\"%s\" was taken", bad[i]);
	text = security_base64_encode("Hello", 5);
	assert_string_equal(text, "SGVsbG8=");
	free(text);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_file__first_seals_all_open),
		TEST(test_file__same_id_other_key),
		TEST(test_file__says_what_is_wrong),
		TEST(test_file__must_be_its_owners_alone),
		TEST(test_env__is_read_like_a_file),
		TEST(test_env__says_what_is_wrong),
		TEST(test_token__is_long_and_never_the_same),
		TEST(test_base64__is_strict),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
