/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packages, or an image, for a sandbox that lives. They are had before it is made, without any lock
 * of ours: by the keeper, whose rights the store needs, or by the library where we are the tenant's
 * own process.
 */
#ifndef API_PACKAGES_H
#define API_PACKAGES_H

#include "api/call.h"

struct pinfold_run_options;

/* What `o` asks for with deps, packages, lang and code. o->packages_fd is from then on what it came
 * to, and packages_drop()'s to close; *ret_list, owned by the caller, what a reply says of it;
 * NULL: nothing was asked for. */
int packages_hold(struct call *c, struct pinfold_run_options *o, struct value **ret_list,
		  struct err *e);
/* The keeper takes no other name, and would speak of an option that the caller has never seen. */
int packages_check_image(const char *image, struct err *e);
/* Of an image it is where its programs are, which all commands then have as PATH; taken out of
 * *said. */
struct wanted;
int packages_path(struct value **said, struct wanted *w, struct err *e);
void packages_drop(struct pinfold_run_options *o);

#endif
