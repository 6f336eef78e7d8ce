/* SPDX-License-Identifier: MIT */
#include "server/catalog/json_schema_ecma.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "server/base/ascii.h"

/* ECMA-262 WhiteSpace and LineTerminator, and all that is neither. */
#define SPACES                                                                 \
	"\\x{9}-\\x{d}\\x{20}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}"              \
	"\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}\\x{feff}"
#define NOT_SPACES                                                             \
	"\\x{0}-\\x{8}\\x{e}-\\x{1f}\\x{21}-\\x{9f}\\x{a1}-\\x{167f}"          \
	"\\x{1681}-\\x{1fff}\\x{200b}-\\x{2027}\\x{202a}-\\x{202e}"            \
	"\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{fefe}"            \
	"\\x{ff00}-\\x{10ffff}"
#define ANY_BUT_LINE_END "[^\\n\\r\\x{2028}\\x{2029}]"

struct reader {
	const char *p;
	const char *end;
	struct buf *out;
	char *why;
	size_t cap;
	bool in_class;
	bool can_repeat; /* a quantifier may follow here */
};

__attribute__((format(printf, 2, 3))) static bool refuse(struct reader *r,
							 const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(r->why, r->cap, fmt, ap);
	va_end(ap);
	return false;
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool next_is(const struct reader *r, const char *s)
{
	size_t n = strlen(s);

	return (size_t)(r->end - r->p) >= n && memcmp(r->p, s, n) == 0;
}

/* Exactly @n hexadecimal digits. */
static bool take_hex(struct reader *r, size_t n, uint32_t *ret)
{
	uint32_t v = 0;

	if ((size_t)(r->end - r->p) < n)
		return false;
	for (size_t i = 0; i < n; i++) {
		int d = ascii_hex_value(r->p[i]);

		if (d < 0)
			return false;
		v = v * 16 + (uint32_t)d;
	}
	r->p += n;
	*ret = v;
	return true;
}

static bool put_code_point(struct reader *r, uint32_t cp)
{
	if (cp >= 0xD800 && cp <= 0xDFFF)
		return refuse(r, "half a surrogate pair matches nothing");
	buf_addf(r->out, "\\x{%x}", cp);
	return true;
}

/* After "\u": XXXX, a surrogate pair, or {X...}. */
static bool unicode_escape(struct reader *r)
{
	uint32_t cp = 0;
	uint32_t low = 0;

	if (next_is(r, "{")) {
		const char *close = memchr(r->p, '}', (size_t)(r->end - r->p));
		size_t n = close ? (size_t)(close - r->p) - 1 : 0;

		r->p++;
		if (n == 0 || n > 8 || !take_hex(r, n, &cp) || cp > 0x10FFFF)
			return refuse(r, "\\u{...} must be a code point");
		r->p++;
		return put_code_point(r, cp);
	}
	if (!take_hex(r, 4, &cp))
		return refuse(r, "\\u must be followed by four hex digits");
	if (cp >= 0xD800 && cp <= 0xDBFF && next_is(r, "\\u")) {
		r->p += 2;
		if (!take_hex(r, 4, &low) || low < 0xDC00 || low > 0xDFFF)
			return refuse(r, "half a surrogate pair matches "
					 "nothing");
		cp = 0x10000 + ((cp - 0xD800) << 10) + (low - 0xDC00);
	}
	return put_code_point(r, cp);
}

/* General categories by their long names; PCRE2 knows the short ones. */
static const char *const categories[][2] = {
	{"Any", "Any"},
	{"Letter", "L"},
	{"Cased_Letter", "L&"},
	{"LC", "L&"},
	{"Uppercase_Letter", "Lu"},
	{"Lowercase_Letter", "Ll"},
	{"Titlecase_Letter", "Lt"},
	{"Modifier_Letter", "Lm"},
	{"Other_Letter", "Lo"},
	{"Mark", "M"},
	{"Combining_Mark", "M"},
	{"Nonspacing_Mark", "Mn"},
	{"Spacing_Mark", "Mc"},
	{"Enclosing_Mark", "Me"},
	{"Number", "N"},
	{"Decimal_Number", "Nd"},
	{"digit", "Nd"},
	{"Letter_Number", "Nl"},
	{"Other_Number", "No"},
	{"Punctuation", "P"},
	{"punct", "P"},
	{"Connector_Punctuation", "Pc"},
	{"Dash_Punctuation", "Pd"},
	{"Open_Punctuation", "Ps"},
	{"Close_Punctuation", "Pe"},
	{"Initial_Punctuation", "Pi"},
	{"Final_Punctuation", "Pf"},
	{"Other_Punctuation", "Po"},
	{"Symbol", "S"},
	{"Math_Symbol", "Sm"},
	{"Currency_Symbol", "Sc"},
	{"Modifier_Symbol", "Sk"},
	{"Other_Symbol", "So"},
	{"Separator", "Z"},
	{"Space_Separator", "Zs"},
	{"Line_Separator", "Zl"},
	{"Paragraph_Separator", "Zp"},
	{"Other", "C"},
	{"Control", "Cc"},
	{"cntrl", "Cc"},
	{"Format", "Cf"},
	{"Surrogate", "Cs"},
	{"Private_Use", "Co"},
	{"Unassigned", "Cn"},
};

static const char *const property_prefixes[][2] = {
	{"General_Category=", ""},  {"gc=", ""},
	{"Script=", "sc:"},         {"sc=", "sc:"},
	{"Script_Extensions=", ""}, {"scx=", ""},
};

/* After "\p" or "\P". */
static bool property_escape(struct reader *r, char letter)
{
	const char *close = NULL;
	const char *prefix = "";
	const char *name;
	size_t len;

	if (next_is(r, "{"))
		close = memchr(r->p, '}', (size_t)(r->end - r->p));
	if (!close)
		return refuse(r, "\\%c must be followed by {Property}", letter);
	name = r->p + 1;
	for (size_t i = 0;
	     i < sizeof(property_prefixes) / sizeof(*property_prefixes); i++) {
		size_t n = strlen(property_prefixes[i][0]);

		if ((size_t)(close - name) > n &&
		    memcmp(name, property_prefixes[i][0], n) == 0) {
			prefix = property_prefixes[i][1];
			name += n;
			break;
		}
	}
	len = (size_t)(close - name);
	r->p = close + 1;
	for (size_t i = 0; i < len; i++) {
		if (!is_letter(name[i]) && !ascii_is_digit(name[i]) &&
		    name[i] != '_')
			return refuse(r, "\\%c{%.*s} is not a property", letter,
				      (int)(len < 40 ? len : 40), name);
	}
	for (size_t i = 0; i < sizeof(categories) / sizeof(*categories); i++) {
		if (strlen(categories[i][0]) == len &&
		    memcmp(categories[i][0], name, len) == 0) {
			name = categories[i][1];
			len = strlen(name);
			break;
		}
	}
	buf_addf(r->out, "\\%c{%s%.*s}", letter, prefix, (int)len, name);
	return true;
}

/* A class escape inside [...]: a "-" after it stands for itself. */
static bool set_inside_class(struct reader *r, const char *set)
{
	buf_addstr(r->out, set);
	if (next_is(r, "-") && !next_is(r, "-]")) {
		r->p++;
		buf_addstr(r->out, "\\-");
	}
	return true;
}

static bool class_escape(struct reader *r, char c)
{
	char simple[3] = {'\\', c, '\0'};
	const char *set = simple;

	if (c == 's')
		set = SPACES;
	else if (c == 'S')
		set = NOT_SPACES;
	if (r->in_class)
		return set_inside_class(r, set);
	if (set == simple)
		return buf_addstr(r->out, set);
	return buf_addf(r->out, "[%s]", set);
}

/* "\1" and up, or "\0". */
static bool digit_escape(struct reader *r, char c)
{
	uint32_t n = (uint32_t)(c - '0');

	if (c == '0' && !(r->p < r->end && ascii_is_digit(*r->p)))
		return put_code_point(r, 0);
	if (c == '0' || r->in_class)
		return refuse(r, "\\%c followed by digits is not an escape", c);
	for (; r->p < r->end && ascii_is_digit(*r->p) && n < 1000; r->p++)
		n = n * 10 + (uint32_t)(*r->p - '0');
	return buf_addf(r->out, "\\g{%u}", n);
}

/* "\k<name>" */
static bool name_escape(struct reader *r)
{
	const char *close = NULL;

	if (!r->in_class && next_is(r, "<"))
		close = memchr(r->p, '>', (size_t)(r->end - r->p));
	if (!close)
		return refuse(r, "\\k must be followed by <name>");
	buf_addstr(r->out, "\\k");
	buf_add(r->out, r->p, (size_t)(close + 1 - r->p));
	r->p = close + 1;
	return true;
}

static bool control_escape(struct reader *r)
{
	char c = r->p < r->end ? *r->p : '\0';

	if (!is_letter(c))
		return refuse(r, "\\c must be followed by a letter");
	r->p++;
	return put_code_point(r, (uint32_t)c % 32);
}

static bool letter_escape(struct reader *r, char c)
{
	uint32_t cp = 0;

	switch (c) {
	case 'd':
	case 'D':
	case 'w':
	case 'W':
	case 's':
	case 'S':
		return class_escape(r, c);
	case 'b':
		if (r->in_class)
			return put_code_point(r, 8);
		r->can_repeat = false;
		return buf_addstr(r->out, "\\b");
	case 'B':
		if (r->in_class)
			break;
		r->can_repeat = false;
		return buf_addstr(r->out, "\\B");
	case 'n':
	case 'r':
	case 't':
	case 'f':
		return buf_addf(r->out, "\\%c", c);
	case 'v':
		return put_code_point(r, 11);
	case 'c':
		return control_escape(r);
	case 'x':
		if (!take_hex(r, 2, &cp))
			return refuse(r, "\\x must be followed by two hex "
					 "digits");
		return put_code_point(r, cp);
	case 'u':
		return unicode_escape(r);
	case 'p':
	case 'P':
		return property_escape(r, c);
	case 'k':
		return name_escape(r);
	default:
		break;
	}
	return refuse(r, "\\%c is not an escape of ECMA-262", c);
}

/* r->p is after the backslash. */
static bool escape(struct reader *r)
{
	char c;

	if (r->p == r->end)
		return refuse(r, "it ends with a backslash");
	c = *r->p++;
	r->can_repeat = true;
	if (ascii_is_digit(c))
		return digit_escape(r, c);
	if (is_letter(c))
		return letter_escape(r, c);
	if ((unsigned char)c >= 0x80 || (unsigned char)c < 0x20)
		return refuse(r, "a backslash before this is not an escape");
	/* Stricter than Annex B with letters, as lenient with the rest. */
	return buf_addf(r->out, c == '_' ? "%c" : "\\%c", c);
}

static bool character_class(struct reader *r)
{
	r->in_class = true;
	buf_addc(r->out, '[');
	if (next_is(r, "^")) {
		r->p++;
		buf_addc(r->out, '^');
	}
	while (r->p < r->end && *r->p != ']') {
		char c = *r->p++;

		if (c == '\\') {
			if (!escape(r))
				return false;
		} else if (c == '[') {
			buf_addstr(r->out, "\\["); /* no [:alpha:] in ECMA */
		} else {
			buf_addc(r->out, c);
		}
	}
	if (r->p == r->end)
		return refuse(r, "a [ is not closed");
	r->p++;
	buf_addc(r->out, ']');
	r->in_class = false;
	r->can_repeat = true;
	return true;
}

/* r->p is after "(". */
static bool group(struct reader *r)
{
	static const char *const heads[] = {"?:", "?=", "?!", "?<=", "?<!"};

	r->can_repeat = false;
	buf_addc(r->out, '(');
	if (next_is(r, "*"))
		return refuse(r, "there is nothing to repeat before *");
	if (!next_is(r, "?"))
		return true;
	for (size_t i = 0; i < sizeof(heads) / sizeof(*heads); i++) {
		if (next_is(r, heads[i])) {
			r->p += strlen(heads[i]);
			return buf_addstr(r->out, heads[i]);
		}
	}
	if (!next_is(r, "?<"))
		return refuse(r, "(? is followed by what ECMA-262 does not "
				 "know");
	r->p += 2; /* a named group: PCRE2 checks the name */
	return buf_addstr(r->out, "?<");
}

/* The length of {n}, {n,} or {n,m} at r->p, after the brace; 0: none. */
static size_t counted(const struct reader *r)
{
	const char *p = r->p;

	while (p < r->end && ascii_is_digit(*p))
		p++;
	if (p == r->p)
		return 0;
	if (p < r->end && *p == ',')
		p++;
	while (p < r->end && ascii_is_digit(*p))
		p++;
	return p < r->end && *p == '}' ? (size_t)(p + 1 - r->p) : 0;
}

static bool quantifier(struct reader *r, char c, size_t more)
{
	if (!r->can_repeat)
		return refuse(r, "there is nothing to repeat before %c", c);
	buf_addc(r->out, c);
	buf_add(r->out, r->p, more);
	r->p += more;
	if (next_is(r, "?")) {
		r->p++;
		buf_addc(r->out, '?');
	}
	r->can_repeat = false; /* a++ is possessive only in Perl */
	return true;
}

static bool one_term(struct reader *r)
{
	char c = *r->p++;
	size_t n;

	switch (c) {
	case '\\':
		return escape(r);
	case '[':
		return character_class(r);
	case '(':
		return group(r);
	case '*':
	case '+':
	case '?':
		return quantifier(r, c, 0);
	case '{':
		n = counted(r);
		if (n)
			return quantifier(r, c, n);
		r->can_repeat = true;
		return buf_addstr(r->out, "\\{");
	case '}':
	case ']':
		r->can_repeat = true;
		return buf_addf(r->out, "\\%c", c);
	case '.':
		r->can_repeat = true;
		return buf_addstr(r->out, ANY_BUT_LINE_END);
	case '^':
	case '$':
	case '|':
		r->can_repeat = false;
		return buf_addc(r->out, c);
	default:
		r->can_repeat = true;
		return buf_addc(r->out, c);
	}
}

bool ecma_translate(const char *s, size_t len, struct buf *out, char *why,
		    size_t cap)
{
	struct reader r = {
		.p = s, .end = s + len, .out = out, .why = why, .cap = cap};

	if (cap)
		why[0] = '\0';
	while (r.p < r.end) {
		if (!one_term(&r))
			return false;
	}
	return !out->failed;
}
