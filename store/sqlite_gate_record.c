/* SPDX-License-Identifier: MIT */
#include "store/sqlite_gate_record.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/sqlite_dir.h"

/* The layout is shared by all processes on the database, of all versions:
 * frozen. Words in native order, for it never leaves the machine. */
enum {
	WORD_SINCE = 0, /* written last and cleared first */
	WORD_PID = 1,
	WORD_START = 2,
	WORD_PID_NS = 3,
	WORD_BOOT_ID = 4, /* 40 bytes */
	WORD_COUNT = 16
};
#define BOOT_WORDS (sizeof(((struct proc_id *)0)->boot_id) / sizeof(uint64_t))

struct gate_record {
	_Atomic uint64_t words[WORD_COUNT];
};

/* Blocks are allocated by a write, so that a full disk is an error here and
 * not a SIGBUS later (SQLite's -shm file does the same). */
static int allocate(int fd)
{
	static const struct gate_record nobody;
	struct stat st;

	if (fstat(fd, &st))
		return -1;
	if (st.st_size >= (off_t)sizeof(nobody))
		return 0;
	return pwrite(fd, &nobody, sizeof(nobody), 0) == (ssize_t)sizeof(nobody)
		       ? 0
		       : -1;
}

struct gate_record *gate_record_map(int fd)
{
	return allocate(fd) ? NULL
			    : sqlite_dir_map(fd, sizeof(struct gate_record));
}

void gate_record_unmap(struct gate_record *r)
{
	if (r)
		munmap(r, sizeof(*r));
}

/* Release, so that whoever reads a new word also sees WORD_SINCE changed. */
static void put(struct gate_record *r, size_t word, uint64_t v)
{
	atomic_store_explicit(&r->words[word], v, memory_order_release);
}

void gate_record_set(struct gate_record *r, const struct proc_id *who,
		     int64_t since_ms)
{
	uint64_t boot[BOOT_WORDS];

	if (!r)
		return;
	put(r, WORD_SINCE, 0);
	put(r, WORD_PID, (uint64_t)who->pid);
	put(r, WORD_START, who->start);
	put(r, WORD_PID_NS, who->pid_ns);
	memcpy(boot, who->boot_id, sizeof(boot));
	for (size_t i = 0; i < BOOT_WORDS; i++)
		put(r, WORD_BOOT_ID + i, boot[i]);
	put(r, WORD_SINCE, (uint64_t)since_ms);
}

void gate_record_clear(struct gate_record *r)
{
	if (r)
		put(r, WORD_SINCE, 0);
}

static struct gate_note unpack(const uint64_t words[WORD_COUNT])
{
	struct gate_note note = {.since_ms = (int64_t)words[WORD_SINCE]};

	note.who.pid = (int64_t)words[WORD_PID];
	note.who.start = words[WORD_START];
	note.who.pid_ns = words[WORD_PID_NS];
	memcpy(note.who.boot_id, &words[WORD_BOOT_ID],
	       sizeof(note.who.boot_id));
	note.who.boot_id[sizeof(note.who.boot_id) - 1] = '\0';
	return note;
}

struct gate_note gate_record_get(const struct gate_record *r)
{
	uint64_t words[WORD_COUNT] = {0}, again;

	if (!r)
		return unpack(words);
	for (size_t i = 0; i < WORD_COUNT; i++)
		words[i] = atomic_load_explicit(&r->words[i],
						memory_order_acquire);
	again = atomic_load_explicit(&r->words[WORD_SINCE],
				     memory_order_relaxed);
	if (again != words[WORD_SINCE])
		words[WORD_SINCE] = 0;
	return unpack(words);
}

struct gate_note gate_record_read(int fd)
{
	uint64_t words[WORD_COUNT] = {0}, again = 0;

	if (pread(fd, words, sizeof(words), 0) != (ssize_t)sizeof(words) ||
	    pread(fd, &again, sizeof(again), 0) != (ssize_t)sizeof(again) ||
	    again != words[WORD_SINCE])
		words[WORD_SINCE] = 0;
	return unpack(words);
}
