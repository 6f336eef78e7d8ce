/* SPDX-License-Identifier: MIT */
/*
 * The door: what is not one clear request is refused before its body is read
 * (docs/design.md, section 2 "The door").
 *
 * c->head holds the request's method, NUL, and then for each header a record:
 * two uint16_t (bytes of the name, of the value), the name, NUL, the value,
 * NUL. It is a copy because libmicrohttpd drops its own when a connection dies
 * under a stream, and exchange.h promises the values until the end.
 */
#include <stdint.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "server/transport/http_conn.h"

#define LIST_REPEATS  8     /* of one Accept */
#define SWALLOW_BYTES 65536 /* read before a refusal, to keep a connection */
#define ACCEPT        "accept"
#define SHAPE(code, text)                                                      \
	"{\"jsonrpc\":\"2.0\",\"error\":{\"code\":" #code                      \
	",\"message\":\"" text "\"}}"

static const struct http_refusal refuse_head = {
	400, SHAPE(-32600, "The request's head is not well formed"), {0}, true};
static const struct http_refusal refuse_repeated = {
	400,
	SHAPE(-32600, "A header that may stand once is repeated"),
	{0},
	true};
static const struct http_refusal refuse_no_host = {
	400, SHAPE(-32600, "There is no Host header"), {0}, true};
static const struct http_refusal refuse_framing = {
	400, SHAPE(-32600, "The request's length is not clear"), {0}, true};
static const struct http_refusal refuse_headers = {
	431, SHAPE(-32600, "Too many or too long headers"), {0}, true};
static const struct http_refusal refuse_host = {
	403,
	SHAPE(-32600, "This Host is not served here; see --allow-host"),
	{0},
	false};
static const struct http_refusal refuse_origin = {
	403,
	SHAPE(-32600, "This Origin is not allowed; see --allow-origin"),
	{0},
	false};
static const struct http_refusal refuse_identity = {
	401,
	SHAPE(-32600, "Credentials are missing or were not accepted"),
	{"WWW-Authenticate", "Bearer"},
	false};
static const struct http_refusal refuse_identity_failed = {
	500, SHAPE(-32603, "Internal error"), {0}, false};
static const struct http_refusal refuse_path = {
	404, SHAPE(-32600, "There is nothing at this path"), {0}, false};
static const struct http_refusal refuse_page_method = {
	405,
	SHAPE(-32600, "This page takes GET only"),
	{"Allow", "GET"},
	false};
const struct http_refusal http_refusal_body = {
	413, SHAPE(-32600, "The request's body is too large"), {0}, true};
const struct http_refusal http_refusal_busy = {
	503,
	SHAPE(-32603, "Too many requests are waiting; try again"),
	{"Retry-After", "1"},
	true};
const struct http_refusal http_refusal_stopping = {
	503,
	SHAPE(-32603, "This instance is shutting down; try again"),
	{"Retry-After", "1"},
	true};
const struct http_refusal http_refusal_memory = {
	503, SHAPE(-32603, "Out of memory"), {"Retry-After", "1"}, true};

enum single {
	SINGLE_HOST,
	SINGLE_CONTENT_LENGTH,
	SINGLE_TRANSFER_ENCODING,
	SINGLE_ORIGIN,
	SINGLE_EXPECT,
	SINGLE_CONTENT_TYPE,
	SINGLE_AUTHORIZATION,
	SINGLE_IDEMPOTENCY_KEY,
	SINGLES
};
static const struct {
	size_t len;
	const char *name;
} singles[SINGLES] = {
	[SINGLE_HOST] = {4, "host"},
	[SINGLE_CONTENT_LENGTH] = {14, "content-length"},
	[SINGLE_TRANSFER_ENCODING] = {17, "transfer-encoding"},
	[SINGLE_ORIGIN] = {6, "origin"},
	[SINGLE_EXPECT] = {6, "expect"},
	[SINGLE_CONTENT_TYPE] = {12, "content-type"},
	[SINGLE_AUTHORIZATION] = {13, "authorization"},
	[SINGLE_IDEMPOTENCY_KEY] = {15, "idempotency-key"},
};

struct head {
	struct conn *c;
	/*
	 * Where the next header must stand; NULL when that is not checked. See
	 * raw_next().
	 */
	const char *at;
	const struct http_refusal *refusal;
	unsigned count, accepts;
	bool seen[SINGLES];
};

/* ---- records ---- */
static bool record(struct buf *b, const char *name, size_t name_len,
		   const char *value, size_t value_len)
{
	uint16_t len[2] = {(uint16_t)name_len, (uint16_t)value_len};
	size_t all = sizeof(len) + name_len + value_len + 2;
	char *p;

	if (name_len > UINT16_MAX || value_len > UINT16_MAX)
		return false;
	p = buf_room(b, all);
	if (p == NULL)
		return false;
	memcpy(p, len, sizeof(len));
	p += sizeof(len);
	memcpy(p, name, name_len);
	p[name_len] = '\0';
	p += name_len + 1;
	memcpy(p, value, value_len);
	p[value_len] = '\0';
	b->len += all;
	b->data[b->len] = '\0';
	return true;
}

/* The last one's value: that is where a joined list stands. */
static const char *find(const struct conn *c, const char *name, size_t name_len)
{
	const char *p = c->head.data + strlen(c->head.data) + 1;
	const char *end = c->head.data + c->head.len;
	const char *found = NULL;
	uint16_t len[2];

	while (p < end) {
		memcpy(len, p, sizeof(len));
		p += sizeof(len);
		if (len[0] == name_len && strncasecmp(p, name, name_len) == 0)
			found = p + len[0] + 1;
		p += len[0] + len[1] + 2;
	}
	return found;
}

const char *http_door_header(const struct conn *c, const char *name)
{
	return find(c, name, strlen(name));
}

/* ---- one header ---- */
/* RFC 9110, 5.6.2 "Tokens". */
static bool is_tchar(char ch)
{
	if (((ch | 0x20) >= 'a' && (ch | 0x20) <= 'z') || ch == '-' ||
	    (ch >= '0' && ch <= '9'))
		return true;
	return ch != '\0' && strchr("!#$%&'*+.^_`|~", ch) != NULL;
}

static bool is_token(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!is_tchar(s[i]))
			return false;
	return len > 0;
}

/* RFC 9110, 5.5: no control character but the tab. */
static bool is_value(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char ch = (unsigned char)s[i];

		if ((ch < 0x20 && ch != '\t') || ch == 0x7f)
			return false;
	}
	return true;
}

/*
 * libmicrohttpd 0.9.75 takes a line that ends in LF alone, ends the head at a
 * line that begins with NUL, and glues a folded line to the header's *name*
 * ("X-Forwarded-Fo:" and " r" make X-Forwarded-For). It parses in place, and
 * leaves each header as name NUL blanks value NUL NUL, the colon and the CRLF
 * overwritten; so what it tells of must lie seamlessly from the request line to
 * the head's end.
 */
static bool raw_next(struct head *h, const char *key, size_t key_len,
		     const char *value, size_t value_len)
{
	const char *p = h->at + key_len;

	if (key != h->at || *p++ != '\0')
		return false;
	while (p != value && (*p == ' ' || *p == '\t'))
		p++;
	if (p != value || p[value_len] != '\0' || p[value_len + 1] != '\0')
		return false;
	h->at = p + value_len + 2;
	return true;
}

static int single_of(const char *key, size_t len)
{
	for (int i = 0; i < SINGLES; i++)
		if (singles[i].len == len &&
		    strncasecmp(singles[i].name, key, len) == 0)
			return i;
	return -1;
}

/* Another line of a list is the same as one with a comma (RFC 9110, 5.3). */
static const struct http_refusal *join(struct head *h, const char *before,
				       const char *value, size_t value_len)
{
	struct buf all = {0};
	bool ok;

	if (++h->accepts > LIST_REPEATS)
		return &refuse_headers;
	ok = buf_addstr(&all, before) && buf_add(&all, ", ", 2) &&
	     buf_add(&all, value, value_len) &&
	     record(&h->c->head, ACCEPT, sizeof(ACCEPT) - 1, all.data, all.len);
	buf_fini(&all);
	return ok ? NULL : &http_refusal_memory;
}

static const struct http_refusal *keep(struct head *h, const char *key,
				       size_t key_len, const char *value,
				       size_t value_len)
{
	int which = single_of(key, key_len);
	const char *before = NULL;

	if (which >= 0) {
		if (h->seen[which])
			return &refuse_repeated;
		h->seen[which] = true;
	} else if (key_len > 4 && strncasecmp(key, "mcp-", 4) == 0) {
		if (find(h->c, key, key_len) != NULL)
			return &refuse_repeated;
	} else if (key_len == sizeof(ACCEPT) - 1 &&
		   strncasecmp(key, ACCEPT, key_len) == 0) {
		before = find(h->c, key, key_len);
		if (before != NULL)
			return join(h, before, value, value_len);
	}
	if (!record(&h->c->head, key, key_len, value, value_len))
		return &http_refusal_memory;
	return NULL;
}

static enum MHD_Result each(void *cls, enum MHD_ValueKind kind, const char *key,
			    size_t key_len, const char *value, size_t value_len)
{
	struct head *h = cls;

	(void)kind;
	if (++h->count > LIMIT_HEADERS)
		h->refusal = &refuse_headers;
	else if ((h->at != NULL &&
		  !raw_next(h, key, key_len, value, value_len)) ||
		 !is_token(key, key_len) || !is_value(value, value_len))
		h->refusal = &refuse_head;
	if (h->refusal != NULL)
		return MHD_NO;
	while (value_len > 0 &&
	       (value[value_len - 1] == ' ' || value[value_len - 1] == '\t'))
		value_len--;
	h->refusal = keep(h, key, key_len, value, value_len);
	return h->refusal == NULL ? MHD_YES : MHD_NO;
}

/* ---- the whole head ---- */
/*
 * Between two blanks: no blank of its own, no control character. A NUL that is
 * encoded would end the path where libmicrohttpd decodes it, so that what a
 * proxy took for another path were this one.
 */
bool http_door_target(const char *target)
{
	for (; *target != '\0'; target++)
		if (*target <= ' ' || *target == 0x7f ||
		    strncmp(target, "%00", 3) == 0)
			return false;
	return true;
}

static const struct http_refusal *read_head(struct head *h, const char *method,
					    const char *version)
{
	struct conn *c = h->c;
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
		c->mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
	size_t head_bytes = info != NULL ? info->header_size : 0;

	if (!c->clear_target)
		return &refuse_head;
	if (head_bytes > LIMIT_HEADER_BYTES)
		return &refuse_headers;
	if (!buf_add(&c->head, method, strlen(method) + 1))
		return &http_refusal_memory;
	if (!is_token(method, strlen(method)))
		return &refuse_head;
	if (c->http->raw_heads) {
		h->at = version + strlen(version);
		if (h->at[0] != '\0' || h->at[1] != '\0')
			return &refuse_head;
		h->at += 2;
	}
	(void)MHD_get_connection_values_n(c->mhd, MHD_HEADER_KIND, each, h);
	if (h->refusal != NULL)
		return h->refusal;
	/* RFC 9112, 3.2 "Request Target". */
	if (!h->seen[SINGLE_HOST] && strcmp(version, "HTTP/1.0") != 0)
		return &refuse_no_host;
	if (h->at != NULL && (h->at + 2 != method + head_bytes ||
			      h->at[0] != '\0' || h->at[1] != '\0'))
		return &refuse_head;
	return NULL;
}

static const char *single(const struct head *h, enum single which)
{
	return h->seen[which]
		       ? find(h->c, singles[which].name, singles[which].len)
		       : NULL;
}

/* RFC 9112, 6.3: one framing or none. */
static const struct http_refusal *
read_framing(const struct head *h, const char *version, size_t *ret_body)
{
	const char *length = single(h, SINGLE_CONTENT_LENGTH);
	const char *coding = single(h, SINGLE_TRANSFER_ENCODING);
	size_t n = 0;

	*ret_body = 0;
	if (coding != NULL) {
		if (length != NULL || strcasecmp(coding, "chunked") != 0 ||
		    strcmp(version, "HTTP/1.0") == 0)
			return &refuse_framing;
		*ret_body = SIZE_MAX;
		return NULL;
	}
	if (length == NULL)
		return NULL;
	if (*length == '\0')
		return &refuse_framing;
	for (; *length != '\0'; length++) {
		if (*length < '0' || *length > '9')
			return &refuse_framing;
		n = n * 10 + (size_t)(*length - '0');
		if (n > h->c->http->opt.max_body)
			return &http_refusal_body;
	}
	*ret_body = n;
	return NULL;
}

static const struct http_refusal *check_place(const struct head *h)
{
	const struct http *s = h->c->http;
	const char *host = single(h, SINGLE_HOST);
	const char *origin = single(h, SINGLE_ORIGIN);
	char local[INET6_ADDRSTRLEN] = "";

	if (host != NULL && s->origin.wildcard) {
		struct sockaddr_storage end = {0};
		socklen_t len = sizeof(end);

		if (getsockname(h->c->fd, (struct sockaddr *)&end, &len) == 0)
			http_address_text((struct sockaddr *)&end, local,
					  sizeof(local));
	}
	if (host != NULL && !http_origin_host_ok(&s->origin, host, local))
		return &refuse_host;
	if (origin != NULL && !http_origin_ok(&s->origin, origin, host))
		return &refuse_origin;
	return NULL;
}

static const char *peer_header(void *data, const char *name)
{
	return http_door_header(data, name);
}

static const struct http_refusal *identify(struct conn *c)
{
	const struct http_options *opt = &c->http->opt;
	const struct bide_peer peer = {peer_header, c, c->address};
	enum bide_rc rc;

	c->principal[0] = '\0';
	if (opt->identity == NULL)
		return NULL;
	rc = opt->identity(&peer, c->principal, sizeof(c->principal),
			   opt->identity_user);
	c->principal[sizeof(c->principal) - 1] = '\0';
	if (rc == BIDE_OK)
		return NULL;
	c->principal[0] = '\0';
	return rc == BIDE_NOT_FOUND ? &refuse_identity
				    : &refuse_identity_failed;
}

static const struct http_refusal *find_place(struct conn *c, const char *url)
{
	const struct http_options *opt = &c->http->opt;

	if (strcmp(url, opt->path) == 0)
		return identify(c);
	for (size_t i = 0; i < opt->npages; i++) {
		if (strcmp(url, opt->pages[i].path) != 0)
			continue;
		if (strcmp(c->head.data, "GET") != 0)
			return &refuse_page_method;
		c->page = &opt->pages[i];
		return NULL;
	}
	return &refuse_path;
}

const struct http_refusal *http_door(struct conn *c, const char *url,
				     const char *method, const char *version,
				     size_t *ret_body)
{
	struct head h = {.c = c};
	const struct http_refusal *r = read_head(&h, method, version);

	*ret_body = 0;
	if (r == NULL)
		r = read_framing(&h, version, ret_body);
	if (r != NULL)
		return r;
	r = check_place(&h);
	if (r == NULL)
		r = find_place(c, url);
	/* What came in one piece is read before the refusal: closing with bytes
	 * unread would reset the connection under the answer. */
	if (r != NULL && (h.seen[SINGLE_EXPECT] || *ret_body > SWALLOW_BYTES))
		*ret_body = SIZE_MAX;
	return r;
}
