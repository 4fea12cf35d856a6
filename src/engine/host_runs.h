/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_HOST_RUNS_H
#define ENGINE_HOST_RUNS_H

#include <stdbool.h>

/* Why the host might run what is at this path without being told to, by host_runs.def; NULL: it
 * would not. `link`: it is a symlink, which could stand for a directory. Pure. */
const char *host_runs(const char *path, bool link);

#endif
