/* SPDX-License-Identifier: MIT */
#ifndef SECURITY_KEYRING_H
#define SECURITY_KEYRING_H
#include "bide/types.h"
#include "store/store.h"
#include <stdbool.h>
#include <stddef.h>
/*
 * Sealing with XChaCha20-Poly1305 (libsodium), random values and digests.
 * The first key seals, all open. Constant after loading but for reload, which
 * swaps the whole ring; any thread.
 */
struct keyring;
enum bide_rc keyring_from_store(struct store *s, struct keyring **ret,
				struct bide_error *reterr);
/* Lines "kid base64url(32 bytes)", first seals; the file must not be readable
 * by others. */
enum bide_rc keyring_from_file(const char *path, struct keyring **ret,
			       struct bide_error *reterr);
/* The same lines, or with commas between them, in an environment variable. */
enum bide_rc keyring_from_env(const char *name, struct keyring **ret,
			      struct bide_error *reterr);
enum bide_rc keyring_from_keys(const struct store_key *keys, size_t n,
			       struct keyring **ret);
enum bide_rc
keyring_reload(struct keyring *k); /* when an unknown kid came: look again, at
				      most once a second */
void keyring_free(struct keyring *k);
/*
 * "b1.<kid>.<base64url(nonce || ciphertext)>", unpadded canonical base64url,
 * "b1" and kid in the associated data. Returns malloc()ed text.
 */
char *keyring_seal(struct keyring *k, const void *plain, size_t len);
enum keyring_why {
	KEYRING_OK = 0,
	KEYRING_FORMAT,
	KEYRING_UNKNOWN_KEY,
	KEYRING_MAC
};
/* @ret: malloc()ed, NUL-terminated plain text. @ret_kid: for the log. */
enum keyring_why keyring_open(struct keyring *k, const char *text, size_t len,
			      char **ret, size_t *ret_len, char ret_kid[16]);
/* For test vectors only: seal with a given nonce (24 bytes). */
char *keyring_seal_with_nonce(struct keyring *k, const unsigned char nonce[24],
			      const void *plain, size_t len);

void security_random(void *out, size_t len);
/* More than 128 random bits as base64url, the first a letter or a digit. @out:
 * at least SECURITY_TOKEN_TEXT bytes. */
#define SECURITY_TOKEN_BYTES 17
#define SECURITY_TOKEN_TEXT  24 /* with its NUL */
void security_token(char *out);
/* BLAKE2b-256 as 43 characters of base64url. @out: at least 44 bytes. */
void security_digest(const void *bytes, size_t len, char *out);
/* Strict standard base64 ("Value Encoding"): padding required, every byte
 * consumed. False: not. */
bool security_base64_decode(const char *text, size_t len, void *out, size_t cap,
			    size_t *ret_len);
char *security_base64_encode(const void *bytes,
			     size_t len); /* standard, padded; malloc()ed */
bool security_init(void);                 /* once, first */
#endif
