/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One synchronisation: a sender with a tree, a receiver with a directory, a stream socket between.
 * Both functions block until it is done or has failed; neither closes the socket.
 *
 *	sender				receiver
 *	HELLO			->
 *				<-	HELLO: the name of the manifest that it got last
 *	MANIFEST, BLOCK...	->		whole, or what changed since that one
 *				<-	WANT: which chunks it has nowhere
 *	PACK...			->		those; each is checked by its hash
 *	COMMIT			->
 *				<-	OK: the directory is as the manifest says
 *
 * Instead of any of its messages a side may send ERROR and end. (send.c and receive.c have the
 * bytes.) Each side distrusts the other whole.
 *
 * The receiver changes nothing before all that is needed has arrived and fits its hash. Chunks that
 * have arrived when it is cut off are kept and not asked for again. Files that are as they should
 * be are not touched. A path that the last manifest had and this one does not is removed; what else
 * is in the directory stays, unless `mirror` is set. Writing it out is not atomic: who must have it
 * so gives a copy or an overlay, and drops it when this fails.
 */
#ifndef SYNC_SESSION_H
#define SYNC_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "sync/manifest.h"

struct sync_progress {
	uint64_t files; /* of the tree */
	uint64_t bytes_done;
	uint64_t bytes_total; /* of what the receiver lacks */
};

typedef void sync_progress_fn(void *context, const struct sync_progress *now);

/*
 * Something with that hash may be in `*ret_fd` at `*ret_offset`; the descriptor stays the callee's
 * until the next call. It is checked before it counts. False: not known.
 */
typedef bool sync_lookup_fn(void *context, const uint8_t hash[HASH_BYTES], uint32_t len,
			    int *ret_fd, uint64_t *ret_offset);

struct sync_stats {
	uint64_t files;	       /* in the tree */
	uint64_t bytes;	       /* in them */
	uint64_t files_read;   /* by the scan, because their content was not known */
	uint64_t skipped;      /* FIFOs, sockets, devices */
	uint64_t links_out;    /* left out by skip_links_out */
	uint64_t files_made;   /* receiver: written anew */
	uint64_t files_set;    /* receiver: given another mode or time alone */
	uint64_t files_gone;   /* receiver: removed */
	uint64_t chunks_need;  /* of files that are to be written */
	uint64_t chunks_found; /* receiver: those it had somewhere */
	uint64_t chunks_sent;  /* those that went over the wire */
	uint64_t wire_out;     /* bytes, with all heads */
	uint64_t wire_in;
	uint64_t ms;
	bool is_delta; /* the manifest went as a difference */
};

struct sync_send_opts {
	int tree_fd;  /* the directory */
	int state_fd; /* a directory of the caller's to remember in, one for each tree; FD_NONE */
	struct manifest_limits limits; /* zeroed: MANIFEST_LIMITS */
	bool skip_git;
	bool take_all;	     /* no ignore files */
	bool skip_links_out; /* leave them out, for a receiver that would refuse them */
	bool any_dev;	     /* see index_holds() */
	int level;	     /* of zstd; 0: 3 */
	unsigned threads;    /* to read and press with; 0: 2 */
	int idle_ms;	     /* how long the other side may keep us waiting; 0: for ever */
	sync_progress_fn *progress;
	void *context;
};

struct sync_receive_opts {
	int tree_fd;
	int state_fd;	/* one for each pair of sender and directory; must be there */
	int partial_fd; /* an empty directory for what has arrived, best on the tree's file system;
			   FD_NONE: `partial` in state_fd */
	struct manifest_limits limits;
	uint64_t write_bytes_max; /* of files that are written anew; 0: any */
	uint64_t write_files_max; /* and how many, with directories and links; 0: any */
	unsigned mode_off;	  /* bits of a mode that nothing gets here, as a umask */
	bool mirror;		  /* remove whatever the sender does not have */
	bool keep_links_out;	  /* else a tree with a link that leads out of it is refused */
	bool keep_changed; /* refuse to overwrite or remove what changed here since the last one */
	bool any_dev;
	bool durable; /* on disk before OK is said */
	bool on_host; /* by its owner: what has no room is refused before anything is touched, and
			 who is killed leaves no file with a name of ours */
	int idle_ms;
	sync_lookup_fn *lookup; /* or NULL */
	sync_progress_fn *progress;
	void *context; /* of both */
};

/* `stats` is filled in either case. ERR_BUSY: a file changed while it was sent; try again. */
int sync_send(const struct sync_send_opts *opts, int sock, struct sync_stats *stats, struct err *e);
int sync_receive(const struct sync_receive_opts *opts, int sock, struct sync_stats *stats,
		 struct err *e);

/* Drop what an interrupted session has left in a partial directory. */
int sync_forget_partial(int partial_fd, struct err *e);

#endif
