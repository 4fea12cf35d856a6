/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers of packages, or an image, on their way to the daemon: one end of a pair of SOCK_SEQPACKET,
 * whose other end is closed, with two messages in it that nobody has read yet:
 *
 *	struct bundle	with a descriptor (O_PATH) of each layer's part usr, of an image's root
 *	one byte	with the locks by which the store does not remove them
 *
 * The daemon reads the first. It never reads the second: as long as it keeps the socket, the kernel
 * keeps the locks in it. So it holds a caller's layers by one descriptor, whoever he is and
 * whatever happens to him, and closes no file of his.
 *
 * Root's daemon mounts what the descriptors are. An ordinary user's cannot, and has the directory
 * of layers opened by its path, as that of --dir, with device and inode compared.
 */
#ifndef WIRE_BUNDLE_H
#define WIRE_BUNDLE_H

#include <stdint.h>

#define BUNDLE_MAGIC 0x70696e62u
#define BUNDLE_VERSION 2u
#define BUNDLE_LAYERS_MAX 4u /* python, node, r, apt */
#define BUNDLE_LINKS_MAX 64u
#define BUNDLE_LINK_SIZE 112u /* with its NUL */
#define BUNDLE_NODE 0x1u      /* one has packages of node */
#define BUNDLE_IMAGE 0x2u     /* there is one, and it is an image: its part is root */
#define BUNDLE_WATCHED_MAX (48u << 10)
#define BUNDLE_MODULES_SIZE 512u /* with its NUL */

struct bundle {
	uint32_t magic, version, flags, n;
	uint32_t number[BUNDLE_LAYERS_MAX]; /* their names in the directory, the topmost first */
	uint64_t dev, ino;		    /* of the directory */
	char path[512];			    /* the same */
	uint32_t n_links, watched_len;
	char links[BUNDLE_LINKS_MAX][BUNDLE_LINK_SIZE]; /* as in sandbox/spec.h */
	/* What the program imports of them first, "pandas,numpy.linalg": an interpreter may wait
	 * with these. "": nobody knows. */
	char modules[BUNDLE_MODULES_SIZE];
	char watched[BUNDLE_WATCHED_MAX]; /* as in sandbox/spec.h; watched_len is 0 for too many */
};

/* 0 when everything ends and is in its bounds, and n_fds descriptors are what it says; else
 * -EINVAL. */
int bundle_check(const struct bundle *b, int n_fds);

#endif
