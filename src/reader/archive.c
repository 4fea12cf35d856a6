/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/about.h"
#include "archive/pieces.h"
#include "archive/export.h"
#include "archive/import.h"
#include "archive/mark.h"
#include "base/fd.h"
#include "reader/reader.h"
#include "tree/answer.h"
#include "tree/walk.h"

#define USER_ID 1000

static int put_piece(void *context, const void *data, size_t len, struct err *e)
{
	return pieces_put(context, data, len, e);
}

static int export_all(struct export *x, char **args, struct archive_stats *stats, struct err *e)
{
	int r = 0;

	for (; r >= 0 && args[0] && args[1]; args += 2) {
		auto_close int dir = FD_NONE;

		r = reader_open(args[0], false, &dir, e);
		if (r >= 0)
			r = export_tree(x, dir, args[1], e);
	}
	return r < 0 ? r : export_end(x, stats, e);
}

static int answer_with(const struct archive_stats *stats, struct err *e)
{
	union tree_answer answer = {0};

	memcpy(answer.values, stats, sizeof(*stats));
	return tree_answer_send(STDOUT_FILENO, &answer, e);
}

int reader_export(char **args, bool *told, struct err *e)
{
	struct export_opts opts = {.layer = reader_option(&args, "--layer", NULL), .owner = -1};
	struct archive_stats stats = {0};
	struct err second = ERR_INIT;
	struct export *x = NULL;
	uint64_t owner = 0;
	auto_free struct pieces_out *out = calloc(1, sizeof(*out));
	int r = out ? reader_number(&args, "--owner", &owner, e) : err_sys(e, "export");

	(void)told;
	if (r < 0)
		return r;
	if (r > 0)
		opts.owner = (int64_t)owner;
	out->fd = STDOUT_FILENO;
	r = export_open(&x, &opts, put_piece, out, e);
	if (r >= 0)
		r = export_all(x, args, &stats, e);
	export_close(x);
	/* The answer comes behind the last piece, also when it is an error. */
	if (pieces_end(out, r < 0 ? &second : e) < 0 && r >= 0)
		r = -EIO;
	return r < 0 ? r : answer_with(&stats, e);
}

/* The directory that is imported to, made where it is not there; through no link. */
static int make_dir(const char *path, int *ret_fd, struct err *e)
{
	auto_free char *copy = strdup(path);
	auto_close int at = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char *rest = NULL;

	if (!copy)
		return err_sys(e, "import");
	for (char *name = strtok_r(copy, "/", &rest); name && at >= 0;
	     name = strtok_r(NULL, "/", &rest)) {
		if (mkdirat(at, name, 0755) < 0 && errno != EEXIST)
			return err_sys(e, "make %s", path);
		int next = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		fd_close(&at);
		at = next;
	}
	if (at < 0)
		return err_sys(e, "open %s", path);
	*ret_fd = take_fd(&at);
	return 0;
}

/* A directory of the host comes as a tree, which is no archive but is counted like one. */
static int import_tree(int root, const struct plant_limits *limits, struct archive_stats *ret,
		       struct err *e)
{
	struct tree_unpack_opts opts = {
		.limits = {.bytes = limits->bytes, .entries = limits->entries}};
	struct tree_unpack_stats stats = {0};
	int r = tree_unpack(STDIN_FILENO, root, &opts, &stats, e);

	*ret = (struct archive_stats){
		.files = stats.files,
		.dirs = stats.dirs,
		.symlinks = stats.symlinks,
		.links = stats.links,
		.fifos = stats.fifos,
		.bytes = stats.bytes,
		.devices = stats.skipped,
		.attrs = stats.attrs_lost,
	};
	return r;
}

/* What is not ours goes to the user's home directory, and is read with his rights alone. */
static int become_user(struct err *e)
{
	if (geteuid() != 0)
		return 0;
	if (setgroups(0, NULL) < 0 || setresgid(USER_ID, USER_ID, USER_ID) < 0 ||
	    setresuid(USER_ID, USER_ID, USER_ID) < 0)
		return err_sys(e, "give rights up");
	return 0;
}

/* Nobody said where to: an export of ours to where it is from. */
static int import_found(int home, struct import_opts *opts, struct archive_stats *ret,
			struct err *e)
{
	struct mark mark = {0};
	auto_close int root = FD_NONE;
	int r = mark_find(STDIN_FILENO, &mark, e);

	if (r >= 0 && !mark.found) {
		opts->owners = false;
		r = become_user(e);
	}
	if (r >= 0)
		r = make_dir(mark.found ? "/" : "/home/user", &root, e);
	opts->spool_dir = home;
	opts->mark = &mark;
	if (r >= 0)
		r = import_archive(STDIN_FILENO, root, opts, ret, NULL, e);
	ret->ours = mark.found;
	mark_done(&mark);
	return r;
}

int reader_import(char **args, bool *told, struct err *e)
{
	struct import_opts opts = {.limits = {UINT64_MAX, UINT64_MAX}};
	/* On the disk, and the user's, wherever it is imported to. */
	auto_close int home = open("/home/user", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct archive_stats stats = {0};
	auto_close int root = FD_NONE;
	bool tree = reader_option(&args, "--tree", NULL);

	(void)told;
	opts.spool_dir = home;
	opts.owners = reader_option(&args, "--owners", NULL);
	int r = reader_number(&args, "--bytes", &opts.limits.bytes, e);
	if (r >= 0)
		r = reader_number(&args, "--entries", &opts.limits.entries, e);
	if (r >= 0 && args[0] && args[1])
		r = err_set(e, ERR_INVALID, "import: [PATH]");
	if (r >= 0 && !args[0])
		r = import_found(home, &opts, &stats, e);
	else if (r >= 0)
		r = make_dir(args[0], &root, e);
	if (r >= 0 && args[0])
		r = tree ? import_tree(root, &opts.limits, &stats, e)
			 : import_archive(STDIN_FILENO, root, &opts, &stats, NULL, e);
	return r < 0 ? r : answer_with(&stats, e);
}

/* Whatever comes behind the end of an archive: who sends it hashes all of it. */
static int drain(uint64_t most, struct err *e)
{
	char buf[16384];
	ssize_t n = 0;

	do {
		n = read(STDIN_FILENO, buf, sizeof(buf));
		most -= n > 0 && (uint64_t)n < most ? (uint64_t)n : 0;
		if (n > 0 && (uint64_t)n >= most)
			return err_set(e, ERR_LIMIT, "the archive does not end");
	} while (n > 0 || (n < 0 && errno == EINTR));
	return n < 0 ? err_sys(e, "read the archive") : 0;
}

/* A layer that is to be an image: what it says of itself, then the answer. */
int reader_image(char **args, bool *told, struct err *e)
{
	struct import_opts opts = {.limits = {UINT64_MAX, UINT64_MAX}, .whole = true};
	auto_free struct pieces_out *out = calloc(1, sizeof(*out));
	auto_free struct about *about = calloc(1, sizeof(*about));
	auto_close int layer = FD_NONE, root = FD_NONE;
	struct archive_stats stats = {0};
	struct err second = ERR_INIT;

	(void)told;
	if (!out || !about)
		return err_sys(e, "import");
	out->fd = STDOUT_FILENO;
	opts.owners = reader_option(&args, "--owners", NULL);
	int r = reader_number(&args, "--bytes", &opts.limits.bytes, e);
	if (r >= 0)
		r = reader_number(&args, "--entries", &opts.limits.entries, e);
	if (r >= 0)
		r = args[0] && !args[1] ? reader_open(args[0], false, &layer, e)
					: err_set(e, ERR_INVALID, "image: LAYER");
	if (r >= 0)
		root = openat(layer, "root", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (r >= 0 && root < 0)
		r = err_sys(e, "open the layer");
	/* On the disk, beside what becomes of it. */
	opts.spool_dir = layer;
	if (r >= 0)
		r = import_archive(STDIN_FILENO, root, &opts, &stats, about, e);
	if (r >= 0)
		r = drain(opts.limits.bytes, e);
	if (r >= 0)
		r = pieces_put(out, about->text, about->len, e);
	/* The answer comes behind the last piece, also when it is an error. */
	if (pieces_end(out, r < 0 ? &second : e) < 0 && r >= 0)
		r = -EIO;
	return r < 0 ? r : answer_with(&stats, e);
}
