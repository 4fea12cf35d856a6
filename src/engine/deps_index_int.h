/* SPDX-License-Identifier: Apache-2.0 */
/* What finding an index is made of, for engine/deps_index*.c. */
#ifndef ENGINE_DEPS_INDEX_INT_H
#define ENGINE_DEPS_INDEX_INT_H

#include "egress/name.h"
#include "engine/deps_index.h"

#define INDEX_URLS_MAX 8u
#define INDEX_URL_SIZE 1024

/* URLs of a configuration, without user and password. */
struct index_urls {
	char list[INDEX_URLS_MAX][INDEX_URL_SIZE];
	unsigned n;
};

/* A preset_url; arg is a struct index_urls. */
int index_take_url(const char *url, size_t len, void *arg);
/* The words of a variable of the environment. */
void index_from_variable(const char *name, struct index_urls *to);

/* A rule for that host, GET and HEAD. */
void index_allow(struct value *rules, const char *host, unsigned port, bool is_tls);
/* The same for the host of a URL; `remedy` says where another could be named. */
int index_allow_url(struct value *rules, const char *url, const char *remedy, struct name *ret_host,
		    bool *ret_tls, struct err *e);

/* deps_index_npm.c */
int index_find_npm(struct deps_index *ret, struct err *e);
/* deps_index_r.c */
int index_find_r(struct deps_index *ret, struct err *e);

#endif
