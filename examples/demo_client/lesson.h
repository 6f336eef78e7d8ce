/* SPDX-License-Identifier: MIT */
#ifndef EXAMPLES_DEMO_CLIENT_LESSON_H
#define EXAMPLES_DEMO_CLIENT_LESSON_H
#include "examples/demo_client/story.h"

/*
 * A lesson (s->lesson) is a file of examples/lessons: a tool, and scenes of it.
 * A scene is one call from its first request to its end: title, say    what is
 * about to be seen capabilities  what the client declares arguments     of the
 * tool; @FILES@ in a string is the allowed directory answers       by key; a
 * name stands for all keys that begin with it route         "ABB": where each
 * request goes, the last one again and again; "AB" by turns when it is absent
 *   ends          stands in the text of the result or the error that ends it;
 *                 of a task it is enough that it completes well
 * 0, or 1 when it went otherwise, or the file cannot be read.
 */
int act_lesson(struct story *s);
#endif
