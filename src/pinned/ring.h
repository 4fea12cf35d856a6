/* SPDX-License-Identifier: Apache-2.0 */
/* Whose turn it is with a lock that processes share. */
#ifndef PINNED_RING_H
#define PINNED_RING_H

#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>

/* This process has made it; or has it, made by whom ever; or has it no more. */
void pinned_ring_new(sem_t *sem);
void pinned_ring_known(sem_t *sem);
void pinned_ring_forget(const sem_t *sem);
/* A process was made that has what this one has. */
void pinned_ring_expect(uint32_t pid);
/* This process waits for something else now, which others may have to do first. */
void pinned_ring_rest(void);
void pinned_rests(const sem_t *sem); /* turn.c: for that one, if it is shared */
/* Before it is taken: until it is our turn, or somebody does not come. True: pinned_ring_end() is to
 * tell whether we have it. */
bool pinned_ring_begin(sem_t *sem, bool waits);
void pinned_ring_end(sem_t *sem, bool has);

#endif
