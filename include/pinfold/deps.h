/* SPDX-License-Identifier: Apache-2.0 */
/* libpinfold: what programs need */
#ifndef PINFOLD_DEPS_H
#define PINFOLD_DEPS_H

#include "pinfold.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Which packages do programs need? Read inside a sandbox, never executed. *ret_json is a document, to be
 * freed by the caller:
 *
 *	{"language": "python", "version": "3.11", "files": 12,
 *	 "needs": [{"import": "cv2", "package": "opencv-python-headless", "why": "...", "file": "a.py",
 *		    "line": 3, "optional": false, "installed": null, "meant": null}],
 *	 "unread": [{"file": "b.py", "line": 9, "why": "invalid syntax"}]}
 *
 * installed: the version that a sandbox has already, "" where nobody says; null: it has none. meant: the
 * well-known package whose name this may be a typing error of.
 */
struct pinfold_deps_options {
	size_t size;
	const char *dir;  /* the directory of the host that has the programs */
	const char *lang; /* python, node, r */
	const char *const
		*files; /* below dir; what they import of it is read, too. NULL: all of dir */
};

PINFOLD_API int pinfold_deps_scan(const struct pinfold_deps_options *options, char **ret_json,
				  struct pinfold_error *ret_error);

#ifdef __cplusplus
}
#endif
#endif
