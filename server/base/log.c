/* SPDX-License-Identifier: MIT */
#include "server/base/log.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/base/clock.h"
#include "server/base/utf8.h"

static const char tail_cut[] = ",\"truncated\":true}\n";
/* One string may still end in this and a quote when the line is full. */
#define RESERVE (sizeof(tail_cut) + sizeof("...\""))

static const char *const level_name[] = {"debug", "info", "warn", "error",
					 "none"};

static atomic_int least = LOG_INFO;

/* A line on the stack; once @cut, nothing more is added but the tail. */
struct line {
	char text[LOG_LINE_BYTES];
	size_t len;
	bool cut;
};

/* One %conversion of the format. */
struct conv {
	char size;     /* 0, 'l', 'L' (long long), 'z' (also t, j) */
	char type;     /* the letter */
	int precision; /* -1: none */
};

void log_set_level(enum log_level level)
{
	atomic_store_explicit(&least, (int)level, memory_order_relaxed);
}

bool log_enabled(enum log_level level)
{
	return level != LOG_NONE &&
	       (int)level >= atomic_load_explicit(&least, memory_order_relaxed);
}

bool log_level_parse(const char *name, enum log_level *ret)
{
	for (int i = LOG_DEBUG; i <= LOG_NONE; i++) {
		if (strcmp(name, level_name[i]) == 0) {
			*ret = (enum log_level)i;
			return true;
		}
	}
	return false;
}

static bool add(struct line *l, const char *s, size_t len)
{
	if (l->cut)
		return false;
	if (l->len + len > sizeof(l->text) - RESERVE) {
		l->cut = true;
		return false;
	}
	memcpy(l->text + l->len, s, len);
	l->len += len;
	return true;
}

static bool add_escaped(struct line *l, const char *s, size_t len)
{
	unsigned char c = (unsigned char)*s;
	char hex[8];

	if (c >= 0x80)
		return len ? add(l, s, len) : add(l, "\xEF\xBF\xBD", 3);
	if (c == '"' || c == '\\') {
		hex[0] = '\\';
		hex[1] = (char)c;
		return add(l, hex, 2);
	}
	if (c >= 0x20 && c != 0x7F)
		return add(l, s, 1);
	if (c == '\n')
		return add(l, "\\n", 2);
	if (c == '\t')
		return add(l, "\\t", 2);
	snprintf(hex, sizeof(hex), "\\u%04x", c);
	return add(l, hex, 6);
}

/* The closing quote comes from the reserve, so a cut string is still one. */
static void add_string(struct line *l, const char *s, size_t len)
{
	const char *end = s + len;
	size_t n;

	if (!add(l, "\"", 1))
		return;
	while (s < end) {
		n = utf8_sequence(s, (size_t)(end - s));
		if (!add_escaped(l, s, n)) {
			memcpy(l->text + l->len, "...", 3);
			l->len += 3;
			break;
		}
		s += n ? n : 1;
	}
	l->text[l->len++] = '"';
}

static void add_cstring(struct line *l, const char *s)
{
	add_string(l, s, strlen(s));
}

static void add_real(struct line *l, double d, int precision)
{
	char text[400];
	int n;

	if (!isfinite(d)) {
		add(l, "null", 4);
		return;
	}
	if (precision >= 0 && fabs(d) < 1e18)
		n = snprintf(text, sizeof(text), "%.*f",
			     precision > 17 ? 17 : precision, d);
	else
		n = snprintf(text, sizeof(text), "%.15g", d);
	for (int i = 0; i < n; i++) /* the host program may have a locale */
		if (text[i] == ',')
			text[i] = '.';
	add(l, text, (size_t)n);
}

static void add_signed(struct line *l, int64_t v)
{
	char text[32];

	add(l, text,
	    (size_t)snprintf(text, sizeof(text), "%lld", (long long)v));
}

static void add_unsigned(struct line *l, uint64_t v, bool hex)
{
	char text[32];
	int n = hex ? snprintf(text, sizeof(text), "\"%llx\"",
			       (unsigned long long)v)
		    : snprintf(text, sizeof(text), "%llu",
			       (unsigned long long)v);

	add(l, text, (size_t)n);
}

/* After '%'; returns what follows the conversion. */
static const char *read_conv(const char *f, struct conv *c, va_list *ap)
{
	*c = (struct conv){.precision = -1};
	f += strspn(f, "-+ #0");
	f += strspn(f, "0123456789");
	if (*f == '.') {
		f++;
		if (*f == '*') {
			c->precision = va_arg(*ap, int);
			f++;
		} else {
			c->precision = (int)strtol(f, NULL, 10);
			f += strspn(f, "0123456789");
		}
	}
	while (*f && strchr("hlzjt", *f)) {
		if (*f != 'h')
			c->size = *f == 'l' ? (c->size ? 'L' : 'l') : 'z';
		f++;
	}
	c->type = *f;
	return *f ? f + 1 : f;
}

static int64_t take_signed(char size, va_list *ap)
{
	if (size == 'L')
		return va_arg(*ap, long long);
	if (size == 'l' || size == 'z')
		return va_arg(*ap, long);
	return va_arg(*ap, int);
}

static uint64_t take_unsigned(char size, va_list *ap)
{
	if (size == 'L')
		return va_arg(*ap, unsigned long long);
	if (size == 'l' || size == 'z')
		return va_arg(*ap, unsigned long);
	return va_arg(*ap, unsigned int);
}

static void add_text_arg(struct line *l, const char *s, int precision)
{
	if (!s)
		add(l, "null", 4);
	else
		add_string(l, s,
			   precision >= 0 ? strnlen(s, (size_t)precision)
					  : strlen(s));
}

static void add_conv(struct line *l, const struct conv *c, va_list *ap)
{
	char ch;

	switch (c->type) {
	case 's':
		add_text_arg(l, va_arg(*ap, const char *), c->precision);
		break;
	case 'd':
	case 'i':
		add_signed(l, take_signed(c->size, ap));
		break;
	case 'u':
		add_unsigned(l, take_unsigned(c->size, ap), false);
		break;
	case 'x':
	case 'X':
		add_unsigned(l, take_unsigned(c->size, ap), true);
		break;
	case 'p':
		add_unsigned(l, (uintptr_t)va_arg(*ap, void *), true);
		break;
	case 'f':
	case 'g':
	case 'e':
		add_real(l, va_arg(*ap, double), c->precision);
		break;
	case 'c':
		ch = (char)va_arg(*ap, int);
		add_string(l, &ch, 1);
		break;
	default: /* the compiler has checked the format against printf's */
		add_cstring(l, "?");
		break;
	}
}

static void add_name(struct line *l, const char *name, size_t len)
{
	add(l, ",", 1);
	if (len)
		add_string(l, name, len);
	else
		add_cstring(l, "text");
	add(l, ":", 1);
}

/* Either every byte of a member is added, or the line ends before it, or
 * within its string value; never a name without its value. */
static const char *add_member(struct line *l, const char *f, va_list *ap)
{
	size_t before = l->len;
	size_t name_len = strcspn(f, "= %");
	bool value_begun;
	struct conv c;
	size_t n;

	add_name(l, f, f[name_len] == '=' ? name_len : 0);
	if (f[name_len] == '=')
		f += name_len + 1;
	value_begun = !l->cut;
	n = l->len;
	if (*f == '%') {
		f = read_conv(f + 1, &c, ap);
		add_conv(l, &c, ap);
	} else {
		add_string(l, f, strcspn(f, " "));
	}
	if (!value_begun || (l->cut && l->len == n))
		l->len = before;
	return f + strcspn(f, " ");
}

static void begin(struct line *l, enum log_level level, const char *event)
{
	char ts[32];

	l->len = 0;
	l->cut = false;
	clock_iso8601(clock_wall_ms(), ts, sizeof(ts));
	add(l, "{\"ts\":", 6);
	add_cstring(l, ts);
	add(l, ",\"level\":", 9);
	add_cstring(l, level_name[level]);
	add(l, ",\"event\":", 9);
	add_cstring(l, event);
}

/* A line that the kernel took in part is finished, or it would spoil the
 * next one as well. A closed or full standard error is nobody's to mend. */
static void put(const char *s, size_t len)
{
	ssize_t n;

	while (len) {
		n = write(STDERR_FILENO, s, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		s += n;
		len -= (size_t)n;
	}
}

void log_write(enum log_level level, const char *event, const char *fmt, ...)
{
	int saved = errno;
	struct line l;
	va_list ap;

	if (!log_enabled(level))
		return;
	begin(&l, level, event);
	va_start(ap, fmt);
	fmt += strspn(fmt, " ");
	while (*fmt && !l.cut) {
		fmt = add_member(&l, fmt, &ap);
		fmt += strspn(fmt, " ");
	}
	va_end(ap);
	if (l.cut) {
		memcpy(l.text + l.len, tail_cut, sizeof(tail_cut) - 1);
		l.len += sizeof(tail_cut) - 1;
	} else {
		memcpy(l.text + l.len, "}\n", 2);
		l.len += 2;
	}
	put(l.text, l.len);
	errno = saved;
}
