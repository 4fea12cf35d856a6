/* SPDX-License-Identifier: Apache-2.0 */
/* How two threads of the guest wait for each other: words in memory that only grow. */
#ifndef GUEST_FUTEX_H
#define GUEST_FUTEX_H

#include <linux/futex.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sys.h"

static inline void futex_wait_while(uint32_t *word, uint32_t value)
{
	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == value)
		(void)sys4(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL);
}

/* One more, and whoever waits is told. */
static inline void futex_count(uint32_t *word)
{
	__atomic_add_fetch(word, 1, __ATOMIC_RELEASE);
	(void)sys3(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1);
}

#endif
