/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What ended in the daemon while nobody waited for it, on record: a command in the background, a
 * sandbox whose time was over. Only the warden knows of that, and it writes no ledger: a process of
 * its own does, which hears of it by a socket, in messages of fixed layout. It ends when the warden
 * does, after the last of them.
 */
#ifndef ENGINE_NEWS_H
#define ENGINE_NEWS_H

#include <sys/types.h>

#include "warden/warden.h"

struct news {
	int socket; /* FD_NONE: nothing is recorded */
	pid_t process;
	uint64_t lost; /* that it had no room for */
};

void news_start(struct news *n);
/* Never blocks. */
void news_tell(struct news *n, const struct warden_news *one);
/* All that was told is on record when it returns. */
void news_end(struct news *n);

#endif
