/* SPDX-License-Identifier: MIT */
#ifndef BASE_LOG_H
#define BASE_LOG_H
#include <stdbool.h>
/*
 * JSON lines on standard error. The format is "name=%conversion ..." and each
 * name becomes a member: log_warn("task.lease_lost", "task=%s epoch=%lld", ..)
 * writes {"ts":"...","level":"warn","event":"task.lease_lost","task":"..",
 * "epoch":7}. %s is a string (NULL: null), %d %u %ld %lu %lld %llu %zu
 * integers, %f a number. %.*s takes a string without NUL, %x and %c give
 * strings, "name=word" a fixed string; an event without members has the
 * format " ". What is not UTF-8 is written as U+FFFD.
 *
 * Any thread; one write(2) a line, which is at most LOG_LINE_BYTES: a longer
 * one is cut and carries "truncated":true. Keeps errno. Never a secret.
 */
#define LOG_LINE_BYTES 8192
enum log_level {
	LOG_DEBUG = 0,
	LOG_INFO = 1,
	LOG_WARN = 2,
	LOG_ERROR = 3,
	LOG_NONE = 4
};
void log_set_level(enum log_level level); /* the least that is written */
bool log_level_parse(const char *name, enum log_level *ret);
bool log_enabled(enum log_level level);
void log_write(enum log_level level, const char *event, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
#define log_debug(ev, ...)                                                     \
	do {                                                                   \
		if (log_enabled(LOG_DEBUG))                                    \
			log_write(LOG_DEBUG, ev, __VA_ARGS__);                 \
	} while (0)
#define log_info(ev, ...)  log_write(LOG_INFO, ev, __VA_ARGS__)
#define log_warn(ev, ...)  log_write(LOG_WARN, ev, __VA_ARGS__)
#define log_error(ev, ...) log_write(LOG_ERROR, ev, __VA_ARGS__)
#endif
