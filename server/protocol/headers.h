/* SPDX-License-Identifier: MIT */
#ifndef PROTOCOL_HEADERS_H
#define PROTOCOL_HEADERS_H
#include "server/base/buf.h"
#include "server/protocol/exchange.h"
#include <stdbool.h>
/*
 * The request headers of Streamable HTTP. Values are compared without the
 * white space around them, and case matters in them.
 */
const char *headers_get(struct exchange *ex, const char *name);
bool headers_equal(const char *value, const char *text);
/* An Accept value that takes both application/json and text/event-stream. */
bool headers_accept(const char *value);
bool headers_json(const char *content_type);
/*
 * What a value of Mcp-Name or Mcp-Param-* stands for ("Value Encoding"): plain
 * visible ASCII, or =?base64?...?= decoded strictly. Appended to @out. False:
 * characters that a header must not have, no strict Base64, or out->failed.
 */
bool headers_decode(const char *value, struct buf *out);
/* The same against @text. */
bool headers_name_is(const char *value, const char *text);
#endif
