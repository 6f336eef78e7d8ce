/* SPDX-License-Identifier: MIT */
/* The listening socket, ours and not libmicrohttpd's, for clear errors. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/base/error.h"
#include "server/transport/http_conn.h"

#define BACKLOG 4096

/* "ADDR:PORT" or "[v6]:PORT" into two strings. */
static bool split(const char *listen, char *host, size_t host_cap, char *port,
		  size_t port_cap)
{
	const char *colon = strrchr(listen, ':');
	size_t len;

	if (colon == NULL || colon == listen)
		return false;
	len = (size_t)(colon - listen);
	if (listen[0] == '[') {
		if (listen[len - 1] != ']')
			return false;
		listen++;
		len -= 2;
	} else if (memchr(listen, ':', len) != NULL) {
		return false;
	}
	if (len == 0 || len >= host_cap || strlen(colon + 1) >= port_cap ||
	    colon[1] == '\0' ||
	    strspn(colon + 1, "0123456789") != strlen(colon + 1))
		return false;
	if (strtoul(colon + 1, NULL, 10) > UINT16_MAX)
		return false; /* getaddrinfo(3) would cut it to 16 bits */
	memcpy(host, listen, len);
	host[len] = '\0';
	(void)snprintf(port, port_cap, "%s", colon + 1);
	return true;
}

static enum bide_rc resolve(const char *listen, struct sockaddr_storage *ret,
			    socklen_t *ret_len, struct bide_error *reterr)
{
	const struct addrinfo hints = {.ai_family = AF_UNSPEC,
				       .ai_socktype = SOCK_STREAM,
				       .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
	struct addrinfo *found = NULL;
	char host[256];
	char port[8];
	int err;

	if (!split(listen, host, sizeof(host), port, sizeof(port)))
		return error_set(reterr, BIDE_INVALID,
				 "listen \"%s\": expected ADDR:PORT or "
				 "[V6ADDR]:PORT",
				 listen);
	err = getaddrinfo(host, port, &hints, &found);
	if (err != 0)
		return error_set(reterr, BIDE_INVALID, "listen \"%s\": %s",
				 listen, gai_strerror(err));
	memcpy(ret, found->ai_addr, found->ai_addrlen);
	*ret_len = found->ai_addrlen;
	freeaddrinfo(found);
	return BIDE_OK;
}

static enum bide_rc failed(const char *listen, struct bide_error *reterr)
{
	int err = errno;

	if (err == EADDRINUSE)
		return error_set(reterr, BIDE_IO,
				 "listen %s: address in use: choose another "
				 "with --listen",
				 listen);
	return error_set(reterr, BIDE_IO, "listen %s: %s", listen,
			 strerror(err));
}

enum bide_rc http_listen(const char *listen_at, int unacked_ms,
			 struct sockaddr_storage *ret_addr, int *ret_fd,
			 struct bide_error *reterr)
{
	struct sockaddr_storage addr = {0};
	socklen_t len = 0;
	const int on = 1;
	enum bide_rc rc;
	int fd;

	rc = resolve(listen_at, &addr, &len, reterr);
	if (rc != BIDE_OK)
		return rc;
	fd = socket(addr.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
		    0);
	if (fd < 0)
		return failed(listen_at, reterr);
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	/* Inherited by what is accepted. */
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	/* So is this: a peer that vanished, or reads no more, is let go, which
	 * for a stream no deadline of ours sees to. */
	(void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unacked_ms,
			 sizeof(unacked_ms));
	if (bind(fd, (struct sockaddr *)&addr, len) != 0 ||
	    listen(fd, BACKLOG) != 0) {
		rc = failed(listen_at, reterr);
		close(fd);
		return rc;
	}
	len = sizeof(*ret_addr);
	if (getsockname(fd, (struct sockaddr *)ret_addr, &len) != 0) {
		rc = failed(listen_at, reterr);
		close(fd);
		return rc;
	}
	*ret_fd = fd;
	return BIDE_OK;
}

/*
 * What a listening socket has made and nobody accepted is reset when it closes,
 * under peers that may have sent a request; and while it is open more are made.
 * A filter drops the segments with SYN, so that soon there are none. Whoever
 * sent one tries again after a second, and finds another listener or none.
 */
void http_keep_out(int listen_fd)
{
	/* Offsets are those of the TCP header: RFC 9293, 3.1. */
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 13),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x02, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, 0),
		BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
	};
	const struct sock_fprog no_syn = {.len = sizeof(code) / sizeof(code[0]),
					  .filter = code};

	/* Without it all goes as well, but for a connection or two. */
	(void)setsockopt(listen_fd, SOL_SOCKET, SO_ATTACH_FILTER, &no_syn,
			 sizeof(no_syn));
}

static const struct in6_addr *v6(const struct sockaddr_storage *addr)
{
	return &((const struct sockaddr_in6 *)addr)->sin6_addr;
}

static uint32_t v4(const struct sockaddr_storage *addr)
{
	return ntohl(((const struct sockaddr_in *)addr)->sin_addr.s_addr);
}

bool http_is_loopback(const struct sockaddr_storage *addr)
{
	if (addr->ss_family == AF_INET)
		return v4(addr) >> 24 == 127;
	return IN6_IS_ADDR_LOOPBACK(v6(addr)) ||
	       (IN6_IS_ADDR_V4MAPPED(v6(addr)) && v6(addr)->s6_addr[12] == 127);
}

bool http_is_wildcard(const struct sockaddr_storage *addr)
{
	if (addr->ss_family == AF_INET)
		return v4(addr) == INADDR_ANY;
	return IN6_IS_ADDR_UNSPECIFIED(v6(addr));
}

uint16_t http_port(const struct sockaddr_storage *addr)
{
	/* The same place in both families. */
	return ntohs(((const struct sockaddr_in *)addr)->sin_port);
}

void http_address_text(const struct sockaddr *addr, char *out, size_t cap)
{
	const void *at = NULL;
	int family = addr != NULL ? addr->sa_family : AF_UNSPEC;

	out[0] = '\0';
	if (family == AF_INET) {
		at = &((const struct sockaddr_in *)addr)->sin_addr;
	} else if (family == AF_INET6) {
		const struct in6_addr *a =
			&((const struct sockaddr_in6 *)addr)->sin6_addr;

		at = a;
		if (IN6_IS_ADDR_V4MAPPED(a)) {
			at = &a->s6_addr[12];
			family = AF_INET;
		}
	}
	if (at != NULL)
		(void)inet_ntop(family, at, out, (socklen_t)cap);
}
