/* SPDX-License-Identifier: MIT */
/*
 * The reader builds jansson's values but does not use jansson's parser: that
 * one fetches each byte through a pointer and copies it three times, knows no
 * ceiling of depth below 2048, and quotes the input in its error texts. The
 * unit test holds the two against each other.
 */
#include "server/base/jsontext.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/ascii.h"
#include "server/base/error.h"
#include "server/base/jsontext_scan.h"
#include "server/base/limits.h"
#include "server/base/utf8.h"

#define NUMBER_MAX 400 /* bytes of a real that are read on the stack */

struct reader {
	const char *begin;
	const char *p; /* where an error is, when there is one */
	const char *end;
	const char *what;    /* the first error; NULL with no value: memory */
	size_t values, most; /* read so far; 0: no ceiling */
	/* Strings that hold escapes, decoded, one after the other. */
	struct buf decoded;
};

/* A string of the text: in place, or (@direct NULL) in decoded. */
struct piece {
	const char *direct;
	size_t at;
	size_t len;
};

static pthread_once_t c_locale_once = PTHREAD_ONCE_INIT;
static locale_t c_locale;

static json_t *read_value(struct reader *r, int depth);

/* NULL, which as a bool is false. */
static void *fail_at(struct reader *r, const char *p, const char *what)
{
	r->p = p;
	r->what = what;
	return NULL;
}

static void *fail(struct reader *r, const char *what)
{
	return fail_at(r, r->p, what);
}

static void skip_space(struct reader *r)
{
	while (r->p < r->end && (*r->p == ' ' || *r->p == '\n' ||
				 *r->p == '\r' || *r->p == '\t'))
		r->p++;
}

/* The next byte that is no white space, or -1 at the end. */
static int peek(struct reader *r)
{
	if (r->p < r->end && (unsigned char)*r->p > ' ')
		return (unsigned char)*r->p;
	skip_space(r);
	return r->p < r->end ? (unsigned char)*r->p : -1;
}

static void *fail_syntax(struct reader *r, const char *what)
{
	if (r->p == r->end)
		return fail(r, "text ends too early");
	return fail(r, *r->p ? what : "a NUL");
}

/* The four digits at @p, or -1. */
static int hex4(const struct reader *r, const char *p)
{
	int v = 0;
	int d;

	if (r->end - p < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		d = ascii_hex_value(p[i]);
		if (d < 0)
			return -1;
		v = v << 4 | d;
	}
	return v;
}

static void encode(uint32_t c, struct buf *out)
{
	char u[4];

	if (c < 0x80) {
		buf_addc(out, (char)c);
	} else if (c < 0x800) {
		u[0] = (char)(0xC0 | c >> 6);
		u[1] = (char)(0x80 | (c & 0x3F));
		buf_add(out, u, 2);
	} else if (c < 0x10000) {
		u[0] = (char)(0xE0 | c >> 12);
		u[1] = (char)(0x80 | (c >> 6 & 0x3F));
		u[2] = (char)(0x80 | (c & 0x3F));
		buf_add(out, u, 3);
	} else {
		u[0] = (char)(0xF0 | c >> 18);
		u[1] = (char)(0x80 | (c >> 12 & 0x3F));
		u[2] = (char)(0x80 | (c >> 6 & 0x3F));
		u[3] = (char)(0x80 | (c & 0x3F));
		buf_add(out, u, 4);
	}
}

/* After "\u". RFC 8259, section 7: beyond the BMP as a surrogate pair. */
static bool read_unicode(struct reader *r)
{
	const char *p = r->p;
	int hi = hex4(r, p);
	int lo;

	if (hi < 0)
		return fail(r, "bad \\u escape");
	if (hi == 0)
		return fail(r, "\\u0000 in a string");
	p += 4;
	if (hi < 0xD800 || hi > 0xDFFF) {
		encode((uint32_t)hi, &r->decoded);
		r->p = p;
		return true;
	}
	lo = r->end - p >= 6 && p[0] == '\\' && p[1] == 'u' ? hex4(r, p + 2)
							    : -1;
	if (hi > 0xDBFF || lo < 0xDC00 || lo > 0xDFFF)
		return fail(r, "half of a surrogate pair");
	encode(0x10000 + ((uint32_t)(hi - 0xD800) << 10) +
		       (uint32_t)(lo - 0xDC00),
	       &r->decoded);
	r->p = p + 6;
	return true;
}

/* At the backslash. */
static bool read_escape(struct reader *r)
{
	static const char from[] = "\"\\/bfnrt";
	static const char to[] = "\"\\/\b\f\n\r\t";
	const char *found = NULL;

	if (r->end - r->p < 2)
		return fail_at(r, r->end, "text ends too early");
	if (r->p[1] == 'u') {
		r->p += 2;
		return read_unicode(r);
	}
	found = r->p[1] ? strchr(from, r->p[1]) : NULL;
	if (!found)
		return fail(r, "unknown escape");
	buf_addc(&r->decoded, to[found - from]);
	r->p += 2;
	return true;
}

/* Over the bytes that stand for themselves. */
static bool skip_plain(struct reader *r)
{
	size_t left, n;

	for (;;) {
		left = (size_t)(r->end - r->p);
		n = scan_plain(r->p, left);
		r->p += n;
		if (n == left)
			return fail(r, "text ends too early");
		if ((unsigned char)*r->p < 0x80)
			break;
		n = utf8_sequence(r->p, left - n);
		if (!n)
			return fail(r, "text is not UTF-8");
		r->p += n;
	}
	if ((unsigned char)*r->p < 0x20)
		return fail(r, "control character in a string");
	return true;
}

static bool read_string(struct reader *r, struct piece *ret)
{
	const char *from = ++r->p; /* after the quote */
	bool escaped = false;

	*ret = (struct piece){.at = r->decoded.len};
	for (;;) {
		if (!skip_plain(r))
			return false;
		if (escaped || *r->p == '\\')
			buf_add(&r->decoded, from, (size_t)(r->p - from));
		if (*r->p == '"')
			break;
		escaped = true;
		if (!read_escape(r))
			return false;
		from = r->p;
	}
	if (!escaped)
		ret->direct = from;
	ret->len = escaped ? r->decoded.len - ret->at : (size_t)(r->p - from);
	r->p++;
	return !r->decoded.failed;
}

static const char *piece_text(const struct reader *r, const struct piece *s)
{
	return s->direct ? s->direct : r->decoded.data + s->at;
}

static json_t *read_string_value(struct reader *r)
{
	struct piece s;
	json_t *v = NULL;

	if (!read_string(r, &s))
		return NULL;
	v = json_stringn_nocheck(piece_text(r, &s), s.len);
	r->decoded.len = s.at;
	return v;
}

static const char *skip_digits(const struct reader *r, const char *p)
{
	while (p < r->end && *p >= '0' && *p <= '9')
		p++;
	return p;
}

/* The end of the number at r->p by RFC 8259, section 6; NULL: none is there. */
static const char *number_end(struct reader *r, bool *ret_real)
{
	const char *p = r->p + (*r->p == '-');
	const char *q = skip_digits(r, p);

	*ret_real = false;
	if (q == p || (*p == '0' && q - p > 1))
		return fail_at(r, p == r->end ? p : r->p, "bad number");
	if (q < r->end && *q == '.') {
		*ret_real = true;
		p = q + 1;
		q = skip_digits(r, p);
		if (q == p)
			return fail_at(r, p, "bad number");
	}
	if (q < r->end && (*q == 'e' || *q == 'E')) {
		*ret_real = true;
		p = q + 1;
		if (p < r->end && (*p == '-' || *p == '+'))
			p++;
		q = skip_digits(r, p);
		if (q == p)
			return fail_at(r, p, "bad number");
	}
	return q;
}

static json_t *read_integer(struct reader *r, const char *end)
{
	bool negative = *r->p == '-';
	int64_t v = 0;

	for (const char *p = r->p + negative; p < end; p++) {
		int digit = negative ? '0' - *p : *p - '0';

		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, digit, &v))
			return fail(r, "integer beyond 64 bits");
	}
	r->p = end;
	return json_integer(v);
}

/* "12.5" and its like: up to 15 digits and no exponent. Both numbers are
 * exact, so one division rounds as strtod() would. */
static bool read_short_real(const char *p, const char *end, double *ret)
{
	static const double power[] = {1,    1e1,  1e2,  1e3, 1e4,  1e5,
				       1e6,  1e7,  1e8,  1e9, 1e10, 1e11,
				       1e12, 1e13, 1e14, 1e15};
	bool negative = *p == '-';
	const char *point = NULL;
	int64_t v = 0;

	p += negative;
	if (end - p > 16)
		return false;
	for (; p < end; p++) {
		if (*p == '.')
			point = p;
		else if (*p >= '0' && *p <= '9')
			v = v * 10 + (*p - '0');
		else
			return false;
	}
	*ret = (double)v / (point ? power[end - point - 1] : 1);
	if (negative)
		*ret = -*ret;
	return true;
}

static void make_c_locale(void)
{
	c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

/* Through strtod_l(), for the host program may have a locale of its own. */
static bool read_long_real(const char *p, size_t len, double *ret)
{
	char text[NUMBER_MAX + 1];
	char *copy = text;

	pthread_once(&c_locale_once, make_c_locale);
	if (len > NUMBER_MAX)
		copy = malloc(len + 1);
	if (!copy || !c_locale)
		return false;
	memcpy(copy, p, len);
	copy[len] = '\0';
	*ret = strtod_l(copy, NULL, c_locale);
	if (copy != text)
		free(copy);
	return true;
}

static json_t *read_number(struct reader *r)
{
	bool real;
	const char *end = number_end(r, &real);
	double d;

	if (!end)
		return NULL;
	if (!real)
		return read_integer(r, end);
	if (!read_short_real(r->p, end, &d) &&
	    !read_long_real(r->p, (size_t)(end - r->p), &d))
		return NULL;
	if (!isfinite(d))
		return fail(r, "number too large");
	r->p = end;
	return json_real(d);
}

static json_t *read_word(struct reader *r, const char *word, json_t *value)
{
	size_t len = strlen(word);
	size_t left = (size_t)(r->end - r->p);

	if (left < len || memcmp(r->p, word, len) != 0)
		return fail(r, "expected a value");
	r->p += len;
	return value;
}

/* At the quote of a name, or where it should be; sets one member. */
static bool read_member(struct reader *r, json_t *o, int depth)
{
	size_t before = json_object_size(o);
	const char *start = NULL;
	json_t *v = NULL;
	struct piece key;

	if (peek(r) != '"')
		return fail_syntax(r, "expected a member name");
	start = r->p;
	if (!read_string(r, &key))
		return false;
	if (peek(r) != ':')
		return fail_syntax(r, "expected a colon");
	r->p++;
	v = read_value(r, depth);
	if (!v ||
	    json_object_setn_new_nocheck(o, piece_text(r, &key), key.len, v))
		return false;
	r->decoded.len = key.at;
	if (json_object_size(o) == before)
		return fail_at(r, start, "duplicate member");
	return true;
}

static bool read_members(struct reader *r, json_t *o, int depth)
{
	int c;

	if (peek(r) == '}') {
		r->p++;
		return true;
	}
	for (;;) {
		if (!read_member(r, o, depth))
			return false;
		c = peek(r);
		if (c != ',' && c != '}')
			return fail_syntax(r, "expected a comma or }");
		r->p++;
		if (c == '}')
			return true;
	}
}

static bool read_items(struct reader *r, json_t *a, int depth)
{
	json_t *v = NULL;
	int c;

	if (peek(r) == ']') {
		r->p++;
		return true;
	}
	for (;;) {
		v = read_value(r, depth);
		if (!v || json_array_append_new(a, v))
			return false;
		c = peek(r);
		if (c != ',' && c != ']')
			return fail_syntax(r, "expected a comma or ]");
		r->p++;
		if (c == ']')
			return true;
	}
}

static json_t *read_container(struct reader *r, int depth)
{
	bool object = *r->p == '{';
	json_t *v = NULL;

	if (depth == LIMIT_JSON_DEPTH)
		return fail(r, "nesting deeper than 64");
	v = object ? json_object() : json_array();
	if (!v)
		return NULL;
	r->p++;
	if (object ? read_members(r, v, depth + 1)
		   : read_items(r, v, depth + 1))
		return v;
	json_decref(v);
	return NULL;
}

static json_t *read_value(struct reader *r, int depth)
{
	int c = peek(r);

	if (++r->values > r->most && r->most > 0)
		return fail(r, "more values than are allowed");
	switch (c) {
	case '{':
	case '[':
		return read_container(r, depth);
	case '"':
		return read_string_value(r);
	case 't':
		return read_word(r, "true", json_true());
	case 'f':
		return read_word(r, "false", json_false());
	case 'n':
		return read_word(r, "null", json_null());
	default:
		if (c == '-' || (c >= '0' && c <= '9'))
			return read_number(r);
		return fail_syntax(r, "expected a value");
	}
}

enum bide_rc jsontext_parse(const char *text, size_t len, json_t **ret,
			    struct bide_error *reterr)
{
	return jsontext_parse_at_most(text, len, 0, ret, reterr);
}

enum bide_rc jsontext_parse_at_most(const char *text, size_t len, size_t values,
				    json_t **ret, struct bide_error *reterr)
{
	struct reader r = {
		.begin = text, .p = text, .end = text + len, .most = values};
	json_t *v = read_value(&r, 0);

	if (v && peek(&r) != -1) {
		json_decref(v);
		v = fail_syntax(&r, "more text after the value");
	}
	buf_fini(&r.decoded);
	if (v) {
		*ret = v;
		return BIDE_OK;
	}
	if (!r.what)
		return error_set(reterr, BIDE_NOMEM, "out of memory");
	return error_set(reterr, BIDE_INVALID, "invalid JSON: %s at byte %zu",
			 r.what, (size_t)(r.p - r.begin));
}
