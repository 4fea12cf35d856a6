/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lock: exactly which packages. One document has a part for each language:
 *
 *	{"version": 1,
 *	 "python": {
 *	  "interpreter": "cpython-311-x86_64-linux-gnu", "platform": "linux-x86_64",
 *	  "asked": ["pandas>=2"],
 *	  "packages": [
 *	   {"name": "numpy", "version": "2.1.0", "file": "numpy-2.1.0-cp311-....whl", "sha256": "...",
 *	    "url": "/packages/...", "needed_by": ["pandas"], "size": 16291000},
 *	   ...]}}
 *
 * node's have `path`, too: "express", or "express/node_modules/ms", since one name may be there in
 * several versions.
 *
 * `asked` is what a person, a manifest or a program asked for, in the index's own words; `url`
 * where the file was: relative to the index's host, or whole where that is another. More keys may
 * stand there.
 *
 * A layer is found by the key of a part: interpreter, platform, and of each package name, version,
 * hash and path. Who asked, and where files came from, changes nothing about what is in it.
 *
 * All of it is hostile: a lock may lie in a directory that an agent wrote.
 */
#ifndef DEPS_LOCK_H
#define DEPS_LOCK_H

#include <stdbool.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/value.h"
#include "deps/names.h"

#define LOCK_NAME "pinfold.lock"
#define LOCK_BYTES_MAX (4u << 20)
#define LOCK_PACKAGES_MAX 2000u
#define LOCK_VERSION_SIZE 128
#define LOCK_FILE_SIZE 256
#define LOCK_PATH_SIZE 1024

/* Borrowed from the part. */
struct lock_package {
	const char *name, *version, *file, *sha256;
	const char *path; /* node: where it is below node_modules; NULL for others */
};

/* A whole document: parsed, every part checked. */
int lock_parse(const char *text, size_t len, struct value **ret, struct err *e);
/* A part: is it one, and does it say everything of every package? Puts packages into the order of
 * their names. */
int lock_check_part(enum deps_lang lang, struct value *part, struct err *e);
/* Names outside /usr that lead into a layer (sandbox/spec.h): "etc/NAME", "var/lib/NAME",
 * "opt/NAME", and none of those that say who somebody is and what the network is. */
#define LOCK_LINKS_MAX 64u
int lock_check_links(const struct value *links, struct err *e);
/* Files that tell that a package is used: for each package of the part a list of paths relative to
 * /usr, which may be empty. */
#define LOCK_MODULES_MAX 64u /* of one package */
int lock_check_modules(const struct value *part, const struct value *modules, struct err *e);
/* What became of each package, as a hash, or null. */
int lock_check_contents(const struct value *part, const struct value *contents, struct err *e);
/* One line a package, so that a diff shows what changed; malloced. NULL: no memory. */
char *lock_text(const struct value *lock);

/* "python", "node", "r" */
const char *lock_part_name(enum deps_lang lang);
size_t lock_count(const struct value *part);
struct lock_package lock_at(const struct value *part, size_t i);
/* `part` has been checked. */
void lock_key(enum deps_lang lang, const struct value *part, char ret[HASH_TEXT_SIZE]);

#endif
