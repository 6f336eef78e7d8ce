/* SPDX-License-Identifier: MIT */
#ifndef TRANSPORT_HTTP_ORIGIN_H
#define TRANSPORT_HTTP_ORIGIN_H
#include <stdbool.h>
/*
 * Who may talk to this address through a browser (streamable-http, "Security":
 * DNS rebinding). A page that had its name pointed at us gives itself away by
 * the Host it thinks it talks to, and by its Origin.
 */
struct http_origin {
	const char *address; /* bound, as text without port or brackets */
	bool loopback, wildcard;
	const char *allow_host, *allow_origin; /* comma lists, * any; NULL */
};
/*
 * Accepted: a loopback name where loopback reaches us, the bound address
 * (@local, this connection's own end, where all were bound), or what is
 * listed. The port is free: rebinding cannot choose a name, and a tunnel
 * changes the port.
 */
bool http_origin_host_ok(const struct http_origin *o, const char *host,
			 const char *local);
/* @origin: not NULL. @host: accepted before; may be NULL (HTTP/1.0). */
bool http_origin_ok(const struct http_origin *o, const char *origin,
		    const char *host);
#endif
