/* SPDX-License-Identifier: Apache-2.0 */
/* Layers of packages as one descriptor (wire/bundle.h): made by who has them, taken by the
 * daemon. */
#ifndef SANDBOX_BUNDLE_H
#define SANDBOX_BUNDLE_H

#include "base/err.h"
#include "sandbox/spec.h"

/* Of spec->layers and spec->deps; `locks`: as many as there are layers. */
int bundle_make(const struct sandbox_spec *spec, const int *locks, int *ret_fd, struct err *e);

/* What a bundle says, taken out of it; from whoever gave it. */
struct bundle_held {
	struct bundle *said; /* NULL: nothing was taken */
	const char *links[SANDBOX_LINKS_MAX + 1];
};

/* What it says, as a spec has it; `links` has room for all. Nothing of it are descriptors. */
void bundle_spec(const struct bundle *b, struct sandbox_spec *spec,
		 const char *links[SANDBOX_LINKS_MAX + 1]);
/* Fills spec->deps and spec->layers, which borrow from *ret. spec->deps.fd[] are its own until
 * bundle_forget(). */
/* -EBADMSG: with something that no program of ours sends (base/discard.h). */
int bundle_take(int fd, struct sandbox_spec *spec, struct bundle_held *ret, struct err *e);
void bundle_forget(struct bundle_held *h, struct sandbox_spec *spec);

#endif
