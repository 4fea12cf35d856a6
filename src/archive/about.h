/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an image says of itself, as texts that each end with a NUL and begin with what they are.
 * Pure; the reader writes it, the host side reads it and believes nothing.
 *
 *	d	its digest, ALGORITHM:HEX: of the OCI manifest, or of the configuration of docker save
 *	e	KEY=VALUE of its environment
 *	c	a word of the command that it is meant to run
 *	w	its working directory
 */
#ifndef ARCHIVE_ABOUT_H
#define ARCHIVE_ABOUT_H

#include <stdbool.h>
#include <stddef.h>

#define ABOUT_BYTES_MAX 8192u

struct about {
	size_t len;
	char text[ABOUT_BYTES_MAX];
};

/* One more; one that does not fit, is not printable or is no UTF-8 is left out. */
void about_add(struct about *a, char what, const char *text);
/* The next behind *at, which starts at 0; false: no more. A text that is not as above is passed
 * over. */
bool about_next(const struct about *a, size_t *at, char *ret_what, const char **ret_text);

#endif
