/* SPDX-License-Identifier: MIT */
#ifndef EXAMPLES_LIB_CHECKSUM_H
#define EXAMPLES_LIB_CHECKSUM_H
#include <bide/bide.h>
#include <stdint.h>

#include "examples/lib/roots.h"

/*
 * checksum_tree, in parts: list, hash, manifest. Each takes the job as the
 * part before left it, and does in this entry only what is not recorded yet.
 * A part that ends the call sets ended and the call's content.
 */
#define CHECKSUM_FILES_MAX 200000
#define CHECKSUM_HEX       65 /* SHA-256 in hexadecimal, with its NUL */

struct file {               /* all borrowed from recorded steps */
	const char *path;   /* below the tree */
	int64_t bytes;      /* as listed; as read, once hashed */
	const char *digest; /* NULL: not hashed */
	const char *error;  /* why it could not be read; NULL: it could */
};

struct job {
	struct bide_call *call;
	struct roots_dir dir;
	int log_fd; /* a line for each file that is read; -1: none */
	struct file *files;
	size_t nfiles, cap;
	int64_t skipped; /* neither a file nor a directory, or a strange name */
	bool skip_rest;  /* what else cannot be read is left out unasked */
	bool ended;
};

/* Files under job->dir, sorted bytewise, in recorded chunks. */
enum bide_rc checksum_list(struct job *j);
/* Hashes them in recorded batches; asks about what it cannot read. */
enum bide_rc checksum_hash(struct job *j);
/* Asks where the manifest goes, and writes it. @ret: the step's result, or
 * NULL when none was wanted. @digest: of the manifest, written or not. */
enum bide_rc checksum_manifest(struct job *j, const json_t **ret,
			       char digest[CHECKSUM_HEX]);

enum checksum_verdict { CHECKSUM_SKIP, CHECKSUM_RETRY, CHECKSUM_ABORT };
/* What to do about @what ("3 files cannot be read: ..."), asked under @key. */
enum bide_rc checksum_ask(struct job *j, const char *key, const char *what,
			  enum checksum_verdict *ret);
void checksum_hex(const uint8_t *digest, char out[CHECKSUM_HEX]);
#endif
