/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room for giving room back. On a full disk even a removal has to write first: a row of the
 * database, an event of the ledger. So a file in the data directory, `reserve`, holds a little; who
 * removes something and finds no room gives it up, and takes again what is left when he closes the
 * store.
 */
#ifndef STORE_RESERVE_H
#define STORE_RESERVE_H

#include <stdbool.h>

struct store;

#define RESERVE_SHORT (256u << 10) /* free bytes from which on reserve_give() is worth a try */

/* Have it, where there is plenty. Nothing depends on it. */
void reserve_keep(const struct store *s);
/* If there is no room in the data directory: give it up. True: something was given up. */
bool reserve_give(struct store *s);
/* Who gave it up: take as much of it as there is. */
void reserve_retake(struct store *s);

#endif
