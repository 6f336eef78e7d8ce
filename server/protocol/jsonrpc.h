/* SPDX-License-Identifier: MIT */
#ifndef PROTOCOL_JSONRPC_H
#define PROTOCOL_JSONRPC_H
#include "server/base/buf.h"
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
/*
 * JSON-RPC 2.0 as MCP has it (basic/index "Messages"): one request or one
 * notification, ids are strings or integers and are echoed as they came.
 */
#define JSONRPC_PARSE      (-32700)
#define JSONRPC_REQUEST    (-32600)
#define JSONRPC_NO_METHOD  (-32601)
#define JSONRPC_PARAMS     (-32602)
#define JSONRPC_INTERNAL   (-32603)
#define JSONRPC_HEADERS    (-32020)
#define JSONRPC_CAPABILITY (-32021)
#define JSONRPC_VERSION    (-32022)

struct jsonrpc {
	json_t *root;
	const char *method; /* borrowed from root */
	json_t *params;     /* borrowed; NULL: absent */
	bool notification;
	char *id; /* as JSON text; NULL: none, or none that can be read */
	size_t id_len;
};
/* 0, or the error's code and @why, fixed text of at most 256 bytes. What can
 * be read of the id is set all the same. jsonrpc_fini() in any case. */
int jsonrpc_read(const char *body, size_t len, struct jsonrpc *ret,
		 char why[256]);
void jsonrpc_fini(struct jsonrpc *m);
/* {"jsonrpc":"2.0","id":ID, : the id is left out when NULL */
void jsonrpc_open(struct buf *b, const char *id, size_t id_len);
/* A whole error response. @data may be NULL. */
void jsonrpc_error(struct buf *b, const char *id, size_t id_len, int code,
		   const char *message, const json_t *data);
#endif
