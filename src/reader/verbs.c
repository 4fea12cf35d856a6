/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "reader/reader.h"
#include "tree/answer.h"
#include "tree/pack.h"
#include "tree/three.h"
#include "tree/walk.h"

#define PATHS_MAX (64u << 20)

/* Also what goes wrong before there is a tree is said as a tree stream. */
static void pack_error(const struct err *what)
{
	struct tree_enc enc;
	struct err second;

	if (tree_enc_init(&enc, STDOUT_FILENO, &second) >= 0)
		(void)tree_enc_error(&enc, what, &second); /* nobody else to tell */
	tree_enc_done(&enc);
}

int reader_pack(char **args, bool *told, struct err *e)
{
	struct tree_pack_opts opts = {0};
	struct tree_pack_stats stats;
	auto_close int dir = FD_NONE;

	for (;;) {
		if (reader_option(&args, "--layer", NULL))
			opts.layer = true;
		else if (reader_option(&args, "--strict", NULL))
			opts.strict = true;
		else
			break;
	}
	*told = true;
	int r = args[0] && args[1] && !args[2] ? reader_open(args[0], false, &dir, e)
					       : err_set(e, ERR_INVALID, "pack: DIR PATH");
	if (r < 0)
		pack_error(e);
	return r < 0 ? r : tree_pack(dir, args[1], &opts, STDOUT_FILENO, &stats, e);
}

/* All paths are read before the first file is, so nobody waits for the other. */
static int read_paths(char **ret, size_t *ret_len, struct err *e)
{
	size_t room = PATHS_MAX + 1;
	char *paths = malloc(room);
	int r = paths ? fd_read_max(STDIN_FILENO, paths, room, ret_len) : -ENOMEM;

	errno = -r;
	*ret = paths;
	if (r < 0)
		return err_sys(e, "read paths");
	return *ret_len < room ? 0
			       : err_set(e, ERR_LIMIT, "more than %u bytes of paths", PATHS_MAX);
}

int reader_fetch(char **args, bool *told, struct err *e)
{
	auto_close int dir = FD_NONE;
	auto_free char *paths = NULL;
	struct tree_pack_stats stats;
	size_t len = 0;

	*told = true;
	int r = args[0] && !args[1] ? reader_open(args[0], false, &dir, e)
				    : err_set(e, ERR_INVALID, "fetch: DIR");
	if (r >= 0)
		r = read_paths(&paths, &len, e);
	if (r < 0)
		pack_error(e);
	return r < 0 ? r : tree_pack_some(dir, paths, len, STDOUT_FILENO, &stats, e);
}

static int unpack_options(struct tree_unpack_opts *opts, char ***args, struct err *e)
{
	int r = 1;

	while (r > 0) {
		r = 1;
		if (reader_option(args, "--replace", NULL))
			opts->replace = true;
		else if (reader_option(args, "--parents", NULL))
			opts->parents = true;
		else if (reader_option(args, "--owners", NULL))
			opts->owners = true;
		else if (reader_option(args, "--root-meta", NULL))
			opts->root_meta = true;
		else if (!reader_option(args, "--name", &opts->root_name) &&
			 (r = reader_number(args, "--bytes", &opts->limits.bytes, e)) == 0)
			r = reader_number(args, "--entries", &opts->limits.entries, e);
	}
	return r;
}

/* PATH is a directory that `name` goes into, or else what it is called then. Like cp. */
static int open_into(int dir, char *path, const char **name, int *ret_fd, struct err *e)
{
	struct err missing = ERR_INIT;

	if (tree_open_dir(dir, path, strlen(path), ret_fd, &missing) >= 0)
		return 0;
	char *slash = strrchr(path, '/');
	*name = slash ? slash + 1 : path;
	if (missing.num != ENOENT && missing.num != ENOTDIR) {
		*e = missing;
		return -missing.num;
	}
	return tree_open_dir(dir, path, slash ? (size_t)(slash - path) : 0, ret_fd, e);
}

int reader_unpack(char **args, bool *told, struct err *e)
{
	struct tree_unpack_opts opts = {0};
	union tree_answer answer = {0};
	auto_close int dir = FD_NONE, at = FD_NONE;
	bool into = reader_option(&args, "--into", NULL);
	int r = unpack_options(&opts, &args, e);

	(void)told;
	if (r < 0)
		return r;
	if (!args[0] || !args[1] || args[2])
		return err_set(e, ERR_INVALID, "unpack: DIR PATH");
	r = reader_open(args[0], false, &dir, e);
	if (r >= 0 && opts.root_name && into)
		r = open_into(dir, args[1], &opts.root_name, &at, e);
	else if (r >= 0)
		r = tree_open_dir(dir, args[1], strlen(args[1]), &at, e);
	if (r >= 0)
		r = tree_unpack(STDIN_FILENO, at, &opts, &answer.unpack, e);
	return r < 0 ? r : tree_answer_send(STDOUT_FILENO, &answer, e);
}

int reader_merge(char **args, bool *told, struct err *e)
{
	int fds[TREE_LAYERS_MAX], bottom = reader_option(&args, "--bottom", NULL);
	struct tree_merge_in in = {.layers = fds};
	union tree_answer answer = {0};
	auto_close int out = FD_NONE;
	uint64_t below = 0;
	int r = reader_number(&args, "--below", &below, e);

	(void)told;
	if (r < 0)
		return r;
	if (!args[0] || !args[1] || below > TREE_LAYERS_MAX)
		return err_set(e, ERR_INVALID, "merge: OUT LAYER...");
	r = reader_open(*args++, false, &out, e);
	bottom |= reader_option(&args, "--bottom", NULL);
	for (; r >= 0 && *args; args++) {
		if (in.n == TREE_LAYERS_MAX)
			r = err_set(e, ERR_LIMIT, "more than %d layers", TREE_LAYERS_MAX);
		else
			r = reader_open(*args, false, &fds[in.n], e);
		in.n += r >= 0;
	}
	in.below = (unsigned)below;
	in.bottom = bottom;
	if (r >= 0)
		r = tree_merge(out, &in, &answer.merge, e);
	while (in.n > 0)
		fd_close(&fds[--in.n]);
	return r < 0 ? r : tree_answer_send(STDOUT_FILENO, &answer, e);
}

int reader_digest(char **args, bool *told, struct err *e)
{
	union tree_answer answer = {0};
	auto_close int dir = FD_NONE;

	(void)told;
	if (!args[0] || args[1])
		return err_set(e, ERR_INVALID, "digest: LAYER");
	int r = reader_open(args[0], false, &dir, e);
	if (r >= 0)
		r = tree_digest(dir, &answer.digest, e);
	return r < 0 ? r : tree_answer_send(STDOUT_FILENO, &answer, e);
}

int reader_three(char **args, bool *told, struct err *e)
{
	*told = true;
	return args[0] ? err_set(e, ERR_INVALID, "three: no words")
		       : tree_three_serve(STDIN_FILENO, STDOUT_FILENO, e);
}
