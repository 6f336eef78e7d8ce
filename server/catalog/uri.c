/* SPDX-License-Identifier: MIT */
#include "server/catalog/uri.h"
#include <stdlib.h>
#include <string.h>

#include "server/base/ascii.h"
#include "server/catalog/scan.h"

/* ---- resolving ---- */

/* The parts of RFC 3986, appendix B; each a slice of the text. */
struct slice {
	const char *s;
	size_t len;
	bool set;
};

struct parts {
	struct slice scheme, authority, path, query, fragment;
};

static bool is_scheme_char(char c)
{
	return ascii_is_alnum(c) || ascii_one_of(c, "+-.");
}

static const char *take_until(const char *s, const char *stops,
			      struct slice *ret)
{
	*ret = (struct slice){s, strcspn(s, stops), true};
	return s + ret->len;
}

static struct parts split(const char *s)
{
	struct parts p = {0};
	size_t n = 0;

	while (is_scheme_char(s[n]))
		n++;
	if (n > 0 && s[n] == ':') {
		p.scheme = (struct slice){s, n, true};
		s += n + 1;
	}
	if (strncmp(s, "//", 2) == 0)
		s = take_until(s + 2, "/?#", &p.authority);
	s = take_until(s, "?#", &p.path);
	if (*s == '?')
		s = take_until(s + 1, "#", &p.query);
	if (*s == '#')
		take_until(s + 1, "", &p.fragment);
	return p;
}

static char *put(char *out, const char *lead, struct slice x, const char *tail)
{
	if (!x.set)
		return out;
	out = stpcpy(out, lead);
	memcpy(out, x.s, x.len);
	return stpcpy(out + x.len, tail);
}

static void drop_last_segment(const char *start, char **out)
{
	while (*out > start && *--*out != '/')
		;
}

/* RFC 3986, 5.2.4, on the path [start, end): in place, returns the new end. */
static char *remove_dot_segments(char *start, char *end)
{
	char *in = start;
	char *out = start;

	*end = '\0';
	while (in < end) {
		/* The slash after "/." begins the next segment. */
		if (strncmp(in, "../", 3) == 0) {
			in += 3;
		} else if (strncmp(in, "./", 2) == 0 ||
			   strncmp(in, "/./", 3) == 0) {
			in += 2;
		} else if (strcmp(in, "/.") == 0) {
			*++in = '/';
		} else if (strncmp(in, "/../", 4) == 0) {
			in += 3;
			drop_last_segment(start, &out);
		} else if (strcmp(in, "/..") == 0) {
			in += 2;
			*in = '/';
			drop_last_segment(start, &out);
		} else if (strcmp(in, ".") == 0 || strcmp(in, "..") == 0) {
			in = end;
		} else {
			do
				*out++ = *in++;
			while (in < end && *in != '/');
		}
	}
	return out;
}

/* RFC 3986, 5.2.3: all of the base's path but its last segment. */
static struct slice merge_base(const struct parts *base)
{
	struct slice p = base->path;

	if (base->authority.set && p.len == 0)
		return (struct slice){"/", 1, true};
	while (p.len > 0 && p.s[p.len - 1] != '/')
		p.len--;
	return p;
}

char *uri_resolve(const char *base_uri, const char *ref_uri)
{
	struct parts base = split(base_uri);
	struct parts ref = split(ref_uri);
	struct slice none = {0};
	struct slice query = ref.query;
	char *text = malloc(strlen(base_uri) + strlen(ref_uri) + 8);
	char *out = text;
	char *path;
	bool inherits = !ref.scheme.set;

	if (!text)
		return NULL;
	out = put(out, "", inherits ? base.scheme : ref.scheme, ":");
	inherits = inherits && !ref.authority.set;
	out = put(out, "//", inherits ? base.authority : ref.authority, "");
	path = out;
	if (inherits && ref.path.len == 0) {
		out = put(out, "", base.path, "");
		query = ref.query.set ? ref.query : base.query;
	} else {
		if (inherits && ref.path.s[0] != '/')
			out = put(out, "", merge_base(&base), "");
		out = remove_dot_segments(path, put(out, "", ref.path, ""));
	}
	*out = '\0';
	out = put(out, "?", query, "");
	put(out, "#", ref.fragment.set ? ref.fragment : none, "");
	return text;
}

char *uri_cut_fragment(char *uri)
{
	char *hash = strchr(uri, '#');

	if (!hash)
		return uri + strlen(uri);
	*hash = '\0';
	return hash + 1;
}

bool uri_decode(char *s)
{
	char *out = s;

	for (; *s; s++) {
		int high;
		int low;

		if (*s != '%') {
			*out++ = *s;
			continue;
		}
		high = ascii_hex_value(s[1]);
		low = high < 0 ? -1 : ascii_hex_value(s[2]);
		if (low < 0 || (high == 0 && low == 0))
			return false;
		*out++ = (char)(high * 16 + low);
		s += 2;
	}
	*out = '\0';
	return true;
}

/* ---- syntax ---- */

bool uri_ipv4(const char *s, size_t len)
{
	const char *end = s + len;

	for (int part = 0; part < 4; part++) {
		int v = 0;
		int n = 0;

		if (part > 0 && (s == end || *s++ != '.'))
			return false;
		while (s < end && ascii_is_digit(*s) && n < 4) {
			v = v * 10 + (*s++ - '0');
			n++;
		}
		if (n == 0 || v > 255 || (n > 1 && s[-n] == '0'))
			return false;
	}
	return s == end;
}

/* RFC 4291, 2.2 */
bool uri_ipv6(const char *s, size_t len)
{
	const char *end = s + len;
	int groups = 0;
	bool gap = false;

	if (len >= 2 && s[0] == ':' && s[1] != ':')
		return false;
	while (s < end) {
		size_t n = 0;

		if (end - s >= 2 && s[0] == ':' && s[1] == ':') {
			if (gap)
				return false;
			gap = true;
			s += 2;
			if (s < end && *s == ':')
				return false;
			continue;
		}
		if (*s == ':' && (groups == 0 || ++s == end))
			return false;
		while (s + n < end && n < 5 && ascii_hex_value(s[n]) >= 0)
			n++;
		if (n == 0 || n > 4)
			return false;
		if (s + n < end && s[n] == '.') {
			if (!uri_ipv4(s, (size_t)(end - s)))
				return false;
			groups += 2;
			break;
		}
		groups++;
		s += n;
		if (s < end && *s != ':')
			return false;
	}
	return gap ? groups < 8 : groups == 8;
}

/* Unreserved, sub-delims, %XX and @more, up to one of @stops. */
static bool take_chars(struct text *t, const char *more, const char *stops)
{
	for (; t->p < t->end && !ascii_one_of(*t->p, stops); t->p++) {
		if (*t->p == '%') {
			if (t->end - t->p < 3 || ascii_hex_value(t->p[1]) < 0 ||
			    ascii_hex_value(t->p[2]) < 0)
				return false;
			t->p += 2;
		} else if (!ascii_is_alnum(*t->p) &&
			   !ascii_one_of(*t->p, "-._~!$&'()*+,;=") &&
			   !ascii_one_of(*t->p, more)) {
			return false;
		}
	}
	return true;
}

/* RFC 3986, 3.2.2 IP-literal with its brackets. */
static bool take_ip_literal(struct text *t)
{
	const char *close = memchr(t->p, ']', (size_t)(t->end - t->p));
	const char *s = t->p + 1;

	if (!close)
		return false;
	t->p = close + 1;
	if (s < close && (*s == 'v' || *s == 'V')) {
		const char *dot = memchr(s, '.', (size_t)(close - s));
		struct text rest = {dot ? dot + 1 : close, close};

		if (!dot || dot == s + 1 || rest.p == close)
			return false;
		while (++s < dot) {
			if (ascii_hex_value(*s) < 0)
				return false;
		}
		return take_chars(&rest, ":", "%") && rest.p == close;
	}
	return uri_ipv6(s, (size_t)(close - s));
}

static bool take_authority(struct text *t)
{
	const char *stop = t->p;
	struct text user = *t;

	while (stop < t->end && !ascii_one_of(*stop, "/?#"))
		stop++;
	user.end = stop;
	if (memchr(t->p, '@', (size_t)(stop - t->p))) {
		if (!take_chars(&user, ":", "@"))
			return false;
		t->p = user.p + 1;
	}
	if (t->p < stop && *t->p == '[') {
		if (!take_ip_literal(t))
			return false;
	} else if (!take_chars(t, "", ":/?#")) {
		return false;
	}
	if (take(t, ':')) {
		while (t->p < stop && ascii_is_digit(*t->p))
			t->p++;
	}
	return t->p == stop;
}

/* RFC 3986, 3: with a scheme. */
bool uri_valid(const char *s, size_t len)
{
	struct text t = {s, s + len};

	if (len == 0 || !ascii_is_alnum(*s) || ascii_is_digit(*s))
		return false;
	while (t.p < t.end && is_scheme_char(*t.p))
		t.p++;
	if (!take(&t, ':'))
		return false;
	if (t.end - t.p >= 2 && t.p[0] == '/' && t.p[1] == '/') {
		t.p += 2;
		if (!take_authority(&t))
			return false;
	}
	if (!take_chars(&t, ":@/", "?#"))
		return false;
	if (take(&t, '?') && !take_chars(&t, ":@/?", "#"))
		return false;
	if (take(&t, '#') && !take_chars(&t, ":@/?", ""))
		return false;
	return t.p == t.end;
}
