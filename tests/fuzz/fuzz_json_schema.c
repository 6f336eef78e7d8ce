/* SPDX-License-Identifier: MIT */
/*
 * Input: a schema and an instance as JSON texts, parted by a newline.
 *
 *   clang -fsanitize=fuzzer,address,undefined -DFUZZ_LIBFUZZER ...
 *
 * Without FUZZ_LIBFUZZER a main() that runs the files named on its command
 * line, for going through a corpus again.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/catalog/json_schema.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void explain(const struct json_schema_problem *p, size_t n)
{
	struct buf out;

	buf_init(&out, 8192);
	json_schema_explain(p, n, &out);
	require(!out.failed);
	buf_fini(&out);
}

static void judge(const struct json_schema *s, const json_t *instance)
{
	struct json_schema_problem p[4];
	size_t n = 0;
	enum bide_rc rc = json_schema_validate(s, instance, p, 4, &n);

	require(rc == BIDE_OK || rc == BIDE_INVALID || rc == BIDE_LIMIT);
	require((rc == BIDE_OK) == (n == 0) && n <= 4);
	/* The verdict does not hang on whether anyone wants to know why. */
	require(json_schema_validate(s, instance, NULL, 0, NULL) == rc);
	for (size_t i = 0; i < n; i++) {
		require(memchr(p[i].expected, 0, sizeof(p[i].expected)));
		require(p[i].expected[0] != '\0');
	}
	explain(p, n);
}

static json_t *parse(const uint8_t *data, size_t len)
{
	return json_loadb((const char *)data, len,
			  JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const uint8_t *end = memchr(data, '\n', len);
	struct json_schema *s = NULL;
	struct bide_error e = {0};
	json_t *schema;
	json_t *instance;

	if (!end)
		return 0;
	schema = parse(data, (size_t)(end - data));
	instance = parse(end + 1, len - (size_t)(end - data) - 1);
	if (schema && json_schema_compile(schema, &s, &e) == BIDE_OK) {
		if (instance)
			judge(s, instance);
		/* A schema that compiles is an instance of its meta-schema's
		 * shape; as an instance of itself it must not harm. */
		judge(s, schema);
	} else if (schema) {
		require(e.rc != BIDE_OK && e.text[0] != '\0');
	}
	if (schema) {
		(void)json_schema_secret_property(schema);
		require(json_schema_check_elicitation(schema, &e) == BIDE_OK ||
			e.text[0] != '\0');
	}
	json_schema_free(s);
	json_decref(schema);
	json_decref(instance);
	return 0;
}

#ifndef FUZZ_LIBFUZZER
int main(int argc, char **argv)
{
	static uint8_t data[1 << 20];

	for (int i = 1; i < argc; i++) {
		FILE *f = fopen(argv[i], "rb");

		if (!f) {
			perror(argv[i]);
			return 1;
		}
		LLVMFuzzerTestOneInput(data, fread(data, 1, sizeof(data), f));
		fclose(f);
	}
	printf("%d inputs\n", argc - 1);
	return 0;
}
#endif
