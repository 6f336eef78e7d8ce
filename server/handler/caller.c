/* SPDX-License-Identifier: MIT */
#include "server/handler/caller.h"
#include "server/base/jsontext.h"
#include "server/base/utf8.h"
#include <stdio.h>
#include <string.h>

#define ERA_2026 "2026-07-28"
#define TASKS    "io.modelcontextprotocol/tasks"
#define ALL_BITS                                                               \
	((unsigned)(BIDE_CAN_ELICIT_FORM | BIDE_CAN_ELICIT_URL |               \
		    BIDE_CAN_SAMPLE | BIDE_CAN_SAMPLE_TOOLS |                  \
		    BIDE_CAN_SAMPLE_CONTEXT | BIDE_CAN_ROOTS |                 \
		    BIDE_CAN_TASKS))

static const char *era_name(enum caller_era era)
{
	switch (era) {
	case CALLER_2026_07_28:
		return ERA_2026;
	}
	return "";
}

static void add_member(struct buf *b, const char *name, const char *s)
{
	if (!*s)
		return;
	buf_addf(b, ",\"%s\":", name);
	jsontext_write_string(s, utf8_prefix(s, strlen(s)), b);
}

char *caller_dump(const struct caller *c)
{
	struct buf b = {0};

	buf_addf(&b, "{\"era\":\"%s\",\"can\":%u", era_name(c->era), c->can);
	add_member(&b, "client", c->client);
	add_member(&b, "trace", c->traceparent);
	buf_addc(&b, '}');
	return buf_take(&b, NULL);
}

/* Cut to fit, at a character's end. */
static void copy(char *out, size_t cap, const json_t *s)
{
	const char *text = json_string_value(s);
	size_t n = text ? strlen(text) : 0;

	if (n >= cap)
		n = utf8_prefix(text, cap - 1);
	if (n)
		memcpy(out, text, n);
	out[n] = '\0';
}

bool caller_load(struct caller *c, const char *text)
{
	json_t *o = NULL;
	const char *era = NULL;
	json_int_t can;
	bool ok = false;

	if (!text || jsontext_parse(text, strlen(text), &o, NULL))
		return false;
	era = json_string_value(json_object_get(o, "era"));
	can = json_integer_value(json_object_get(o, "can"));
	if (era && !strcmp(era, ERA_2026) &&
	    json_is_integer(json_object_get(o, "can")) && can >= 0) {
		*c = (struct caller){.era = CALLER_2026_07_28,
				     .can = (unsigned)(can & ALL_BITS)};
		copy(c->client, sizeof(c->client),
		     json_object_get(o, "client"));
		copy(c->traceparent, sizeof(c->traceparent),
		     json_object_get(o, "trace"));
		ok = true;
	}
	json_decref(o);
	return ok;
}

/* The member @name of @o, made when it is missing. Borrowed. */
static json_t *object_in(json_t *o, const char *name)
{
	json_t *v = json_object_get(o, name);

	if (o && !v && !json_object_set_new(o, name, json_object()))
		v = json_object_get(o, name);
	return v;
}

json_t *caller_required(unsigned missing)
{
	static const struct {
		enum bide_can bit;
		const char *name, *below;
	} facts[] = {
		{BIDE_CAN_ELICIT_FORM, "elicitation", "form"},
		{BIDE_CAN_ELICIT_URL, "elicitation", "url"},
		{BIDE_CAN_SAMPLE, "sampling", NULL},
		{BIDE_CAN_SAMPLE_TOOLS, "sampling", "tools"},
		{BIDE_CAN_SAMPLE_CONTEXT, "sampling", "context"},
		{BIDE_CAN_ROOTS, "roots", NULL},
		{BIDE_CAN_TASKS, "extensions", TASKS},
	};
	json_t *o = json_object();
	json_t *v = NULL;

	for (size_t i = 0; o && i < sizeof(facts) / sizeof(facts[0]); i++) {
		if (!(missing & (unsigned)facts[i].bit))
			continue;
		v = object_in(o, facts[i].name);
		if (facts[i].below)
			object_in(v, facts[i].below);
	}
	return o;
}

static bool has(const json_t *o, const char *name)
{
	return json_is_object(json_object_get(o, name));
}

unsigned caller_bits(const json_t *capabilities)
{
	const json_t *elicitation =
		json_object_get(capabilities, "elicitation");
	const json_t *sampling = json_object_get(capabilities, "sampling");
	const json_t *extensions = json_object_get(capabilities, "extensions");
	unsigned bits = 0;

	if (has(elicitation, "url"))
		bits |= BIDE_CAN_ELICIT_URL;
	/* client/elicitation "Capabilities": {} is form mode alone. */
	if (has(elicitation, "form") ||
	    (json_is_object(elicitation) && !json_object_size(elicitation)))
		bits |= BIDE_CAN_ELICIT_FORM;
	if (json_is_object(sampling))
		bits |= BIDE_CAN_SAMPLE;
	if (has(sampling, "tools"))
		bits |= BIDE_CAN_SAMPLE_TOOLS;
	if (has(sampling, "context"))
		bits |= BIDE_CAN_SAMPLE_CONTEXT;
	if (has(capabilities, "roots"))
		bits |= BIDE_CAN_ROOTS;
	if (has(extensions, TASKS))
		bits |= BIDE_CAN_TASKS;
	return bits;
}
