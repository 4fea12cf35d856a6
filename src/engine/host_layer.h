/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the host's /usr is, as one number, for the record of runs on it. Nobody can hash /usr for
 * every run; but the package manager keeps a list of all that it put there, with versions. The text
 * is, for each of the files below that is there, in this order: its path, a blank, its SHA-256 and
 * a line feed; the number is the text's SHA-256. What somebody put into /usr by hand is not in it.
 *
 *	/usr/lib/os-release
 *	/var/lib/dpkg/status
 *	/usr/lib/sysimage/rpm/rpmdb.sqlite, /var/lib/rpm/rpmdb.sqlite
 *	/lib/apk/db/installed
 */
#ifndef ENGINE_HOST_LAYER_H
#define ENGINE_HOST_LAYER_H

#include <stdbool.h>

#include "base/hash.h"

/* Any thread. `dir`: where the number is kept for other processes, with what the files looked like
 * when it was made. False: the files have changed, and this process may not read them. */
bool host_layer(int dir, char ret[HASH_TEXT_SIZE]);

#endif
