/* SPDX-License-Identifier: MIT */
#ifndef HANDLER_CALLER_H
#define HANDLER_CALLER_H
#include "bide/tool.h"
#include "server/base/buf.h"
#include <jansson.h>
/*
 * Who calls and what it declared, as one request said it. A snapshot of it
 * stands in the task's row, so that a handler that runs later, elsewhere, asks
 * only what the caller can answer.
 */
enum caller_era { CALLER_2026_07_28 = 1 /*, the 2025 era comes next */ };
struct caller {
	enum caller_era era;
	unsigned can;         /* enum bide_can bits */
	char client[128];     /* "name/version", for people; may be "" */
	char traceparent[64]; /* W3C, or "" */
};
/* {"era":"2026-07-28","can":7,"client":"x/1","trace":".."} */
char *caller_dump(const struct caller *c); /* malloc()ed */
bool caller_load(struct caller *c, const char *text);
/* The data of -32021 for missing bits:
 * {"elicitation":{"form":{}},"extensions":{...}} (new reference) */
json_t *caller_required(unsigned missing);
/* The bits of a ClientCapabilities object; elicitation {} is form only. */
unsigned caller_bits(const json_t *capabilities);
#endif
