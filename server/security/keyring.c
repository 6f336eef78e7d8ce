/* SPDX-License-Identifier: MIT */
#include "server/security/keyring.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/base/clock.h"
#include "server/base/error.h"
#include "server/base/log.h"
#include "server/base/thread.h"

#define NONCE           crypto_aead_xchacha20poly1305_ietf_NPUBBYTES
#define TAG             crypto_aead_xchacha20poly1305_ietf_ABYTES
#define VARIANT         sodium_base64_VARIANT_URLSAFE_NO_PADDING
#define VERSION         "b1"
#define RELOAD_PAUSE_MS 1000

struct keyring {
	struct mutex lock; /* the ring; held for a copy, never across I/O */
	struct store_key ring[STORE_KEYS_MAX];
	size_t n;
	struct store *store; /* NULL: a file or fixed keys */
	int64_t reloaded_ms;
};

static struct keyring *keyring_alloc(void)
{
	struct keyring *k = calloc(1, sizeof(*k));

	if (k != NULL)
		mutex_init(&k->lock, RANK_LEAF);
	return k;
}

static bool kid_good(const char *kid)
{
	size_t n = strlen(kid);

	return n > 0 && n < sizeof(((struct store_key *)0)->kid) &&
	       strspn(kid, "abcdefghijklmnopqrstuvwxyz"
			   "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == n;
}

static void keyring_take(struct keyring *k, const struct store_key *keys,
			 size_t n)
{
	if (n > STORE_KEYS_MAX)
		n = STORE_KEYS_MAX;
	mutex_lock(&k->lock);
	sodium_memzero(k->ring, sizeof(k->ring));
	memcpy(k->ring, keys, n * sizeof(*keys));
	k->n = n;
	mutex_unlock(&k->lock);
}

static enum bide_rc load_store(struct keyring *k)
{
	struct store_op op;
	unsigned char raw[6];
	enum bide_rc rc;

	store_op_init(&op, STORE_OP_KEY, 10000);
	randombytes_buf(raw, sizeof(raw));
	sodium_bin2base64(op.u.key.candidate.kid,
			  sizeof(op.u.key.candidate.kid), raw, sizeof(raw),
			  VARIANT);
	randombytes_buf(op.u.key.candidate.key, STORE_KEY_BYTES);
	rc = store_run(k->store, &op);
	if (rc == BIDE_OK)
		keyring_take(k, op.u.key.ret_ring, op.u.key.ret_n);
	sodium_memzero(&op.u.key, sizeof(op.u.key));
	return rc;
}

enum bide_rc keyring_from_store(struct store *s, struct keyring **ret,
				struct bide_error *reterr)
{
	struct keyring *k = keyring_alloc();
	enum bide_rc rc;

	if (k == NULL)
		return error_set(reterr, BIDE_NOMEM, "out of memory");
	k->store = s;
	rc = load_store(k);
	if (rc == BIDE_OK && k->n == 0)
		rc = BIDE_IO;
	if (rc != BIDE_OK) {
		keyring_free(k);
		return error_set(reterr, rc,
				 "the keys for requestState could not be read "
				 "from the database; run \"bide doctor\"");
	}
	*ret = k;
	return BIDE_OK;
}

static enum bide_rc parse_key_line(char *line, struct store_key *key,
				   struct bide_error *reterr)
{
	char *save = NULL;
	char *kid = strtok_r(line, " \t\r\n", &save);
	char *text = kid != NULL ? strtok_r(NULL, " \t\r\n", &save) : NULL;
	const char *end = NULL;
	size_t n = 0;

	if (kid == NULL || kid[0] == '#')
		return BIDE_NOT_FOUND;
	if (!kid_good(kid) || text == NULL)
		return error_set(
			reterr, BIDE_INVALID,
			"each line of the keys is: an id of at most 15 "
			"letters and digits, a space, 32 bytes as "
			"base64url");
	if (sodium_base642bin(key->key, sizeof(key->key), text, strlen(text),
			      NULL, &n, &end, VARIANT) != 0 ||
	    *end != '\0' || n != sizeof(key->key))
		return error_set(reterr, BIDE_INVALID,
				 "key \"%s\" is not 32 bytes as unpadded "
				 "base64url",
				 kid);
	(void)snprintf(key->kid, sizeof(key->kid), "%s", kid);
	return BIDE_OK;
}

static enum bide_rc read_key_lines(FILE *f, struct store_key *keys, size_t *n,
				   struct bide_error *reterr)
{
	char line[256];
	enum bide_rc rc = BIDE_OK;

	while (rc == BIDE_OK && fgets(line, sizeof(line), f) != NULL) {
		struct store_key key;

		rc = parse_key_line(line, &key, reterr);
		if (rc == BIDE_NOT_FOUND) {
			rc = BIDE_OK;
			continue;
		}
		if (rc == BIDE_OK && *n == STORE_KEYS_MAX)
			rc = error_set(reterr, BIDE_LIMIT,
				       "there are more than %d keys",
				       STORE_KEYS_MAX);
		for (size_t i = 0; rc == BIDE_OK && i < *n; i++)
			if (strcmp(keys[i].kid, key.kid) == 0)
				rc = error_set(reterr, BIDE_INVALID,
					       "key \"%s\" stands twice",
					       key.kid);
		if (rc == BIDE_OK)
			keys[(*n)++] = key;
		sodium_memzero(&key, sizeof(key));
	}
	sodium_memzero(line, sizeof(line));
	return rc;
}

/* The keys in @f, which is closed; @what: where they stand, for the text. */
static enum bide_rc keyring_read(FILE *f, const char *what, const char *name,
				 struct keyring **ret,
				 struct bide_error *reterr)
{
	struct store_key keys[STORE_KEYS_MAX];
	size_t n = 0;
	enum bide_rc rc = read_key_lines(f, keys, &n, reterr);

	(void)fclose(f);
	if (rc == BIDE_OK && n == 0)
		rc = error_set(reterr, BIDE_INVALID, "the %s %s holds no key",
			       what, name);
	if (rc == BIDE_OK)
		rc = keyring_from_keys(keys, n, ret);
	sodium_memzero(keys, sizeof(keys));
	return rc;
}

enum bide_rc keyring_from_env(const char *name, struct keyring **ret,
			      struct bide_error *reterr)
{
	const char *value = getenv(name);
	char *text = NULL;
	FILE *f = NULL;
	enum bide_rc rc;

	if (value == NULL || *value == '\0')
		return error_set(reterr, BIDE_INVALID,
				 "the variable %.100s holds no key", name);
	text = strdup(value);
	if (text != NULL)
		f = fmemopen(text, strlen(text), "r");
	if (f == NULL) {
		free(text);
		return error_set(reterr, BIDE_NOMEM, "out of memory");
	}
	/* Not everything that sets variables can put a line break in one. */
	for (char *p = text; (p = strchr(p, ',')) != NULL;)
		*p = '\n';
	rc = keyring_read(f, "variable", name, ret, reterr);
	sodium_memzero(text, strlen(text));
	free(text);
	return rc;
}

enum bide_rc keyring_from_file(const char *path, struct keyring **ret,
			       struct bide_error *reterr)
{
	struct stat st;
	FILE *f = fopen(path, "re");

	if (f == NULL)
		return error_set(reterr, BIDE_IO,
				 "the key file %s cannot be opened", path);
	if (fstat(fileno(f), &st) != 0 || (st.st_mode & 077) != 0) {
		(void)fclose(f);
		return error_set(reterr, BIDE_INVALID,
				 "the key file %s can be read by others; "
				 "chmod 600 it",
				 path);
	}
	return keyring_read(f, "key file", path, ret, reterr);
}

enum bide_rc keyring_from_keys(const struct store_key *keys, size_t n,
			       struct keyring **ret)
{
	struct keyring *k;

	for (size_t i = 0; i < n; i++)
		if (!kid_good(keys[i].kid))
			return BIDE_INVALID;
	if (n == 0 || n > STORE_KEYS_MAX)
		return BIDE_INVALID;
	k = keyring_alloc();
	if (k == NULL)
		return BIDE_NOMEM;
	keyring_take(k, keys, n);
	*ret = k;
	return BIDE_OK;
}

enum bide_rc keyring_reload(struct keyring *k)
{
	int64_t now = clock_boot_ms();
	bool due;

	if (k->store == NULL)
		return BIDE_NOT_FOUND;
	mutex_lock(&k->lock);
	due = k->reloaded_ms == 0 || now - k->reloaded_ms >= RELOAD_PAUSE_MS;
	if (due)
		k->reloaded_ms = now;
	mutex_unlock(&k->lock);
	return due ? load_store(k) : BIDE_BUSY;
}

void keyring_free(struct keyring *k)
{
	if (k == NULL)
		return;
	mutex_fini(&k->lock);
	sodium_memzero(k, sizeof(*k));
	free(k);
}

static bool key_first(struct keyring *k, struct store_key *ret)
{
	bool found;

	mutex_lock(&k->lock);
	found = k->n > 0;
	if (found)
		*ret = k->ring[0];
	mutex_unlock(&k->lock);
	return found;
}

static bool key_by_kid(struct keyring *k, const char *kid,
		       struct store_key *ret)
{
	bool found = false;

	mutex_lock(&k->lock);
	for (size_t i = 0; i < k->n && !found; i++) {
		found = strcmp(k->ring[i].kid, kid) == 0;
		if (found)
			*ret = k->ring[i];
	}
	mutex_unlock(&k->lock);
	return found;
}

char *keyring_seal_with_nonce(struct keyring *k, const unsigned char nonce[24],
			      const void *plain, size_t len)
{
	struct store_key key;
	size_t raw_len = NONCE + len + TAG;
	unsigned char *raw = malloc(raw_len);
	char *out = NULL;
	size_t head;
	size_t cap;

	if (raw == NULL || !key_first(k, &key)) {
		free(raw);
		return NULL;
	}
	cap = sizeof(VERSION "..") + sizeof(key.kid) +
	      sodium_base64_encoded_len(raw_len, VARIANT);
	out = malloc(cap);
	if (out != NULL) {
		/* The text up to the second dot is the associated data. */
		head = (size_t)snprintf(out, cap, VERSION ".%s.", key.kid);
		memcpy(raw, nonce, NONCE);
		(void)crypto_aead_xchacha20poly1305_ietf_encrypt(
			raw + NONCE, NULL, plain, len,
			(const unsigned char *)out, head, NULL, nonce, key.key);
		sodium_bin2base64(out + head, cap - head, raw, raw_len,
				  VARIANT);
	}
	sodium_memzero(&key, sizeof(key));
	free(raw);
	return out;
}

char *keyring_seal(struct keyring *k, const void *plain, size_t len)
{
	unsigned char nonce[NONCE];

	randombytes_buf(nonce, sizeof(nonce));
	return keyring_seal_with_nonce(k, nonce, plain, len);
}

/* Finds "b1.<kid>." ; the offset of the sealed part, or 0. */
static size_t split(const char *text, size_t len, char ret_kid[16])
{
	const char *dot;
	size_t head = strlen(VERSION) + 1;
	size_t n;

	if (len < head || memcmp(text, VERSION ".", head) != 0)
		return 0;
	dot = memchr(text + head, '.', len - head);
	if (dot == NULL)
		return 0;
	n = (size_t)(dot - text) - head;
	if (n == 0 || n >= 16)
		return 0;
	memcpy(ret_kid, text + head, n);
	ret_kid[n] = '\0';
	return kid_good(ret_kid) ? head + n + 1 : 0;
}

/* Strict: every byte consumed and no other spelling of the same bytes. */
static unsigned char *decode(const char *text, size_t len, size_t *ret_len)
{
	size_t cap = len / 4 * 3 + 3;
	unsigned char *raw = malloc(cap);
	const char *end = NULL;
	size_t n = 0;
	char again[8];
	size_t tail;

	if (raw == NULL)
		return NULL;
	if (sodium_base642bin(raw, cap, text, len, NULL, &n, &end, VARIANT) !=
		    0 ||
	    end != text + len || len % 4 == 1)
		goto bad;
	tail = n % 3;
	if (tail != 0) {
		sodium_bin2base64(again, sizeof(again), raw + n - tail, tail,
				  VARIANT);
		if (memcmp(again, text + len - (tail + 1), tail + 1) != 0)
			goto bad;
	}
	*ret_len = n;
	return raw;
bad:
	free(raw);
	return NULL;
}

static enum keyring_why open_raw(const struct store_key *key, const char *text,
				 size_t head, const unsigned char *raw,
				 size_t raw_len, char **ret, size_t *ret_len)
{
	unsigned long long n = 0;
	char *plain = malloc(raw_len - NONCE - TAG + 1);

	if (plain == NULL)
		return KEYRING_FORMAT;
	if (crypto_aead_xchacha20poly1305_ietf_decrypt(
		    (unsigned char *)plain, &n, NULL, raw + NONCE,
		    raw_len - NONCE, (const unsigned char *)text, head, raw,
		    key->key) != 0) {
		free(plain);
		return KEYRING_MAC;
	}
	plain[n] = '\0';
	*ret = plain;
	*ret_len = (size_t)n;
	return KEYRING_OK;
}

enum keyring_why keyring_open(struct keyring *k, const char *text, size_t len,
			      char **ret, size_t *ret_len, char ret_kid[16])
{
	struct store_key key;
	unsigned char *raw;
	size_t raw_len = 0;
	enum keyring_why why;
	size_t head;

	ret_kid[0] = '\0';
	head = split(text, len, ret_kid);
	if (head == 0)
		return KEYRING_FORMAT;
	raw = decode(text + head, len - head, &raw_len);
	if (raw == NULL || raw_len < NONCE + TAG) {
		free(raw);
		return KEYRING_FORMAT;
	}
	if (!key_by_kid(k, ret_kid, &key)) {
		free(raw);
		return KEYRING_UNKNOWN_KEY;
	}
	why = open_raw(&key, text, head, raw, raw_len, ret, ret_len);
	sodium_memzero(&key, sizeof(key));
	free(raw);
	return why;
}
