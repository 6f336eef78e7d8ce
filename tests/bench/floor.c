/* SPDX-License-Identifier: MIT */
/*
 * The floor that bench_bide compares with: a bare libmicrohttpd program, one
 * epoll thread, that parses each body and dumps a reply with jansson. Prints
 * its port; ends with its standard input.
 */
#include <jansson.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct request {
	char *body;
	size_t len;
};

static char *reply_to(const struct request *r)
{
	json_t *m = json_loadb(r->body, r->len, 0, NULL);
	json_t *out = json_pack("{s:s,s:O?,s:{s:s,s:[{s:s,s:s}]}}", "jsonrpc",
				"2.0", "id", json_object_get(m, "id"), "result",
				"resultType", "complete", "content", "type",
				"text", "text", "hello");
	char *text = json_dumps(out, JSON_COMPACT);

	json_decref(out);
	json_decref(m);
	return text;
}

static enum MHD_Result answer(struct MHD_Connection *c, struct request *r)
{
	char *text = reply_to(r);
	struct MHD_Response *p;
	enum MHD_Result rc;

	if (text == NULL)
		return MHD_NO;
	p = MHD_create_response_from_buffer(strlen(text), text,
					    MHD_RESPMEM_MUST_FREE);
	(void)MHD_add_response_header(p, "Content-Type", "application/json");
	rc = MHD_queue_response(c, MHD_HTTP_OK, p);
	MHD_destroy_response(p);
	return rc;
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *c,
				  const char *url, const char *method,
				  const char *version, const char *bytes,
				  size_t *n, void **state)
{
	struct request *r = *state;

	(void)cls, (void)url, (void)method, (void)version;
	if (r == NULL) {
		*state = calloc(1, sizeof(*r));
		return *state != NULL ? MHD_YES : MHD_NO;
	}
	if (*n > 0) {
		char *more = realloc(r->body, r->len + *n);

		if (more == NULL)
			return MHD_NO;
		r->body = more;
		memcpy(r->body + r->len, bytes, *n);
		r->len += *n;
		*n = 0;
		return MHD_YES;
	}
	return answer(c, r);
}

static void on_done(void *cls, struct MHD_Connection *c, void **state,
		    enum MHD_RequestTerminationCode why)
{
	struct request *r = *state;

	(void)cls, (void)c, (void)why;
	if (r != NULL)
		free(r->body);
	free(r);
	*state = NULL;
}

int main(void)
{
	struct MHD_Daemon *d = MHD_start_daemon(
		MHD_USE_EPOLL_INTERNAL_THREAD, 0, NULL, NULL, on_request, NULL,
		MHD_OPTION_NOTIFY_COMPLETED, on_done, NULL,
		MHD_OPTION_CONNECTION_LIMIT, 4000U, MHD_OPTION_END);
	char byte;

	if (d == NULL)
		return 1;
	(void)printf("%u\n",
		     MHD_get_daemon_info(d, MHD_DAEMON_INFO_BIND_PORT)->port);
	(void)fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	MHD_stop_daemon(d);
	return 0;
}
