/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One file between the host and a sandbox. What a model may name of the host is below one directory
 * that the user opened for it, and nothing there can lead out of it: links are resolved beneath.
 */
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "api/changed.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/hold.h"
#include "mcp/ask.h"
#include "mcp/file.h"
#include "mcp/mcp_int.h"
#include "mcp/tools.h"
#include "pinfold/pinfold.h"

#define TRANSFER_MAX (4ull << 30)

static int open_beneath(int dir, const char *path, uint64_t flags, uint64_t mode)
{
	struct open_how how = {
		.flags = flags | O_CLOEXEC,
		.mode = mode,
		.resolve = HOLD_TRANSFER_BENEATH ? RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS : 0};
	long fd = syscall(SYS_openat2, dir, path, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

struct move {
	struct call *call;
	struct box *box;
	int dir;	  /* of the host; borrowed */
	const char *host; /* below it */
	char path[4096];  /* inside */
	uint64_t bytes;
	char sha256[HASH_TEXT_SIZE];
};

static int cannot_open(const struct move *m, int r, struct err *e)
{
	errno = -r;
	if (r == -EXDEV || r == -ELOOP || r == -EACCES || r == -EPERM)
		(void)err_set(e, ERR_DENIED, "%s is not in the transfer directory", m->host);
	else if (r == -ENOENT || r == -ENOTDIR)
		(void)err_set(e, ERR_MISSING, "%s is not there, on the user's side", m->host);
	else
		(void)err_set(e, ERR_INVALID, "%s: %s", m->host, strerror(-r));
	(void)err_detail(e, r == -ENOENT || r == -ENOTDIR ? "file" : "path");
	return err_remedy(
		e, "host_path is relative to the transfer directory; ask the user to put the file "
		   "there");
}

static int copy(struct move *m, int from, int to, struct err *e)
{
	auto_free char *part = malloc(1u << 20);
	uint8_t digest[HASH_BYTES];
	struct hash h;
	ssize_t n;

	if (!part)
		return err_sys(e, "copy");
	hash_init(&h);
	while ((n = read(from, part, 1u << 20)) > 0) {
		int r = fd_write_all(to, part, (size_t)n);

		if (r < 0 || call_cancelled(m->call) || m->bytes > TRANSFER_MAX)
			return err_set(e, ERR_LIMIT, "%s",
				       r == -ENOSPC || r == -EDQUOT ? "the disk is full"
								    : "it could not be written");
		hash_add(&h, part, (size_t)n);
		m->bytes += (uint64_t)n;
	}
	if (n < 0)
		return err_sys(e, "read");
	hash_done(&h, digest);
	hash_text(digest, m->sha256);
	return 0;
}

static int move_in(struct move *m, struct err *e)
{
	auto_close int from = open_beneath(m->dir, m->host, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
	struct pinfold_file_writer *w = NULL;
	struct pinfold_error failure;
	struct stat st;

	if (from < 0)
		return cannot_open(m, from, e);
	if (fstat(from, &st) < 0 || !S_ISREG(st.st_mode))
		return err_set(e, ERR_INVALID, "%s is no file", m->host);
	struct pinfold_files *files = box_files(m->box, e);
	if (!files)
		return -EIO;
	int r = pinfold_file_write(files, m->path, PINFOLD_WRITE_PARENTS,
				   st.st_mode & 0100 ? 0755 : 0, &w, &failure);
	if (r < 0) {
		r = api_error(e, &failure);
	} else {
		r = copy(m, from, pinfold_file_writer_fd(w), e);
		if (r < 0)
			pinfold_file_abort(w);
		else if (pinfold_file_commit(w, &failure) < 0)
			r = api_error(e, &failure);
	}
	box_files_put(m->box, false);
	changed_now(m->box);
	return r;
}

/* The directory of the new file, and its name in it. */
static int open_parent(const struct move *m, const char **ret_name, struct err *e)
{
	const char *slash = strrchr(m->host, '/');
	char parent[4096] = ".";

	*ret_name = slash ? slash + 1 : m->host;
	if (slash)
		(void)snprintf(parent, sizeof(parent), "%.*s", (int)(slash - m->host), m->host);
	if (!**ret_name || !strcmp(*ret_name, ".") || !strcmp(*ret_name, ".."))
		return err_set(e, ERR_INVALID, "host_path: no name of a file");
	int fd = open_beneath(m->dir, *parent ? parent : "/", O_RDONLY | O_DIRECTORY, 0);
	return fd < 0 ? cannot_open(m, fd, e) : fd;
}

/* Whole or not at all: written beside, then put in its place. A link there is replaced, not
 * followed. */
static int move_out(struct move *m, struct err *e)
{
	auto_close int from = FD_NONE, parent = FD_NONE, to = FD_NONE;
	const char *name = NULL;
	char temp[40];
	uint64_t size = 0, random = 0;

	if (file_open(m->box, m->path, &from, &size, e) < 0)
		return -EIO;
	parent = open_parent(m, &name, e);
	if (parent < 0)
		return parent;
	if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return err_sys(e, "random");
	(void)snprintf(temp, sizeof(temp), ".pinfold-%016llx", (unsigned long long)random);
	to = openat(parent, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (to < 0)
		return err_set(e, ERR_DENIED, "%s cannot be written on the user's side", m->host);
	int r = copy(m, from, to, e);
	if (r >= 0 && renameat(parent, temp, parent, name) < 0)
		r = err_set(e, ERR_CONFLICT, "%s cannot be replaced", m->host);
	if (r < 0)
		(void)unlinkat(parent, temp, 0);
	return r;
}

static int transfer(struct move *m, bool in, struct err *e)
{
	auto_text t = TEXT_INIT, what = TEXT_INIT;
	char number[32];

	text_fmt(&what,
		 in ? "copying %s of your computer to %s" : "writing %s on your computer from %s",
		 m->host, m->path);
	const struct wish wish = {.sandbox = box_label(m->box),
				  .id = m->box->id,
				  .kind = "transfer",
				  .what = what.data};
	int r = tool_mcp(m->call)->options.ask ? approve(m->call, &wish, e) : 0;
	if (r)
		return r < 0 ? r : 0; /* asked; the call comes again */
	r = in ? move_in(m, e) : move_out(m, e);
	if (r < 0)
		return r;
	text_fmt(&t, "%s bytes %s: %s -> %s\nsha256 %s", text_number(m->bytes, number),
		 in ? "in" : "out", in ? m->host : m->path, in ? m->path : m->host, m->sha256);
	return tool_reply(m->call, &t, e);
}

/* A model may have been told the whole path of the directory. */
static const char *below(const char *given, const char *dir)
{
	size_t n = strlen(dir);

	while (n > 1 && dir[n - 1] == '/')
		n--;
	if (strncmp(given, dir, n) == 0 && given[n] == '/')
		given += n + 1;
	while (strncmp(given, "./", 2) == 0)
		given += 2;
	return given;
}

int tool_transfer(struct call *c, struct err *e)
{
	struct mcp *mcp = tool_mcp(c);
	struct move m = {.call = c, .dir = mcp->transfer_fd};

	if (m.dir < 0) {
		(void)err_set(e, ERR_DENIED,
			      "no directory of the user's computer is open for transfers");
		(void)err_detail(e, "transfer");
		return err_remedy(
			e,
			"Ask the user to start the server with `pinfold mcp --transfer-dir DIR`; until then "
			"use %s and %s",
			tool_name(tool_write_file), tool_name(tool_read_file));
	}
	m.host = below(arg_str(c, "host_path"), mcp->options.transfer_dir);
	if (tool_path(arg_str(c, "sandbox_path"), m.path, e) < 0)
		return -EINVAL;
	m.box = tool_box(c, e);
	if (!m.box)
		return -ENOENT;
	int r = transfer(&m, !strcmp(arg_str(c, "direction"), "in"), e);
	box_put(c->api, m.box);
	return r;
}
