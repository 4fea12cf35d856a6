/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is special about the packages of a language, one row each: programs of ours that run in a
 * sandbox, and how its programs are started. Everything else in engine/deps_*.c is the same for
 * all.
 */
#ifndef ENGINE_DEPS_KIND_H
#define ENGINE_DEPS_KIND_H

#include "deps/names.h"
#include "engine/deps_int.h"

struct deps_kind {
	/* What it is written in, and its text; NULL: packages of this language are not had. */
	const char *driver_lang, *driver; /* engine/deps_box.h has its frames */
	bool as_root; /* it installs over the host's own packages, whose list it has to see */
	/* What reads the directory: pinfold.lock and manifests. It is called with the directory,
	 * and prints
	 *
	 *	{"lock": "...", "file": "requirements.txt", "asked": ["pandas>=2"], "left": [], "why": null,
	 *	 "given": null, "locked": false, "indexes": [], "interpreter": "...", "platform": "..."}
	 *
	 * lock: the text of pinfold.lock, or null; file: the manifest that counts, or null; left:
	 * what comes from no index; why: what is wrong with the file; given: more for the driver,
	 * as it understands it; locked: a tool wrote it that had asked an index; indexes: URLs of
	 * indexes that it names. */
	const char *manifest_lang, *manifest;
	const char *scan;	     /* in the language itself; scan.py says what it prints */
	const char *text_name;	     /* what a program without a file is called */
	const char *interpreters[4]; /* which take a program, a number may stand behind their names */
	const char *tools[6];	     /* other commands that run its programs */
};

const struct deps_kind *deps_kind(enum deps_lang lang);
/* ERR_UNSUPPORTED: there is no driver. */
int deps_kind_check(enum deps_lang lang, struct err *e);
/* The language of a command, and whether a program stands behind it; false: it is nobody's. */
bool deps_kind_of(const char *program, enum deps_lang *ret, bool *ret_takes_program);

#endif
