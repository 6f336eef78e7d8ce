/* SPDX-License-Identifier: MIT */
/* Random values, digests and strict base64: thin over libsodium. */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "server/security/keyring.h"

bool security_init(void)
{
	return sodium_init() >= 0;
}

void security_random(void *out, size_t len)
{
	randombytes_buf(out, len);
}

static void base64url(const unsigned char *bytes, size_t len, char *out,
		      size_t cap)
{
	sodium_bin2base64(out, cap, bytes, len,
			  sodium_base64_VARIANT_URLSAFE_NO_PADDING);
}

void security_token(char *out)
{
	unsigned char raw[SECURITY_TOKEN_BYTES];

	/* A first character that is no letter or digit would look like an
	 * option on a command line. */
	do {
		randombytes_buf(raw, sizeof(raw));
		base64url(raw, sizeof(raw), out, SECURITY_TOKEN_TEXT);
	} while (*out == '-' || *out == '_');
}

void security_digest(const void *bytes, size_t len, char *out)
{
	unsigned char raw[32];

	(void)crypto_generichash(raw, sizeof(raw), bytes, len, NULL, 0);
	base64url(raw, sizeof(raw), out, 44);
}

bool security_base64_decode(const char *text, size_t len, void *out, size_t cap,
			    size_t *ret_len)
{
	const char *end = NULL;
	size_t n = 0;
	char again[8];

	/*
	 * Padding is required and every byte must be consumed: the library
	 * alone stops early at a newline and says nothing of what is left.
	 */
	if (len % 4 != 0)
		return false;
	if (sodium_base642bin(out, cap, text, len, NULL, &n, &end,
			      sodium_base64_VARIANT_ORIGINAL) != 0 ||
	    end != text + len)
		return false;
	/* No other spelling: the last group's unused bits must be zero. */
	if (n % 3 != 0) {
		size_t tail = n % 3;

		sodium_bin2base64(again, sizeof(again),
				  (unsigned char *)out + (n - tail), tail,
				  sodium_base64_VARIANT_ORIGINAL);
		if (memcmp(again, text + len - 4, 4) != 0)
			return false;
	}
	*ret_len = n;
	return true;
}

char *security_base64_encode(const void *bytes, size_t len)
{
	size_t cap =
		sodium_base64_encoded_len(len, sodium_base64_VARIANT_ORIGINAL);
	char *out = malloc(cap);

	if (out != NULL)
		sodium_bin2base64(out, cap, bytes, len,
				  sodium_base64_VARIANT_ORIGINAL);
	return out;
}
