/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Secrets on their way: inside there is a placeholder, different in each sandbox; the gate puts the
 * value in its place, in the requests that a rule says and nowhere else, and takes it out of what
 * comes back. Pure: no I/O, no clock, no heap.
 *
 * A placeholder is worth nothing outside of its sandbox's connections. One that turns up where no
 * rule wants it is an alarm: somebody inside tried to send what he took for a key.
 */
#ifndef EGRESS_SECRET_H
#define EGRESS_SECRET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "egress/policy.h"
#include "http/head.h"
#include "http/write.h"

#define SECRET_SET_MAX 16u /* of one sandbox */
#define SECRET_NAME_SIZE 64
#define SECRET_VALUE_MIN 8u /* shorter ones would be found everywhere when they are taken out */
#define SECRET_VALUE_MAX 2048u
#define SECRET_MARK "pfs_"
#define SECRET_RANDOM 20u /* bytes */
#define SECRET_MARK_LEN 36u
#define SECRET_SET_MAGIC 0x70667331u

struct secret {
	char name[SECRET_NAME_SIZE];
	char placeholder[SECRET_MARK_LEN + 4]; /* with NUL */
	uint64_t expires_ms;		       /* of the wall clock; 0: never */
	uint32_t len;
	char value[SECRET_VALUE_MAX + 4];
};

/* As it goes to the gate, in a sealed memfd. */
struct secret_set {
	uint32_t magic, n;
	struct secret list[SECRET_SET_MAX];
};

/* Letters, digits and _, none in front: it is a variable's name inside, too. */
bool secret_is_name(const char *text);
/* Bytes that can stand in a header. */
bool secret_is_value(const char *value, size_t len);
void secret_mark(const uint8_t random[SECRET_RANDOM], char ret[SECRET_MARK_LEN + 1]);
/* Is the block as it should be? It comes from another process. */
bool secret_set_is_good(const struct secret_set *s);
const struct secret *secret_find(const struct secret_set *s, const char *name);

enum secret_finding {
	SECRET_FINE,
	SECRET_FOREIGN, /* a credential of the client's own, where the gate has one to give */
	SECRET_STRAY,	/* a placeholder where none belongs */
	SECRET_GONE,	/* the one that is wanted is not there, or its time is over */
};

/* May this request go out with what the verdict injects? *ret_why are constant words. `s` may be
 * NULL. */
enum secret_finding secret_check(const struct secret_set *s, const struct http_head *h,
				 const struct egress_verdict *v, uint64_t now_ms,
				 const char **ret_why);
/* Fields that are not to be passed on: what is injected replaces them, and an answer that comes in
 * parts or packed could not be looked at. */
bool secret_drops(const struct http_field *f, const struct egress_inject *in, unsigned n);
/* The fields that are injected; after secret_check(). */
void secret_put(const struct secret_set *s, const struct egress_inject *in, unsigned n,
		struct http_out *o);
/* Path and query with what is injected there. Bytes, or -1: it does not fit. */
int secret_target(const struct secret_set *s, const struct http_head *h,
		  const struct egress_inject *in, unsigned n, char *out, size_t size);

/* mark.c: a placeholder of whatever sandbox: as it is, in base64, in hexadecimal, with escapes. */
bool mark_in(const char *data, size_t len);
/* The same wherever pieces are cut. */
#define SECRET_SCAN_TAIL (3 * SECRET_MARK_LEN + 4)
struct secret_scan {
	char tail[SECRET_SCAN_TAIL];
	size_t len;
};
bool secret_scan(struct secret_scan *c, const char *data, size_t len);

/*
 * Taking values out of what a server sends: each is overwritten with stars, so lengths stay. The
 * value itself and its base64, with any of their characters escaped as in a URL, in JSON or in HTML,
 * in hexadecimal and in UTF-16. What could be the beginning of one is held until more comes.
 */
#define REDACT_FORMS 16u
#define REDACT_FORM_MAX (8 * ((SECRET_VALUE_MAX + 2) / 3 * 4) + 64) /* base64, all of it escaped */

struct redact {
	struct {
		char *text; /* owned */
		size_t len;
		bool is_spelt; /* with escapes in the place of any of its characters */
	} form[SECRET_SET_MAX * REDACT_FORMS];
	unsigned n;
	size_t longest;
	char *held; /* owned; as long as that */
	size_t n_held;
};

/* NULL: no memory. */
struct redact *redact_new(const struct secret_set *s);
void redact_free(struct redact *r);
/* `out` has room for len + REDACT_FORM_MAX bytes. Returns how many are in it. */
size_t redact_feed(struct redact *r, const char *in, size_t len, char *out);
/* There is no more: what was held. */
size_t redact_end(struct redact *r, char *out);
/* In place, of something that is whole; true: there was one. */
bool redact_whole(const struct redact *r, char *text, size_t len);

#endif
