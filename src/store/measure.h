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

/* What is below a directory that hostile code is writing to: names and sizes only, by descriptor,
 * through no link; stops when `enough` bytes were found. */
void measure_tree(int dir, uint64_t enough, struct measure *ret);

#endif
