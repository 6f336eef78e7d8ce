/* SPDX-License-Identifier: MIT */
/* bide_server_changed(): announcements from threads that are not ours. */
#include "server/main.h"
#include "server/task/topic.h"

void announcer_init(struct announcer *a)
{
	*a = (struct announcer){0};
	mutex_init(&a->lock, RANK_LEAF);
	cond_init(&a->left);
}

void announcer_fini(struct announcer *a)
{
	cond_fini(&a->left);
	mutex_fini(&a->lock);
}

void announcer_open(struct announcer *a, struct store *s)
{
	mutex_lock(&a->lock);
	a->store = s;
	mutex_unlock(&a->lock);
}

void announcer_close(struct announcer *a)
{
	mutex_lock(&a->lock);
	a->store = NULL;
	while (a->inside > 0)
		cond_wait(&a->left, &a->lock);
	mutex_unlock(&a->lock);
}

static struct store *enter(struct announcer *a)
{
	struct store *s;

	mutex_lock(&a->lock);
	s = a->store;
	if (s != NULL)
		a->inside++;
	mutex_unlock(&a->lock);
	return s;
}

static void leave(struct announcer *a)
{
	mutex_lock(&a->lock);
	if (--a->inside == 0)
		cond_broadcast(&a->left);
	mutex_unlock(&a->lock);
}

static enum bide_rc announce(struct bide_server *server, enum bide_changed what,
			     const char *uri)
{
	struct store *s = NULL;
	enum bide_rc rc;

	if (server == NULL)
		return BIDE_INVALID;
	s = enter(&server->announcer);
	if (s == NULL)
		return BIDE_BUSY;
	rc = topic_announce(s, what, uri);
	leave(&server->announcer);
	return rc;
}

enum bide_rc bide_server_changed(struct bide_server *server,
				 enum bide_changed what)
{
	return announce(server, what, NULL);
}

enum bide_rc bide_server_resource_changed(struct bide_server *server,
					  const char *uri)
{
	if (uri == NULL)
		return BIDE_INVALID;
	return announce(server, BIDE_CHANGED_RESOURCES, uri);
}
