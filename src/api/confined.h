/* SPDX-License-Identifier: Apache-2.0 */
/* What the process that speaks HTTP gives up before it hears anybody. */
#ifndef API_CONFINED_H
#define API_CONFINED_H

#include "api/serve.h"

/* Keeps: the sockets that it has, the daemon's, the directories of `config`, /tmp and `artifacts`
 * (a directory, or "") to write to, threads. No program can be started, no TCP connection made, no
 * other file opened. One thread; ids must have been given up. */
int api_confine(const struct api_config *config, const char *artifacts, struct err *e);

#endif
