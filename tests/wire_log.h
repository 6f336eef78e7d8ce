/* SPDX-License-Identifier: MIT */
#ifndef TESTS_WIRE_LOG_H
#define TESTS_WIRE_LOG_H
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
/*
 * Where BIDE_WIRE_LOG names a file, each exchange of a test is appended to it
 * as a line of JSON: the request's method, the notifications and the response.
 * tests/unit/protocol/test_wire_schema.c holds such a file to the schemas.
 *
 * One write(2), so that the lines of several programs do not mix.
 */
static inline void wire_log(const char *method, json_t *events, json_t *message)
{
	const char *path = getenv("BIDE_WIRE_LOG");
	json_t *line;
	char *text;
	int fd;

	if (path == NULL)
		return;
	line = json_pack("{s:s,s:O?,s:O?}", "method", method, "events", events,
			 "message", message);
	text = json_dumps(line, JSON_COMPACT);
	text = realloc(text, strlen(text) + 2);
	(void)strcat(text, "\n");
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text)) {
		perror("BIDE_WIRE_LOG");
		exit(99);
	}
	(void)close(fd);
	free(text);
	json_decref(line);
}
#endif
