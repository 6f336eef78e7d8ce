/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_URI_H
#define CATALOG_URI_H
#include <stdbool.h>
#include <stddef.h>
/* URIs of RFC 3986. */

/* Clause 3: has it a scheme, and only what may stand where it stands? */
bool uri_valid(const char *s, size_t len);
bool uri_ipv4(const char *s, size_t len);
bool uri_ipv6(const char *s, size_t len); /* RFC 4291, 2.2 */
/* Clause 5.2. malloc()ed; NULL: no memory. */
char *uri_resolve(const char *base, const char *ref);
/* Cuts the fragment off in place; "" when there is none. */
char *uri_cut_fragment(char *uri);
/* Undoes %XX in place; false when malformed, or a NUL. */
bool uri_decode(char *s);
#endif
