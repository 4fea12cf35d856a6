/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_FRONT_H
#define ENGINE_FRONT_H

/*
 * The process that callers talk to: takes connections from `listener`, reads one request from each,
 * checks it and hands connection and request to the warden. Holds nothing of a run, so that its
 * death costs only those who are just asking. Returns when the warden's socket is closed.
 */
int front_run(int listener, int warden);

#endif
