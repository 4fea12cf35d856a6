/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_MEASURE_H
#define STORE_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

struct measure {
	uint64_t bytes; /* on disk */
	uint64_t files;
	bool beyond; /* there is more than could be looked at */
};

/* What is in the parts of a layer that hostile code is writing to: names and sizes only, by
 * descriptor, through no link; stops when so many bytes or files were found. Where overlayfs works,
 * beside the parts, nobody but the kernel may look, and nothing stays. */
void measure_layer(int dir, uint64_t bytes, uint64_t files, struct measure *ret);

#endif
