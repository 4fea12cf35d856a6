/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync FROM TO STATE [OTHER OTHERSTATE]: one synchronisation between two processes by src/sync, for
 * bench/sync.sh. STATE has the directories `from` and `to` for what the sides remember. OTHER is a
 * tree that was synchronised before, with OTHERSTATE: what it has is found there.
 * Prints what both sides say of it, a line each.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "sync/chunks.h"
#include "sync/digest.h"
#include "sync/index.h"
#include "sync/session.h"

struct other {
	int tree;
	int fd; /* of what was found last */
	struct index index;
	struct chunks chunks;
};

static int dir_in(int at, const char *name)
{
	return openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int other_open(struct other *o, const char *tree, const char *state)
{
	struct manifest_limits limits = MANIFEST_LIMITS;
	struct err e = ERR_INIT;
	auto_close int at = dir_in(AT_FDCWD, state);
	auto_close int dir = dir_in(at, "to");

	o->tree = dir_in(AT_FDCWD, tree);
	o->fd = FD_NONE;
	if (!index_load(dir, "index", &limits, &o->index))
		return -1;
	return chunks_add_tree(&o->chunks, &o->index.tree, &e);
}

static bool find_in_other(void *context, const uint8_t hash[HASH_BYTES], uint32_t len, int *ret_fd,
			  uint64_t *ret_offset)
{
	struct other *o = context;
	uint32_t number = chunks_find(&o->chunks, hash);

	(void)len; /* it is hashed over its length */
	fd_close(&o->fd);
	if (number == CHUNKS_NONE)
		return false;
	const struct chunks_ref *ref = &o->chunks.refs[number];
	o->fd = open_below(o->tree, o->index.tree.entries[ref->entry].path, O_RDONLY, 0);
	*ret_fd = o->fd;
	*ret_offset = ref->offset;
	return o->fd >= 0;
}

static int tell(const char *who, int r, const struct sync_stats *s, const struct err *e)
{
	if (r < 0)
		fprintf(stderr, "%s: %s\n", who, e->text);
	else
		printf("%s: ms=%llu out=%llu in=%llu files=%llu read=%llu made=%llu need=%llu "
		       "found=%llu sent=%llu delta=%d\n",
		       who, (unsigned long long)s->ms, (unsigned long long)s->wire_out,
		       (unsigned long long)s->wire_in, (unsigned long long)s->files,
		       (unsigned long long)s->files_read, (unsigned long long)s->files_made,
		       (unsigned long long)s->chunks_need, (unsigned long long)s->chunks_found,
		       (unsigned long long)s->chunks_sent, s->is_delta);
	fflush(stdout);
	return r < 0;
}

static int receive(char **argv, int argc, int sock)
{
	struct sync_receive_opts opts = {
		.tree_fd = dir_in(AT_FDCWD, argv[2]),
		.state_fd = dir_in(dir_in(AT_FDCWD, argv[3]), "to"),
		.partial_fd = FD_NONE,
	};
	struct sync_stats stats;
	struct err e = ERR_INIT;
	struct other other = {0};

	if (argc == 6) {
		if (other_open(&other, argv[4], argv[5]) < 0)
			return 2;
		opts.lookup = find_in_other;
		opts.context = &other;
	}
	return tell("to", sync_receive(&opts, sock, &stats, &e), &stats, &e);
}

int main(int argc, char **argv)
{
	struct sync_stats stats;
	struct err e = ERR_INIT;
	int pair[2], status = 1;

	if ((argc != 4 && argc != 6) ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return 2;
	pid_t pid = fork();
	if (pid == 0) {
		close(pair[0]);
		return receive(argv, argc, pair[1]);
	}
	close(pair[1]);
	struct sync_send_opts opts = {
		.tree_fd = dir_in(AT_FDCWD, argv[1]),
		.state_fd = dir_in(dir_in(AT_FDCWD, argv[3]), "from"),
	};
	int r = tell("from", sync_send(&opts, pair[0], &stats, &e), &stats, &e);
	close(pair[0]);
	waitpid(pid, &status, 0);
	return r || status;
}
