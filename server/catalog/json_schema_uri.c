/* SPDX-License-Identifier: MIT */
#include "server/catalog/json_schema_node.h"
#include <stdlib.h>
#include <string.h>

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
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
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

char *schema_uri_resolve(const char *base_uri, const char *ref_uri)
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

char *schema_uri_cut_fragment(char *uri)
{
	char *hash = strchr(uri, '#');

	if (!hash)
		return uri + strlen(uri);
	*hash = '\0';
	return hash + 1;
}

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

bool schema_uri_decode(char *s)
{
	char *out = s;

	for (; *s; s++) {
		int high;
		int low;

		if (*s != '%') {
			*out++ = *s;
			continue;
		}
		high = hex_value(s[1]);
		low = high < 0 ? -1 : hex_value(s[2]);
		if (low < 0 || (high == 0 && low == 0))
			return false;
		*out++ = (char)(high * 16 + low);
		s += 2;
	}
	*out = '\0';
	return true;
}
