/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preset: pip, npm, apt, git. The hosts are those that the tool's own configuration names on this
 * machine, read by this process and for this user; where it names none, the tool's own default.
 * Reading only: GET and HEAD, and of git the POST that fetches. Passwords in URLs are left behind.
 */
#ifndef EGRESS_PRESET_H
#define EGRESS_PRESET_H

#include "egress/policy.h"

int preset_add(struct policy *p, const char *preset, const char *source, unsigned line, void *arg,
	       struct err *e);

/* What the parsers below find, one URL at a time, as it stands there. */
typedef int (*preset_url)(const char *url, size_t len, void *arg);

/* Pure; each stops when `found` returns not 0, and returns that. */
int preset_pip(const char *text, preset_url found, void *arg);	      /* pip.conf */
int preset_npm(const char *text, preset_url found, void *arg);	      /* .npmrc */
int preset_apt_list(const char *text, preset_url found, void *arg);   /* sources.list */
int preset_apt_deb822(const char *text, preset_url found, void *arg); /* *.sources */
int preset_git(const char *text, preset_url found, void *arg);	      /* .gitconfig */

#endif
