/* SPDX-License-Identifier: MIT */
#include "server/base/jsontext.h"
#include "server/base/limits.h"
#include "server/base/log.h"
#include "server/base/utf8.h"
#include "server/handler/call_internal.h"
#include <string.h>

/* Ending a call with a JSON-RPC error instead of a result. */

/* basic/index "Error Codes": -32020..-32099 are the specification's to give
 * out, and these two belong to earlier revisions. */
static int allowed_code(int code)
{
	if ((code <= -32020 && code >= -32099) || code == -32002 ||
	    code == -32042)
		return -32603;
	return code;
}

enum bide_rc bide_fail(struct bide_call *call, int code, const char *message,
		       json_t *data)
{
	struct buf *b = &call->failure;

	if (call->stuck.rc) {
		json_decref(data);
		return call->stuck.rc;
	}
	if (!message || !utf8_valid(message, strlen(message)))
		message = "Internal error";
	buf_init(b, LIMIT_RESULT_BYTES);
	buf_addf(b, "{\"code\":%d,\"message\":", allowed_code(code));
	jsontext_write_string(message, strlen(message), b);
	if (data && !jsontext_check(data, NULL)) {
		buf_addstr(b, ",\"data\":");
		jsontext_write(data, b);
	} else if (data) {
		log_warn("handler.error_data_dropped", CALL_WHO,
			 call_who(call));
	}
	buf_addc(b, '}');
	json_decref(data);
	if (b->failed)
		return call_fail(call, BIDE_LIMIT,
				 "the error is over %d bytes "
				 "(LIMIT_RESULT_BYTES)",
				 LIMIT_RESULT_BYTES);
	return call_fail(call, BIDE_FAILED, "bide_fail");
}

enum bide_rc bide_not_found(struct bide_call *call)
{
	if (call->target->kind != TARGET_RESOURCE)
		return call_fail(call, BIDE_MISUSE, "bide_not_found in a %s",
				 target_kind_name(call->target->kind));
	return bide_fail(call, -32602, RUN_NOT_FOUND,
			 json_pack("{s:s}", "uri", call->uri));
}
