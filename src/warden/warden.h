/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process that makes and ends the daemon's sandboxes: one thread, one loop. It believes the
 * kernel and itself; what front and callers say is checked.
 */
#ifndef WARDEN_WARDEN_H
#define WARDEN_WARDEN_H

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/id.h"

/* What waits in a sandbox that waits. */
enum ward_kind {
	KIND_PLAIN, /* nothing: any command can be started */
	KIND_PYTHON,
	KIND_NODE,
	KIND_R,
	KINDS,
};

#define WARDEN_IMPORTED_MAX 255u

/* Something ended that nobody waits for: a sandbox that lives, or a command in one; or what it did
 * raised an alert, and nobody was there. For the record. */
struct warden_news {
	char sandbox[ID_SIZE];
	uint32_t owner; /* whose it is */
	uint32_t pid;	/* of the command, inside; 0: it is the sandbox itself */
	uint32_t own;	/* the sandbox was made for this command */
	uint32_t known; /* `status` is how it ended, as wait() says it */
	int32_t status;
	uint32_t stop;		     /* enum link_stop: what ended it */
	uint32_t drained;	     /* the daemon ends, and it with it */
	uint64_t began_ms, ended_ms; /* since 1970 */
	uint64_t output_bytes[2];    /* of standard output, or of the terminal; of standard error */
	uint8_t output_hash[2][HASH_BYTES];
	uint32_t alert;	 /* 1 + the rule; 0: none, it ended */
	uint32_t alerts; /* of the sandbox, when that ended */
	char what[96];	 /* the alert's */
	char action[16];
	/* Of a sandbox with packages: a letter for each (wire/msg.h), "": nobody knows. */
	char imported[WARDEN_IMPORTED_MAX + 1];
	char label[96]; /* the first of its metadata, as far as there is room; "": none */
};

struct warden_config {
	unsigned waiting[KINDS];   /* how many sandboxes of each kind wait ready-made, at least */
	uint64_t warm_memory;	   /* what all that wait may hold; 0: the default */
	unsigned waiting_max;	   /* of all kinds, whatever the demand: each has descriptors */
	const char *preload;	   /* modules that a waiting Python has imported, with commas */
	const char *preload_alone; /* and one that is no fork, so that they are its own */
	unsigned live_max;	   /* how many runs at once */
	unsigned queue_max;	   /* how many requests wait for that */
	uid_t api_uid;		   /* who asks for others, by HTTP */
	/* Start (again) the process that talks to callers; returns its pid and our end of the
	 * socket to it. */
	pid_t (*start_front)(void *arg, int *ret_sock);
	/* Start the process that looks at output (wire/look.h); the same. NULL: nobody looks. */
	pid_t (*start_look)(void *arg, int *ret_sock);
	void *arg;
	/* Called once, when all is ready to serve; and when nobody is to be let in any more. */
	void (*ready)(void *arg);
	void (*stop_listening)(void *arg);
	/* What waits is made again (SIGHUP); or NULL. */
	void (*renewed)(void *arg);
	void *renewed_arg;
	/* Must not block; or NULL. */
	void (*news)(void *arg, const struct warden_news *news);
};

/* Until SIGTERM or SIGINT: then no new run begins, those there may end, and nothing is left. */
int warden_serve(const struct warden_config *config, struct err *e);

#endif
