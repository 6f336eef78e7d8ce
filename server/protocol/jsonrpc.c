/* SPDX-License-Identifier: MIT */
#include "server/protocol/jsonrpc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/jsontext.h"
#include "server/base/limits.h"

static bool read_id(json_t *id, struct jsonrpc *m)
{
	struct buf b = {.max = LIMIT_ID_BYTES};

	if (!json_is_string(id) && !json_is_integer(id))
		return false;
	if (!jsontext_write(id, &b)) {
		buf_fini(&b);
		return false;
	}
	m->id = buf_take(&b, &m->id_len);
	return m->id != NULL;
}

static int refuse(char why[256], int code, const char *text)
{
	(void)snprintf(why, 256, "%s", text);
	return code;
}

static int read_object(struct jsonrpc *m, char why[256])
{
	json_t *id = json_object_get(m->root, "id");
	json_t *method = json_object_get(m->root, "method");
	const char *version =
		json_string_value(json_object_get(m->root, "jsonrpc"));

	m->notification = id == NULL;
	if (id != NULL && !read_id(id, m))
		return refuse(why, JSONRPC_REQUEST,
			      "Invalid request: id must be a string or an "
			      "integer, and not longer than LIMIT_ID_BYTES");
	if (version == NULL || strcmp(version, "2.0") != 0)
		return refuse(why, JSONRPC_REQUEST,
			      "Invalid request: jsonrpc must be \"2.0\"");
	if (method == NULL && (json_object_get(m->root, "result") != NULL ||
			       json_object_get(m->root, "error") != NULL))
		return refuse(why, JSONRPC_REQUEST,
			      "Invalid request: responses are not sent to this "
			      "server");
	if (!json_is_string(method))
		return refuse(why, JSONRPC_REQUEST,
			      "Invalid request: method must be a string");
	m->method = json_string_value(method);
	m->params = json_object_get(m->root, "params");
	if (m->params != NULL && !json_is_object(m->params))
		return refuse(why, JSONRPC_PARAMS,
			      "Invalid params: params must be an object");
	return 0;
}

int jsonrpc_read(const char *body, size_t len, struct jsonrpc *ret,
		 char why[256])
{
	struct bide_error err = {0};
	enum bide_rc rc;

	memset(ret, 0, sizeof(*ret));
	rc = jsontext_parse_at_most(body, len, LIMIT_BODY_VALUES, &ret->root,
				    &err);
	if (rc == BIDE_INVALID) {
		(void)snprintf(why, 256, "Parse error: %.200s", err.text);
		return JSONRPC_PARSE;
	}
	if (rc != BIDE_OK)
		return refuse(why, JSONRPC_INTERNAL,
			      "The server is out of memory");
	if (json_is_array(ret->root))
		return refuse(why, JSONRPC_REQUEST,
			      "Invalid request: one message a request, "
			      "no batches");
	if (!json_is_object(ret->root))
		return refuse(why, JSONRPC_REQUEST,
			      "Invalid request: not an object");
	return read_object(ret, why);
}

void jsonrpc_fini(struct jsonrpc *m)
{
	json_decref(m->root);
	free(m->id);
	memset(m, 0, sizeof(*m));
}

void jsonrpc_open(struct buf *b, const char *id, size_t id_len)
{
	(void)buf_add(b, "{\"jsonrpc\":\"2.0\",", 17);
	if (id == NULL)
		return;
	(void)buf_add(b, "\"id\":", 5);
	(void)buf_add(b, id, id_len);
	(void)buf_addc(b, ',');
}

/*
 * Only codes that this protocol defines may leave (basic/index "Error Codes"):
 * -32002 and -32042 are of earlier revisions, and of -32020..-32099 three are
 * defined.
 */
static int allowed(int code)
{
	if (code == -32002 || code == -32042)
		return JSONRPC_INTERNAL;
	if (code <= -32020 && code >= -32099 && code != JSONRPC_HEADERS &&
	    code != JSONRPC_CAPABILITY && code != JSONRPC_VERSION)
		return JSONRPC_INTERNAL;
	return code;
}

void jsonrpc_error(struct buf *b, const char *id, size_t id_len, int code,
		   const char *message, const json_t *data)
{
	jsonrpc_open(b, id, id_len);
	(void)buf_addf(b, "\"error\":{\"code\":%d,\"message\":", allowed(code));
	if (!jsontext_write_string(message, strlen(message), b))
		return;
	if (data != NULL) {
		(void)buf_addstr(b, ",\"data\":");
		(void)jsontext_write(data, b);
	}
	(void)buf_addstr(b, "}}");
}
