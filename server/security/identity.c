/* SPDX-License-Identifier: MIT */
#include "server/security/identity.h"

#include <stddef.h>

const char *bide_peer_header(const struct bide_peer *peer, const char *name)
{
	return peer != NULL && name != NULL ? peer->header(peer->data, name)
					    : NULL;
}

const char *bide_peer_address(const struct bide_peer *peer)
{
	return peer != NULL ? peer->address : NULL;
}
