/* SPDX-License-Identifier: Apache-2.0 */
/* libpinfold: what programs need */
#ifndef PINFOLD_DEPS_H
#define PINFOLD_DEPS_H

#include "pinfold.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Which packages do programs need? Read inside a sandbox, never executed. *ret_json is a document,
 * to be freed by the caller:
 *
 *	{"language": "python", "version": "3.11", "files": 12,
 *	 "needs": [{"import": "cv2", "package": "opencv-python-headless", "why": "...", "file": "a.py",
 *		    "line": 3, "optional": false, "installed": null, "meant": null}],
 *	 "unread": [{"file": "b.py", "line": 9, "why": "invalid syntax"}]}
 *
 * installed: the version that a sandbox has already, "" where nobody says; null: it has none.
 * meant: the well-known package whose name this may be a typing error of.
 */
struct pinfold_deps_options {
	size_t size;
	const char *dir; /* the directory of the host that has the programs */
	/* python, node, r. NULL, of a whole directory: the first that it has programs of, and all others
	 * in "more", a list of such documents; of files: python. */
	const char *lang;
	const char *const
		*files; /* below dir; what they import of it is read, too. NULL: all of dir */
	const char *workspace; /* instead of dir: that of a workspace; NULL: none */
};

PINFOLD_API int pinfold_deps_scan(const struct pinfold_deps_options *options, char **ret_json,
				  struct pinfold_error *ret_error);

#define PINFOLD_DEPS_SOURCE 0x1u  /* sources are built, install scripts run, in a sandbox */
#define PINFOLD_DEPS_YES 0x2u	  /* also names that look like typing errors of others */
#define PINFOLD_DEPS_UPDATE 0x4u  /* versions anew, not those of the lock */
#define PINFOLD_DEPS_OFFLINE 0x8u /* nothing is fetched: what is missing is an error */

struct pinfold_deps_change {
	size_t size;
	const char *lang;	   /* NULL: of what is added python's, else all that the lock has */
	const char *const *add;	   /* "pandas>=2"..., or NULL */
	const char *const *remove; /* names, or NULL */
	uint32_t flags;
	int age_hours; /* younger versions are refused; 0: none are; < 0: as the environment says */
	const char *const *update; /* with PINFOLD_DEPS_UPDATE: of these alone; NULL: of all */
};

/* Change a lock (pinfold.lock; NULL: there is none yet) and resolve it anew. *ret_lock is its new
 * text, to be freed by the caller. Uses the store of the data directory, as those below. */
PINFOLD_API int pinfold_deps_lock(const char *lock, const struct pinfold_deps_change *change,
				  char **ret_lock, struct pinfold_error *ret_error);
/* Have everything of a lock: in the cache, and as a layer. */
PINFOLD_API int pinfold_deps_fetch(const char *lock, uint32_t flags,
				   struct pinfold_error *ret_error);
/* Check a lock, and print it as a bill of materials: "cyclonedx", "spdx", or NULL for the lock
 * itself. */
PINFOLD_API int pinfold_deps_print(const char *lock, const char *format, char **ret_json,
				   struct pinfold_error *ret_error);
/* The packages that a sandbox with these options would have (deps, packages, apt, dir, lang, code),
 * held, for who makes it in another process: *ret_fd is for packages_fd, and to be closed by the
 * caller; negative where nothing is needed. *ret_json, malloced: the list of them, as in a
 * result. */
PINFOLD_API int pinfold_deps_hold(const struct pinfold_run_options *options, int *ret_fd,
				  char **ret_json, struct pinfold_error *ret_error);
/* The package that a program missed which ended with this text; 1, or 0: it says nothing of the
 * kind. */
#define PINFOLD_PACKAGE_SIZE 256
PINFOLD_API int pinfold_deps_missing(const char *text, size_t len,
				     char ret_package[PINFOLD_PACKAGE_SIZE]);
/* pinfold.lock of a workspace. *ret_lock is its text, to be freed by the caller, or NULL: there is
 * none. */
PINFOLD_API int pinfold_deps_read(const char *workspace, char **ret_lock,
				  struct pinfold_error *ret_error);
/* Write it, as a command of the workspace that can be undone. */
PINFOLD_API int pinfold_deps_write(const char *workspace, const char *lock,
				   struct pinfold_error *ret_error);
/* Which layers there are: {"items": [{"key", "language", "packages": [...], "bytes", "files",
 * "created", "used"}]}. */
PINFOLD_API int pinfold_deps_list(char **ret_json, struct pinfold_error *ret_error);
/* Remove layers and downloads that nobody used for so long and nobody holds. */
PINFOLD_API int pinfold_deps_collect(uint64_t unused_ms, uint64_t *ret_layers, uint64_t *ret_files,
				     struct pinfold_error *ret_error);
/* Has this process installed packages that the disk need not have yet? pinfold_store_settle() writes
 * them, when nobody waits; a machine that falls before installs them again. */
PINFOLD_API int pinfold_deps_unsettled(void);

/* After the result: the package that would have what the program did not find, as `packages` of the
 * options takes it; NULL: it did not end for that, or nobody should install it unasked: a module of
 * its own, a typing error. */
PINFOLD_API const char *pinfold_run_missing(const struct pinfold_run *run);
/* The same with all that is known of it, as JSON, malloced; NULL: as above. Who then runs the
 * program again gives that to the new run, whose result has it as `retried`. */
PINFOLD_API char *pinfold_run_missing_json(const struct pinfold_run *run);
PINFOLD_API void pinfold_run_set_retried(struct pinfold_run *run, const char *missing_json);

#ifdef __cplusplus
}
#endif
#endif
