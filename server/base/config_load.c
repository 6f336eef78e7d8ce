/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/config_table.h"
#include "server/base/error.h"

/* White space at both ends goes; in place. */
static char *trim(char *s)
{
	size_t n;

	while (isspace((unsigned char)*s))
		s++;
	n = strlen(s);
	while (n && isspace((unsigned char)s[n - 1]))
		n--;
	s[n] = '\0';
	return s;
}

/* Ends @s before a # that begins it or follows white space. */
static void cut_comment(char *s)
{
	for (char *p = s; *p; p++) {
		if (*p == '#' && (p == s || isspace((unsigned char)p[-1]))) {
			*p = '\0';
			return;
		}
	}
}

/* The value of "name = value", or NULL when a quote is not closed or is
 * followed by more than a comment. */
static char *file_value(char *s)
{
	char *end = NULL;
	char *rest = NULL;

	s = trim(s);
	if (*s != '"') {
		cut_comment(s);
		return trim(s);
	}
	end = strchr(s + 1, '"');
	if (!end)
		return NULL;
	rest = end + 1 + strspn(end + 1, " \t");
	if (*rest && *rest != '#')
		return NULL;
	*end = '\0';
	return s + 1;
}

static enum bide_rc file_line(struct config *c, char *text, int line,
			      struct bide_error *reterr)
{
	char *eq = NULL;
	char *value = NULL;
	char *name = trim(text);
	int key;

	if (!*name || *name == '#')
		return BIDE_OK;
	eq = strchr(name, '=');
	if (!eq)
		return error_set(reterr, BIDE_INVALID, "expected name = value");
	*eq = '\0';
	name = trim(name);
	value = file_value(eq + 1);
	if (!value)
		return error_set(reterr, BIDE_INVALID,
				 "option %.60s: a quote is not closed", name);
	key = config_find(name);
	if (key < 0)
		return config_unknown(name, reterr);
	return config_put(c, key, value, CONFIG_FROM_FILE, line, reterr);
}

static enum bide_rc file_lines(struct config *c, FILE *f, const char *path,
			       struct bide_error *reterr)
{
	enum bide_rc rc = BIDE_OK;
	struct bide_error e = {0};
	char *text = NULL;
	size_t cap = 0;
	ssize_t n;

	for (int line = 1; rc == BIDE_OK; line++) {
		n = getline(&text, &cap, f);
		if (n < 0)
			break;
		if (strlen(text) != (size_t)n)
			rc = error_set(&e, BIDE_INVALID, "a NUL");
		else
			rc = file_line(c, text, line, &e);
		if (rc != BIDE_OK)
			error_set(reterr, rc, "%.100s:%d: %.140s", path, line,
				  e.text);
	}
	if (rc == BIDE_OK && ferror(f))
		rc = error_set(reterr, BIDE_IO, "cannot read %.150s: %s", path,
			       strerror(errno));
	free(text);
	return rc;
}

enum bide_rc config_load_file(struct config *c, const char *path,
			      struct bide_error *reterr)
{
	FILE *f = fopen(path, "re");
	char *copy = NULL;
	enum bide_rc rc;

	if (!f)
		return error_set(reterr, BIDE_IO, "cannot read %.150s: %s",
				 path, strerror(errno));
	copy = strdup(path);
	if (!copy) {
		fclose(f);
		return error_set(reterr, BIDE_NOMEM, "out of memory");
	}
	free(c->file);
	c->file = copy;
	rc = file_lines(c, f, path, reterr);
	fclose(f);
	return rc;
}

/* max-body is BIDE_MAX_BODY. */
static const char *from_env(const char *name)
{
	char env[80] = "BIDE_";
	size_t n = 5;
	const char *value = NULL;

	for (; *name && n < sizeof(env) - 1; name++)
		env[n++] = *name == '-' ? '_'
					: (char)toupper((unsigned char)*name);
	env[n] = '\0';
	value = getenv(env);
	return value && *value ? value : NULL;
}

enum bide_rc config_load_env(struct config *c, struct bide_error *reterr)
{
	const char *value = from_env("config");
	enum bide_rc rc = BIDE_OK;

	if (value && !c->file)
		rc = config_load_file(c, value, reterr);
	for (int k = 0; k < CONFIG_COUNT && rc == BIDE_OK; k++) {
		value = from_env(config_options[k].name);
		if (value)
			rc = config_put(c, k, value, CONFIG_FROM_ENV, 0,
					reterr);
	}
	return rc;
}

/* One --option of the command line, taken apart. */
struct word {
	char name[64];
	const char *value; /* after "=", or the next word; NULL: none */
	bool attached;     /* it was after "=" */
	int key;           /* -1: not in the table */
	bool negated;      /* --no-name of a BOOL */
};

static void read_word(const char *arg, const char *next, struct word *w)
{
	const char *text = arg[1] == '-' ? arg + 2 : arg; /* "-x" is unknown */
	const char *eq = strchr(text, '=');
	size_t n;

	*w = (struct word){.key = -1};
	n = eq ? (size_t)(eq - text) : strlen(text);
	if (n >= sizeof(w->name)) /* then it is none of ours */
		n = sizeof(w->name) - 1;
	memcpy(w->name, text, n);
	w->attached = eq != NULL;
	w->value = eq ? eq + 1 : next;
	w->key = config_find(w->name);
	if (w->key >= 0 || strncmp(w->name, "no-", 3) != 0 || eq)
		return;
	w->key = config_find(w->name + 3);
	if (w->key >= 0 && config_options[w->key].kind == CONFIG_KIND_BOOL)
		w->negated = true;
	else
		w->key = -1;
}

/* Whether the next word is a BOOL's value. 0 and 1 are too easily words of
 * their own. */
static bool takes_next(const char *next)
{
	bool ignored;

	return next && !isdigit((unsigned char)*next) &&
	       config_read_bool(next, &ignored);
}

/* Sets one option; *ret_words is how many words of argv it took. */
static enum bide_rc set_word(struct config *c, struct word *w, int *ret_words,
			     struct bide_error *reterr)
{
	const char *value = w->value;

	*ret_words = 1;
	if (strcmp(w->name, "config") == 0) {
		*ret_words = w->attached ? 1 : 2; /* loaded before */
		return BIDE_OK;
	}
	if (w->key < 0)
		return config_unknown(w->name, reterr);
	if (config_options[w->key].kind == CONFIG_KIND_BOOL && !w->attached) {
		if (w->negated)
			value = "false";
		else if (takes_next(value))
			*ret_words = 2;
		else
			value = "true";
	} else if (!w->attached) {
		*ret_words = 2;
	}
	if (!value)
		return error_set(reterr, BIDE_INVALID,
				 "option %s needs a value", w->name);
	return config_put(c, w->key, value, CONFIG_FROM_ARGS, 0, reterr);
}

/* The file comes first, for a mistake in it is told before one beside it. */
static enum bide_rc load_named_file(struct config *c, int argc, char **argv,
				    struct bide_error *reterr)
{
	enum bide_rc rc = BIDE_OK;
	const char *path = NULL;

	for (int i = 1; i < argc && rc == BIDE_OK; i++) {
		if (strcmp(argv[i], "--") == 0)
			break;
		if (strncmp(argv[i], "--config=", 9) == 0)
			path = argv[i] + 9;
		else if (strcmp(argv[i], "--config") == 0)
			path = i + 1 < argc ? argv[++i] : "";
		else
			continue;
		rc = *path ? config_load_file(c, path, reterr)
			   : error_set(reterr, BIDE_INVALID,
				       "option config needs a value");
	}
	return rc;
}

enum bide_rc config_load_args(struct config *c, int *argc, char **argv,
			      struct bide_error *reterr)
{
	bool options = true;
	struct word w;
	enum bide_rc rc;
	int kept = 1;
	int words;

	if (!argv || *argc < 1)
		return BIDE_OK;
	rc = load_named_file(c, *argc, argv, reterr);
	for (int i = 1; i < *argc && rc == BIDE_OK; i += words) {
		words = 1;
		if (options && strcmp(argv[i], "--") == 0) {
			options = false;
		} else if (options && argv[i][0] == '-' && argv[i][1]) {
			read_word(argv[i], i + 1 < *argc ? argv[i + 1] : NULL,
				  &w);
			rc = set_word(c, &w, &words, reterr);
		} else {
			argv[kept++] = argv[i];
		}
	}
	if (rc == BIDE_OK && kept < *argc) {
		argv[kept] = NULL;
		*argc = kept;
	}
	return rc;
}
