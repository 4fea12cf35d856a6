/* SPDX-License-Identifier: Apache-2.0 */
/* What all layers together have on disk. */
#ifndef STORE_SIZES_H
#define STORE_SIZES_H

#include <stdint.h>

#include "store/store.h"

struct store_sizes {
	uint64_t layers, bytes;
	uint64_t shared_bytes; /* of layers that several workspaces, images or packages stand on */
};

/* Each layer once, by what is written down of it. */
int store_sizes(struct store *s, struct store_sizes *ret, struct err *e);
/* Look at all frozen layers and write down how large they are: one that others were merged into has
 * less than their sum once they are gone. Left as it is where not all of it can be looked at. */
int store_measure(struct store *s, struct err *e);

#endif
