/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Extended attributes: user.* alone, and of those not overlayfs's own notes. As bytes they are
 * sorted by name, each
 *
 *	u16 bytes of the name, u32 bytes of the value, name, value
 */
#ifndef TREE_ATTR_H
#define TREE_ATTR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/err.h"

#define TREE_ATTRS_MAX (256u << 10)

struct tree_attrs {
	uint8_t *bytes;
	size_t len;
};

/* Of an open file or directory. `raw`: it lies in a layer, where overlayfs has put user.overlay.x
 * of its user away as user.overlay.overlay.x, which is content. */
int tree_attrs_read(int fd, bool raw, struct tree_attrs *ret, struct err *e);
void tree_attrs_done(struct tree_attrs *attrs);
/* Are these bytes such a list, and nothing in it but what may be? */
int tree_attrs_check(const uint8_t *bytes, size_t len, struct err *e);
/* Best effort: how many could not be set. `bytes` were checked or come from tree_attrs_read(). */
unsigned tree_attrs_write(int fd, const uint8_t *bytes, size_t len);

/* What overlayfs means by something in a layer. */
bool tree_is_opaque(int fd);
/* `dirfd` has notes that plain files in it are whiteouts. */
bool tree_has_xwhiteouts(int dirfd);
bool tree_is_whiteout(int dirfd, const char *name, const struct stat *st);

#endif
