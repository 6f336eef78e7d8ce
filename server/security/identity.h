/* SPDX-License-Identifier: MIT */
#ifndef SECURITY_IDENTITY_H
#define SECURITY_IDENTITY_H
#include "bide/server.h"
/*
 * Who is calling, as an identity callback sees it: the transport lends its
 * header look-up for the length of the callback. Real sources (tokens, JWT)
 * join this room later.
 */
struct bide_peer {
	const char *(*header)(void *data, const char *name);
	void *data;
	const char *address;
};
#endif
