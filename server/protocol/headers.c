/* SPDX-License-Identifier: MIT */
#include "server/protocol/headers.h"

#include <string.h>
#include <strings.h>

#include "server/security/keyring.h"

#define PREFIX "=?base64?"
#define SUFFIX "?="

const char *headers_get(struct exchange *ex, const char *name)
{
	return ex->ops->header(ex, name);
}

struct span {
	const char *at;
	size_t len;
};

static bool blank(char c)
{
	return c == ' ' || c == '\t';
}

static struct span trim(const char *at, size_t len)
{
	while (len > 0 && blank(*at)) {
		at++;
		len--;
	}
	while (len > 0 && blank(at[len - 1]))
		len--;
	return (struct span){at, len};
}

bool headers_equal(const char *value, const char *text)
{
	struct span s = trim(value, strlen(value));

	return strlen(text) == s.len && memcmp(s.at, text, s.len) == 0;
}

/* ---- media types ---- */
static bool is_type(struct span s, const char *type)
{
	return strlen(type) == s.len && strncasecmp(s.at, type, s.len) == 0;
}

/* "q=0", "q=0.0": what the client does not want. */
static bool unwanted(struct span params)
{
	const char *q = params.at;
	const char *end = params.at + params.len;

	for (; q + 2 <= end; q++)
		if ((q[0] == 'q' || q[0] == 'Q') && q[1] == '=')
			break;
	if (q + 2 > end)
		return false;
	for (q += 2; q < end && (*q == '0' || *q == '.'); q++)
		;
	return q == end || blank(*q) || *q == ';';
}

static bool next_item(const char **rest, struct span *type, struct span *params)
{
	const char *at = *rest;
	size_t len = strcspn(at, ",");
	size_t type_len = strcspn(at, ",;");

	if (*at == '\0')
		return false;
	*type = trim(at, type_len);
	*params = (struct span){at + type_len, len - type_len};
	*rest = at[len] == ',' ? at + len + 1 : at + len;
	return true;
}

bool headers_accept(const char *value)
{
	bool json = false;
	bool stream = false;
	struct span type;
	struct span params;

	while (next_item(&value, &type, &params)) {
		if (unwanted(params))
			continue;
		if (is_type(type, "*/*"))
			json = stream = true;
		else if (is_type(type, "application/json") ||
			 is_type(type, "application/*"))
			json = true;
		else if (is_type(type, "text/event-stream") ||
			 is_type(type, "text/*"))
			stream = true;
	}
	return json && stream;
}

bool headers_json(const char *content_type)
{
	struct span type;
	struct span params;

	return next_item(&content_type, &type, &params) &&
	       is_type(type, "application/json");
}

/* ---- values that mirror the body ---- */
static bool printable(struct span s)
{
	size_t i;

	for (i = 0; i < s.len; i++)
		if ((s.at[i] < 0x20 || s.at[i] > 0x7e) && s.at[i] != '\t')
			return false;
	return true;
}

static bool decode(const char *at, size_t len, struct buf *out)
{
	size_t got = 0;
	char *room = buf_room(out, len);

	if (room == NULL ||
	    !security_base64_decode(at, len, room, len + 1, &got))
		return false;
	out->len += got;
	out->data[out->len] = '\0';
	return true;
}

bool headers_decode(const char *value, struct buf *out)
{
	struct span s = trim(value, strlen(value));
	size_t pre = sizeof(PREFIX) - 1;
	size_t suf = sizeof(SUFFIX) - 1;

	if (!printable(s))
		return false;
	if (s.len >= pre + suf && memcmp(s.at, PREFIX, pre) == 0 &&
	    memcmp(s.at + s.len - suf, SUFFIX, suf) == 0)
		return decode(s.at + pre, s.len - pre - suf, out);
	return buf_add(out, s.at, s.len);
}

bool headers_name_is(const char *value, const char *text)
{
	struct buf b = {0};
	bool same = headers_decode(value, &b) && strlen(text) == b.len &&
		    (b.len == 0 || memcmp(b.data, text, b.len) == 0);

	buf_fini(&b);
	return same;
}
