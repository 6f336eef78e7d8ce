/* SPDX-License-Identifier: MIT */
#include "server/catalog/json_schema_pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include "server/base/limits.h"
#include "server/catalog/json_schema_ecma.h"
#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Two ceilings: a decent pattern is done within the first and costs little of
 * the validation's steps; one that is not runs again under the second, and is
 * charged for it, so that a thousand bad matches cannot follow each other.
 */
#define FEW_STEPS 1000
#define COST_FEW  16
#define COST_ALL  (LIMIT_VALIDATION_STEPS / 32)

/* PCRE2 asks for memory at every match; the first of it is on our stack. */
#define SCRATCH_BYTES (24 * 1024)
struct scratch {
	size_t used;
	_Alignas(max_align_t) char bytes[SCRATCH_BYTES];
};

static void *scratch_alloc(size_t size, void *data)
{
	struct scratch *s = data;
	size_t align = _Alignof(max_align_t);
	void *p = s->bytes + s->used;

	size = (size + align - 1) / align * align;
	if (size > SCRATCH_BYTES - s->used)
		return malloc(size);
	s->used += size;
	return p;
}

static void scratch_free(void *p, void *data)
{
	struct scratch *s = data;
	uintptr_t at = (uintptr_t)p;
	uintptr_t start = (uintptr_t)s->bytes;

	if (at < start || at >= start + SCRATCH_BYTES)
		free(p);
}

bool pattern_limits_init(struct pattern_limits *l)
{
	pcre2_match_context *few = pcre2_match_context_create(NULL);
	pcre2_match_context *all = pcre2_match_context_create(NULL);

	l->few = few;
	l->all = all;
	if (!few || !all) {
		pattern_limits_fini(l);
		return false;
	}
	pcre2_set_match_limit(few, FEW_STEPS);
	pcre2_set_depth_limit(few, FEW_STEPS);
	pcre2_set_match_limit(all, LIMIT_PATTERN_STEPS);
	pcre2_set_depth_limit(all, LIMIT_PATTERN_STEPS);
	pcre2_set_heap_limit(few, 1024);
	pcre2_set_heap_limit(all, 16 * 1024); /* KiB */
	return true;
}

void pattern_limits_fini(struct pattern_limits *l)
{
	pcre2_match_context_free(l->few);
	pcre2_match_context_free(l->all);
	l->few = NULL;
	l->all = NULL;
}

enum pattern_compiled pattern_compile(struct schema_pattern *p, const char *s,
				      size_t len, char *why, size_t cap)
{
	const uint32_t options =
		PCRE2_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_MATCH_UNSET_BACKREF |
		PCRE2_ALLOW_EMPTY_CLASS | PCRE2_NEVER_BACKSLASH_C;
	struct buf text;
	PCRE2_SIZE at = 0;
	int code = 0;
	bool short_of_memory;

	if (len > LIMIT_PATTERN_BYTES) {
		snprintf(why, cap, "it is longer than %d bytes",
			 LIMIT_PATTERN_BYTES);
		return PATTERN_BAD;
	}
	buf_init(&text, (size_t)LIMIT_PATTERN_BYTES * 128);
	if (!ecma_translate(s, len, &text, why, cap)) {
		short_of_memory = text.failed;
		buf_fini(&text);
		return short_of_memory ? PATTERN_NOMEM : PATTERN_BAD;
	}
	p->code = pcre2_compile((PCRE2_SPTR)(text.data ? text.data : ""),
				text.len, options, &code, &at, NULL);
	buf_fini(&text);
	if (p->code)
		return PATTERN_OK;
	if (code == PCRE2_ERROR_HEAP_FAILED)
		return PATTERN_NOMEM;
	pcre2_get_error_message(code, (PCRE2_UCHAR *)why, cap);
	return PATTERN_BAD;
}

void pattern_fini(struct schema_pattern *p)
{
	pcre2_code_free(p->code);
	p->code = NULL;
}

static int match_once(const struct schema_pattern *p, void *limits,
		      const char *s, size_t len)
{
	struct scratch scratch;
	pcre2_general_context *general = NULL;
	pcre2_match_data *data = NULL;
	int rc = PCRE2_ERROR_NOMEMORY;

	scratch.used = 0;
	general = pcre2_general_context_create(scratch_alloc, scratch_free,
					       &scratch);
	if (general)
		data = pcre2_match_data_create(1, general);
	if (data)
		rc = pcre2_match(p->code, (PCRE2_SPTR)s, len, 0, 0, data,
				 limits);
	pcre2_match_data_free(data);
	pcre2_general_context_free(general);
	return rc;
}

static bool take(size_t *steps, size_t cost)
{
	*steps = *steps > cost ? *steps - cost : 0;
	return *steps != 0;
}

static bool gave_up(int rc)
{
	return rc == PCRE2_ERROR_MATCHLIMIT || rc == PCRE2_ERROR_DEPTHLIMIT ||
	       rc == PCRE2_ERROR_HEAPLIMIT || rc == PCRE2_ERROR_NOMEMORY ||
	       rc == PCRE2_ERROR_JIT_STACKLIMIT;
}

enum pattern_match pattern_match(const struct schema_pattern *p,
				 const struct pattern_limits *l, const char *s,
				 size_t len, size_t *steps)
{
	int rc;

	if (!take(steps, COST_FEW + len / 64))
		return MATCH_LIMIT;
	rc = match_once(p, l->few, s, len);
	if (gave_up(rc)) {
		if (!take(steps, COST_ALL))
			return MATCH_LIMIT;
		rc = match_once(p, l->all, s, len);
	}
	if (gave_up(rc))
		return MATCH_LIMIT;
	return rc >= 0 ? MATCH_YES : MATCH_NO;
}
