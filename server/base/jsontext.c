/* SPDX-License-Identifier: MIT */
#include "server/base/jsontext.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/jsontext_scan.h"
#include "server/base/limits.h"
#include "server/base/utf8.h"

#define TWO_53   9007199254740992.0
#define TWO_63   9223372036854775808.0
#define KEYS_MAX 16 /* sorted on the stack; larger objects take memory */

struct key {
	const char *s;
	size_t len;
	const json_t *value;
};

static bool write_value(const json_t *v, struct buf *out, int depth);
static bool canon_value(const json_t *v, struct buf *out, int depth);

static bool fail(struct buf *out)
{
	out->failed = true;
	return false;
}

static bool add(struct buf *out, const char *s, size_t len)
{
	char *p = buf_room(out, len);

	if (!p)
		return false;
	memcpy(p, s, len);
	out->len += len;
	return true;
}

static bool add_char(struct buf *out, char c)
{
	char *p = buf_room(out, 1);

	if (!p)
		return false;
	*p = c;
	out->len++;
	return true;
}

/* The pieces above leave the NUL out; whoever is called from outside ends
 * with this one. */
static bool finish(struct buf *out, bool ok)
{
	if (!ok)
		out->failed = true;
	if (out->data)
		out->data[out->len] = '\0';
	return ok;
}

static bool add_escape(struct buf *out, unsigned char c)
{
	static const char hex[] = "0123456789abcdef";
	char text[6] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};
	size_t len = 2;

	switch (c) {
	case '"':
	case '\\':
		text[1] = (char)c;
		break;
	case '\b':
		text[1] = 'b';
		break;
	case '\f':
		text[1] = 'f';
		break;
	case '\n':
		text[1] = 'n';
		break;
	case '\r':
		text[1] = 'r';
		break;
	case '\t':
		text[1] = 't';
		break;
	default:
		len = 6;
		break;
	}
	return add(out, text, len);
}

/* How many bytes from @s are whole characters beyond ASCII: what follows them
 * may need an escape. */
static size_t high_run(const char *s, size_t len)
{
	size_t i = 0;
	size_t n;

	while (i < len && (unsigned char)s[i] >= 0x80) {
		n = utf8_sequence(s + i, len - i);
		if (!n)
			break;
		i += n;
	}
	return i;
}

/* What stands where a plain run ended; returns the bytes eaten, 0: refused. */
static size_t add_special(struct buf *out, const char *s, size_t len)
{
	unsigned char c = (unsigned char)*s;
	size_t n = 1;

	if (c >= 0x80) {
		n = high_run(s, len);
		return n && add(out, s, n) ? n : 0;
	}
	return c && add_escape(out, c) ? n : 0;
}

static bool write_string(const char *s, size_t len, struct buf *out)
{
	char *p = buf_room(out, len + 2);
	size_t n;

	if (!p)
		return false;
	*p = '"';
	out->len++;
	for (;;) {
		n = scan_plain(s, len);
		if (!add(out, s, n))
			return false;
		s += n;
		len -= n;
		if (!len)
			break;
		n = add_special(out, s, len);
		if (!n)
			return fail(out);
		s += n;
		len -= n;
	}
	return add_char(out, '"');
}

static size_t digits_of(uint64_t v, char out[20])
{
	char rev[20];
	size_t n = 0;

	do {
		rev[n++] = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	for (size_t i = 0; i < n; i++)
		out[i] = rev[n - 1 - i];
	return n;
}

static bool write_integer(int64_t v, struct buf *out)
{
	char text[21] = "-";
	uint64_t u = (uint64_t)v;
	size_t n;

	if (v < 0) {
		n = digits_of(0 - u, text + 1);
		return add(out, text, n + 1);
	}
	n = digits_of(u, text);
	return add(out, text, n);
}

/*
 * Decimals of up to six places, which is what people write: when n / 10^k
 * gives @d again, n.k is its shortest form (n under 10^15 is exact, and so is
 * 10^k, and the division rounds as reading does).
 */
static bool write_short_decimal(double d, struct buf *out)
{
	static const double power[] = {10, 1e2, 1e3, 1e4, 1e5, 1e6};
	double a = fabs(d);
	double n;
	char text[24];
	size_t len;
	size_t point;

	for (size_t k = 0; k < sizeof(power) / sizeof(power[0]); k++) {
		n = nearbyint(a * power[k]);
		if (n >= 1e15)
			return false;
		if (n / power[k] != a)
			continue;
		len = (size_t)snprintf(text, sizeof(text), "%0*llu", (int)k + 2,
				       (unsigned long long)n);
		point = len - (k + 1);
		memmove(text + point + 1, text + point, k + 1);
		text[point] = '.';
		return (!(d < 0) || add_char(out, '-')) &&
		       add(out, text, len + 1);
	}
	return false;
}

/* printf()'s e-07 and e+21 are e-7 and e21 here. Returns the new length. */
static size_t tidy_exponent(char *text, size_t len)
{
	char *to = memchr(text, 'e', len);
	const char *from = to ? to + 1 : NULL;

	if (!to)
		return len;
	to++;
	if (*from == '-')
		*to++ = '-';
	from++; /* the sign is always there */
	while (*from == '0')
		from++;
	while (from < text + len)
		*to++ = *from++;
	return (size_t)(to - text);
}

static bool write_any_real(double d, struct buf *out)
{
	char text[40];
	bool real = false;
	size_t n = 0;

	/* Below the normal range a double has fewer digits than 15. */
	for (int digits = fabs(d) < DBL_MIN ? 1 : 15; digits <= 17; digits++) {
		n = (size_t)snprintf(text, sizeof(text), "%.*g", digits, d);
		if (strtod(text, NULL) == d)
			break;
	}
	for (size_t i = 0; i < n; i++) {
		if (text[i] == ',') /* the host program's locale */
			text[i] = '.';
		real = real || text[i] == '.' || text[i] == 'e';
	}
	return add(out, text, tidy_exponent(text, n)) &&
	       (real || add(out, ".0", 2));
}

static bool write_real(double d, struct buf *out)
{
	if (!isfinite(d))
		return fail(out);
	if (d == 0)
		return add(out, signbit(d) ? "-0.0" : "0.0",
			   signbit(d) ? 4 : 3);
	if (fabs(d) < TWO_63 && d == trunc(d))
		return write_integer((int64_t)d, out) && add(out, ".0", 2);
	if (fabs(d) >= 1e-5 && fabs(d) < 1e12 && write_short_decimal(d, out))
		return true;
	return !out->failed && write_any_real(d, out);
}

static bool write_scalar(const json_t *v, struct buf *out)
{
	switch (json_typeof(v)) {
	case JSON_STRING:
		return write_string(json_string_value(v), json_string_length(v),
				    out);
	case JSON_INTEGER:
		return write_integer(json_integer_value(v), out);
	case JSON_REAL:
		return write_real(json_real_value(v), out);
	case JSON_TRUE:
		return add(out, "true", 4);
	case JSON_FALSE:
		return add(out, "false", 5);
	case JSON_NULL:
		return add(out, "null", 4);
	case JSON_OBJECT:
	case JSON_ARRAY:
		break;
	}
	return fail(out);
}

static bool write_array(const json_t *v, struct buf *out, int depth,
			bool (*write)(const json_t *, struct buf *, int))
{
	size_t n = json_array_size(v);

	if (!add_char(out, '['))
		return false;
	for (size_t i = 0; i < n; i++) {
		if (i && !add_char(out, ','))
			return false;
		if (!write(json_array_get(v, i), out, depth))
			return false;
	}
	return add_char(out, ']');
}

/* jansson's iterators take no const object, though they change nothing. */
static json_t *unconst(const json_t *v)
{
	return (json_t *)(uintptr_t)v;
}

static bool write_object(const json_t *v, struct buf *out, int depth)
{
	json_t *o = unconst(v);
	char before = '{';
	void *it;

	for (it = json_object_iter(o); it; it = json_object_iter_next(o, it)) {
		if (!add_char(out, before) ||
		    !write_string(json_object_iter_key(it),
				  json_object_iter_key_len(it), out) ||
		    !add_char(out, ':') ||
		    !write_value(json_object_iter_value(it), out, depth))
			return false;
		before = ',';
	}
	return before == '{' ? add(out, "{}", 2) : add_char(out, '}');
}

static bool write_value(const json_t *v, struct buf *out, int depth)
{
	if (!v)
		return fail(out);
	if (!json_is_object(v) && !json_is_array(v))
		return write_scalar(v, out);
	if (depth == LIMIT_JSON_DEPTH)
		return fail(out);
	if (json_is_array(v))
		return write_array(v, out, depth + 1, write_value);
	return write_object(v, out, depth + 1);
}

bool jsontext_write(const json_t *value, struct buf *out)
{
	return finish(out, write_value(value, out, 0));
}

bool jsontext_write_string(const char *s, size_t len, struct buf *out)
{
	return finish(out, write_string(s, len, out));
}

bool jsontext_write_real(double d, struct buf *out)
{
	return finish(out, write_real(d, out));
}

char *jsontext_dup(const json_t *value, size_t *ret_len)
{
	struct buf b = {0};

	jsontext_write(value, &b);
	return buf_take(&b, ret_len);
}

static int key_cmp(const void *a, const void *b)
{
	const struct key *x = a;
	const struct key *y = b;
	int c = memcmp(x->s, y->s, x->len < y->len ? x->len : y->len);

	if (c)
		return c;
	return (x->len > y->len) - (x->len < y->len);
}

static bool canon_keys(const struct key *keys, size_t n, struct buf *out,
		       int depth)
{
	for (size_t i = 0; i < n; i++) {
		if (i && !add_char(out, ','))
			return false;
		if (!write_string(keys[i].s, keys[i].len, out) ||
		    !add_char(out, ':') ||
		    !canon_value(keys[i].value, out, depth))
			return false;
	}
	return true;
}

static bool canon_object(const json_t *v, struct buf *out, int depth)
{
	struct key few[KEYS_MAX];
	struct key *keys = few;
	json_t *o = unconst(v);
	size_t n = 0;
	void *it;
	bool ok;

	if (json_object_size(v) > KEYS_MAX)
		keys = malloc(json_object_size(v) * sizeof(*keys));
	if (!keys)
		return fail(out);
	for (it = json_object_iter(o); it; it = json_object_iter_next(o, it))
		keys[n++] = (struct key){json_object_iter_key(it),
					 json_object_iter_key_len(it),
					 json_object_iter_value(it)};
	qsort(keys, n, sizeof(*keys), key_cmp);
	ok = add_char(out, '{') && canon_keys(keys, n, out, depth) &&
	     add_char(out, '}');
	if (keys != few)
		free(keys);
	return ok;
}

static bool canon_value(const json_t *v, struct buf *out, int depth)
{
	double d;

	if (!v)
		return fail(out);
	if (json_is_real(v)) {
		d = json_real_value(v);
		if (fabs(d) <= TWO_53 && d == trunc(d))
			return write_integer((int64_t)d, out);
	}
	if (!json_is_object(v) && !json_is_array(v))
		return write_scalar(v, out);
	if (depth == LIMIT_JSON_DEPTH)
		return fail(out);
	if (json_is_array(v))
		return write_array(v, out, depth + 1, canon_value);
	return canon_object(v, out, depth + 1);
}

bool jsontext_canonical(const json_t *value, struct buf *out)
{
	return finish(out, canon_value(value, out, 0));
}
