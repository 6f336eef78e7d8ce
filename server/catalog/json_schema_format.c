/* SPDX-License-Identifier: MIT */
#include "server/base/ascii.h"
#include "server/catalog/json_schema_node.h"
#include "server/catalog/scan.h"
#include "server/catalog/uri.h"
#include <string.h>

/*
 * The four formats that the restricted elicitation schemas know (client/
 * elicitation "Requested Schema") assert; all others are annotations
 * (validation 7.2.1).
 */

/* Exactly @n digits, as a number within min..max. */
static bool take_number(struct text *t, unsigned n, int min, int max, int *ret)
{
	int v = 0;

	for (; n > 0; n--) {
		if (t->p == t->end || !ascii_is_digit(*t->p))
			return false;
		v = v * 10 + (*t->p++ - '0');
	}
	*ret = v;
	return v >= min && v <= max;
}

static int days_in_month(int year, int month)
{
	static const int days[] = {31, 28, 31, 30, 31, 30,
				   31, 31, 30, 31, 30, 31};
	bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

	return month == 2 && leap ? 29 : days[month - 1];
}

/* RFC 3339, 5.6 full-date */
static bool take_date(struct text *t)
{
	int year = 0;
	int month = 0;
	int day = 0;

	return take_number(t, 4, 0, 9999, &year) && take(t, '-') &&
	       take_number(t, 2, 1, 12, &month) && take(t, '-') &&
	       take_number(t, 2, 1, days_in_month(year, month), &day);
}

static bool take_offset(struct text *t, int *ret_minutes)
{
	int hour = 0;
	int minute = 0;
	int sign = 1;

	*ret_minutes = 0;
	if (take(t, 'Z') || take(t, 'z'))
		return true;
	if (take(t, '-'))
		sign = -1;
	else if (!take(t, '+'))
		return false;
	if (!take_number(t, 2, 0, 23, &hour) || !take(t, ':') ||
	    !take_number(t, 2, 0, 59, &minute))
		return false;
	*ret_minutes = sign * (hour * 60 + minute);
	return true;
}

/* RFC 3339, 5.6 full-time; a leap second only where UTC has them (5.7). */
static bool take_time(struct text *t)
{
	const int day = 24 * 60;
	int hour = 0;
	int minute = 0;
	int second = 0;
	int offset = 0;

	if (!take_number(t, 2, 0, 23, &hour) || !take(t, ':') ||
	    !take_number(t, 2, 0, 59, &minute) || !take(t, ':') ||
	    !take_number(t, 2, 0, 60, &second))
		return false;
	if (take(t, '.')) {
		if (t->p == t->end || !ascii_is_digit(*t->p))
			return false;
		while (t->p < t->end && ascii_is_digit(*t->p))
			t->p++;
	}
	if (!take_offset(t, &offset))
		return false;
	return second < 60 ||
	       (hour * 60 + minute - offset + 2 * day) % day == day - 1;
}

static bool is_date(const char *s, size_t len)
{
	struct text t = {s, s + len};

	return take_date(&t) && t.p == t.end;
}

static bool is_date_time(const char *s, size_t len)
{
	struct text t = {s, s + len};

	return take_date(&t) && (take(&t, 'T') || take(&t, 't')) &&
	       take_time(&t) && t.p == t.end;
}

/* Labels of RFC 1123, 2.1 */
static bool is_hostname(const char *s, size_t len)
{
	size_t label = 0;

	if (len == 0 || len > 253)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (s[i] == '.') {
			if (label == 0 || s[i - 1] == '-')
				return false;
			label = 0;
			continue;
		}
		if (!ascii_is_alnum(s[i]) && (s[i] != '-' || label == 0))
			return false;
		if (++label > 63)
			return false;
	}
	return label > 0 && s[len - 1] != '-';
}

static bool is_address_literal(const char *s, size_t len)
{
	if (len < 2 || s[0] != '[' || s[len - 1] != ']')
		return false;
	s++;
	len -= 2;
	if (len > 5 && strncasecmp(s, "IPv6:", 5) == 0)
		return uri_ipv6(s + 5, len - 5);
	return uri_ipv4(s, len);
}

static bool is_quoted_local(const char *s, size_t len)
{
	if (len < 2 || s[0] != '"' || s[len - 1] != '"')
		return false;
	for (size_t i = 1; i < len - 1; i++) {
		if (s[i] == '\\') {
			if (++i == len - 1)
				return false;
		} else if (s[i] == '"') {
			return false;
		}
		if (s[i] < 0x20 || s[i] > 0x7E)
			return false;
	}
	return true;
}

static bool is_dot_atom(const char *s, size_t len)
{
	bool dot = true;

	for (size_t i = 0; i < len; i++) {
		if (s[i] == '.') {
			if (dot)
				return false;
			dot = true;
			continue;
		}
		if (!ascii_is_alnum(s[i]) &&
		    !ascii_one_of(s[i], "!#$%&'*+-/=?^_`{|}~"))
			return false;
		dot = false;
	}
	return !dot;
}

/* RFC 5321, 4.1.2 Mailbox */
static bool is_email(const char *s, size_t len)
{
	const char *at = memrchr(s, '@', len);
	size_t local;
	size_t domain;

	if (!at)
		return false;
	local = (size_t)(at - s);
	domain = len - local - 1;
	if (local > 64 ||
	    (!is_dot_atom(s, local) && !is_quoted_local(s, local)))
		return false;
	return is_hostname(at + 1, domain) ||
	       is_address_literal(at + 1, domain);
}

bool (*schema_format(const char *name))(const char *s, size_t len)
{
	static const struct {
		const char *name;
		bool (*check)(const char *s, size_t len);
	} formats[] = {
		{"email", is_email},
		{"uri", uri_valid},
		{"date", is_date},
		{"date-time", is_date_time},
	};

	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
		if (strcmp(formats[i].name, name) == 0)
			return formats[i].check;
	}
	return NULL;
}
