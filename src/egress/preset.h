/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preset: pip, npm, apt, git. The hosts are those that the tool's own configuration names on this
 * machine, read by this process and for this user; where it names none, the tool's own default,
 * which stands in the tool's own program text. Reading only: GET and HEAD, and of git the POST that
 * fetches. Passwords in URLs are left behind.
 */
#ifndef EGRESS_PRESET_H
#define EGRESS_PRESET_H

#include "egress/policy.h"

int preset_add(struct policy *p, const char *preset, const char *source, unsigned line, void *arg,
	       struct err *e);

/* Read what all of them would now, for a process that will not be able to; from then on that
 * counts. One thread. */
int preset_keep(struct err *e);
bool preset_is_kept(void);

/* Where pip goes by itself: its index, and the host that has the files of that. */
struct preset_default {
	char index[512], files[256]; /* a URL; a host, or empty */
};
/* ERR_MISSING: the tool is not there. */
int preset_pip_default(struct preset_default *ret, struct err *e);
int preset_npm_default(struct preset_default *ret, struct err *e);
/* Is this the host of that index? Then its files are on the other. */
bool preset_is_default(const struct preset_default *pip, const struct name *host);

/* What the parsers below find, one URL at a time, as it stands there. */
typedef int (*preset_url)(const char *url, size_t len, void *arg);

/* Pure; each stops when `found` returns not 0, and returns that. */
int preset_pip(const char *text, preset_url found, void *arg); /* pip.conf */
/* One of its keys alone, "index-url" or "extra-index-url". */
int preset_pip_key(const char *text, const char *key, preset_url found, void *arg);
int preset_npm(const char *text, preset_url found, void *arg); /* .npmrc */
/* The registry of one scope alone, "@scope", or with NULL that of all others. */
int preset_npm_scope(const char *text, const char *scope, preset_url found, void *arg);
/* Scopes that have one, in place of URLs. */
int preset_npm_scopes(const char *text, preset_url found, void *arg);
int preset_apt_list(const char *text, preset_url found, void *arg);   /* sources.list */
int preset_apt_deb822(const char *text, preset_url found, void *arg); /* *.sources */
/* Of all sources that this host's apt has. */
int preset_apt_each(preset_url found, void *arg);
int preset_git(const char *text, preset_url found, void *arg); /* .gitconfig */
/* The default in a tool's program: pip's models/index.py, the index and then the host of its files;
 * the definitions.js of npm's configuration. */
int preset_pip_text(const char *text, preset_url found, void *arg);
int preset_npm_text(const char *text, preset_url found, void *arg);

#endif
