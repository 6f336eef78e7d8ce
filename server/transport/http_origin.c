/* SPDX-License-Identifier: MIT */
#include "server/transport/http_origin.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

struct span {
	const char *at;
	size_t len;
};
struct authority {
	struct span name; /* without brackets */
	struct span port; /* empty: none was given */
};

static bool same(struct span a, struct span b)
{
	return a.len == b.len && strncasecmp(a.at, b.at, a.len) == 0;
}

static struct span span_of(const char *s)
{
	return (struct span){s, strlen(s)};
}

static bool digits(struct span s)
{
	for (size_t i = 0; i < s.len; i++)
		if (s.at[i] < '0' || s.at[i] > '9')
			return false;
	return s.len <= 5;
}

/* "name", "name:port", "[v6]", "[v6]:port", and nothing else. */
static bool authority_read(const char *text, size_t len, struct authority *ret)
{
	const char *end = text + len;
	const char *colon;

	*ret = (struct authority){.name = {text, len}, .port = {end, 0}};
	if (len > 0 && text[0] == '[') {
		const char *close = memchr(text, ']', len);

		if (close == NULL)
			return false;
		ret->name = (struct span){text + 1, (size_t)(close - text) - 1};
		colon = close + 1;
		if (colon != end && *colon != ':')
			return false;
	} else {
		colon = memchr(text, ':', len);
		if (colon == NULL)
			colon = end;
		ret->name.len = (size_t)(colon - text);
	}
	if (colon != end)
		ret->port = (struct span){colon + 1, (size_t)(end - colon) - 1};
	return ret->name.len > 0 && digits(ret->port) &&
	       memchr(ret->name.at, '/', ret->name.len) == NULL &&
	       memchr(ret->name.at, '@', ret->name.len) == NULL;
}

static bool loopback_name(struct span name)
{
	char text[64];
	struct in_addr v4;

	if (same(name, span_of("localhost")) || same(name, span_of("::1")))
		return true;
	if (name.len >= sizeof(text))
		return false;
	memcpy(text, name.at, name.len);
	text[name.len] = '\0';
	return inet_pton(AF_INET, text, &v4) == 1 &&
	       ntohl(v4.s_addr) >> 24 == 127;
}

/* Calls @fn for each item of a comma list until one says yes. */
static bool any_item(const char *list,
		     bool (*fn)(struct span item, const void *arg),
		     const void *arg)
{
	while (list != NULL && *list != '\0') {
		size_t len = strcspn(list, ",");
		struct span item = {list, len};

		while (item.len > 0 && item.at[0] == ' ') {
			item.at++;
			item.len--;
		}
		while (item.len > 0 && item.at[item.len - 1] == ' ')
			item.len--;
		if (same(item, span_of("*")) || (item.len > 0 && fn(item, arg)))
			return true;
		list += len + (list[len] == ',');
	}
	return false;
}

/* A listed name without a port takes any. */
static bool host_listed(struct span item, const void *arg)
{
	const struct authority *host = arg;
	struct authority want;

	return authority_read(item.at, item.len, &want) &&
	       same(want.name, host->name) &&
	       (want.port.len == 0 || same(want.port, host->port));
}

bool http_origin_host_ok(const struct http_origin *o, const char *host,
			 const char *local)
{
	struct authority h;

	if (!authority_read(host, strlen(host), &h))
		return false;
	if ((o->loopback || o->wildcard) && loopback_name(h.name))
		return true;
	if (same(h.name, span_of(o->wildcard ? local : o->address)))
		return true;
	return any_item(o->allow_host, host_listed, &h);
}

static bool origin_listed(struct span item, const void *arg)
{
	return same(item, span_of(arg));
}

/* https://x and Host "x" are the same place, and so are http://x:80 and "x". */
static bool same_place(const struct authority *origin, const char *host,
		       const char *default_port)
{
	struct span none = span_of(default_port);
	struct authority h;

	return authority_read(host, strlen(host), &h) &&
	       same(origin->name, h.name) &&
	       same(origin->port.len > 0 ? origin->port : none,
		    h.port.len > 0 ? h.port : none);
}

bool http_origin_ok(const struct http_origin *o, const char *origin,
		    const char *host)
{
	bool https = strncasecmp(origin, "https://", 8) == 0;
	const char *at = origin + (https ? 8 : 7);
	struct authority a;

	if (any_item(o->allow_origin, origin_listed, origin))
		return true;
	if (!https && strncasecmp(origin, "http://", 7) != 0)
		return false;
	if (!authority_read(at, strlen(at), &a))
		return false;
	if (o->loopback && loopback_name(a.name))
		return true;
	return host != NULL && same_place(&a, host, https ? "443" : "80");
}
