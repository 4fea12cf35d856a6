/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/live_files.h"

#include <assert.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include "base/fd.h"
#include "base/passfd.h"
#include "engine/run_int.h"

#define PATIENCE_MS 10000
#define PATIENCE_TIMES 60 /* as long may an operation take that says it goes on */
#define DOUBT_MS 1000	  /* of silence, before we ask whether it is paused */
#define HOME "/home/user"

int files_result(int r, const struct err *e, struct pinfold_error *ret_error)
{
	if (r < 0)
		error_public(e, ret_error);
	return r < 0 ? -1 : 0;
}

struct pinfold_files *files_new(const char *id, int sock)
{
	struct pinfold_files *f = calloc(1, sizeof(*f));

	if (!f) {
		fd_close(&sock);
		return NULL;
	}
	(void)snprintf(f->id, sizeof(f->id), "%s", id);
	f->sock = sock;
	f->patience_ms = PATIENCE_MS;
	return f;
}

int pinfold_files_alive(const struct pinfold_files *files)
{
	struct pollfd p = {.fd = files->sock};

	return files->sock >= 0 && poll(&p, 1, 0) == 0;
}

void pinfold_files_close(struct pinfold_files *files)
{
	if (!files)
		return;
	fd_close(&files->sock);
	free(files);
}

const char *files_data(const struct pinfold_files *f)
{
	return f->got.bytes + sizeof(f->got.answer);
}

void files_drop(struct pinfold_files *f)
{
	fd_close(&f->sock);
	f->server++;
}

/* One more name of a path; -E2BIG: it does not fit. */
static int add_name(char to[FILES_PATH_SIZE], size_t *at, const char *name, size_t len)
{
	if (len == 0 || (len == 1 && name[0] == '.'))
		return 0;
	if (*at + 1 + len >= FILES_PATH_SIZE)
		return -E2BIG;
	to[(*at)++] = '/';
	memcpy(to + *at, name, len);
	*at += len;
	return 0;
}

/* ".." stays: what it means depends on links, which are the sandbox's. */
int files_absolute(const char *path, char to[FILES_PATH_SIZE], struct err *e)
{
	size_t at = 0;
	int r = *path ? 0 : -EINVAL;

	if (*path != '/')
		(void)add_name(to, &at, HOME + 1, sizeof(HOME) - 2);
	for (const char *p = path; r >= 0 && *p;) {
		size_t len = strcspn(p, "/");

		r = add_name(to, &at, p, len);
		p += len + (p[len] == '/');
	}
	if (at == 0)
		to[at++] = '/';
	to[at] = '\0';
	if (r >= 0)
		return (int)at;
	(void)err_set(e, ERR_INVALID, "the path is empty");
	if (*path)
		(void)err_set(e, ERR_INVALID, "the path \"%.60s...\" is too long", path);
	(void)err_detail(e, "path");
	return err_remedy(e, "name a path of at most 4095 bytes; one that does not begin with / is "
			     "below " HOME);
}

static int gone(struct pinfold_files *f, struct err *e)
{
	files_drop(f);
	(void)err_set(e, ERR_CONFLICT, "sandbox %s has ended, or ended its file server", f->id);
	(void)err_detail(e, "gone");
	return err_remedy(e, "try again; pinfold ps tells whether it lives");
}

static int is_paused(const struct pinfold_files *f)
{
	struct pinfold_sandbox_info *list = NULL;
	struct pinfold_error ignored;
	size_t n = 0;
	int paused = 0;

	if (!f->id[0] || pinfold_sandbox_list(&list, &n, &ignored) < 0)
		return 0;
	for (size_t i = 0; i < n; i++)
		if (strcmp(list[i].id, f->id) == 0)
			paused = strcmp(list[i].status, "paused") == 0;
	pinfold_sandbox_list_free(list);
	return paused;
}

static int asleep(struct pinfold_files *f, struct err *e)
{
	files_drop(f);
	(void)err_set(e, ERR_CONFLICT, "sandbox %s is paused", f->id);
	(void)err_detail(e, "paused");
	return err_remedy(e, "pinfold resume %s", f->id);
}

int files_awake(struct pinfold_files *f, struct err *e)
{
	return is_paused(f) ? asleep(f, e) : 0;
}

static int silent(struct pinfold_files *f, struct err *e)
{
	files_drop(f);
	(void)err_set(e, ERR_TIMEOUT, "%.200s: the sandbox did not answer for %d s",
		      f->about ? f->about : f->id, f->patience_ms / 1000);
	return err_remedy(e, "try again, or look at its processes: it is busy, or stops its file "
			     "server");
}

static int nonsense(struct pinfold_files *f, struct err *e)
{
	files_drop(f);
	return err_set(e, ERR_INTERNAL, "%.200s: the sandbox gave an answer that makes no sense",
		       f->about ? f->about : f->id);
}

static const char *type_name(uint32_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG: return "file";
	case S_IFDIR: return "directory";
	case S_IFLNK: return "symlink";
	case S_IFIFO: return "fifo";
	case S_IFSOCK: return "socket";
	default: return "device";
	}
}

/* What an errno means here, and what would help. */
static const struct meaning {
	int num;
	enum err_kind kind;
	const char *detail, *text, *remedy;
} meanings[] = {
	{ENOENT, ERR_MISSING, "file", "no such file or directory",
	 "list the directory above to see what is there"},
	{ENOTDIR, ERR_CONFLICT, "not_directory", "it, or something on the way, is not a directory",
	 "name a directory, or remove what is in its place"},
	{EEXIST, ERR_CONFLICT, "exists", "it exists already", "name another, or remove it first"},
	{EISDIR, ERR_CONFLICT, "is_directory", "it is a directory", "name a file"},
	{ENOTEMPTY, ERR_CONFLICT, "not_empty", "the directory is not empty",
	 "remove it with all below it, if that is what you want"},
	{EACCES, ERR_DENIED, "path", "the sandbox's user may not do that there",
	 "name a place below " HOME " or /tmp"},
	{EPERM, ERR_DENIED, "path", "the sandbox's user may not do that there",
	 "name a place below " HOME " or /tmp"},
	{EROFS, ERR_DENIED, "path", "it cannot be written to",
	 "name a place below " HOME " or /tmp"},
	{ELOOP, ERR_DENIED, "path", "it leads through too many links, or one of /proc",
	 "name the file itself"},
	{ENODEV, ERR_DENIED, "path", "the kernel makes it up for whoever reads it",
	 "read it with a command in the sandbox"},
	{EBUSY, ERR_DENIED, "path", "it is in use by the system", "name something below it"},
	{ETXTBSY, ERR_DENIED, "path", "it is a program that is running", "end the program first"},
	{EINVAL, ERR_INVALID, "path", "no file can have that name", "name a file or a directory"},
	{ENAMETOOLONG, ERR_INVALID, "path", "a name in it is too long",
	 "use names of at most 255 bytes"},
	{ENOSPC, ERR_LIMIT, "disk", "the sandbox's disk is full",
	 "remove files in it, or make one with a larger --disk"},
	{EDQUOT, ERR_LIMIT, "disk", "the sandbox's disk is full",
	 "remove files in it, or make one with a larger --disk"},
	{EMFILE, ERR_LIMIT, "", "too many are open or watched at a time", "close some of them"},
	{ENOMEM, ERR_LIMIT, "", "the sandbox is out of memory", "end something in it"},
	{E2BIG, ERR_LIMIT, "", "there is too much of it, or it is too deep", "take it in parts"},
	{EXDEV, ERR_UNSUPPORTED, "", "a directory cannot be moved to another filesystem",
	 "copy it and remove the old one, with a command"},
	{ECONNREFUSED, ERR_CONFLICT, "port_closed", "nothing listens there",
	 "start a server on 127.0.0.1 or 0.0.0.0 in the sandbox"},
	{EAGAIN, ERR_BUSY, "", "something inside holds it, or there is no room for a process",
	 "try again, or end something in the sandbox"},
	{ESTALE, ERR_CONFLICT, "moved", "it was moved away meanwhile", "try again"},
};

/* Of a path to read, what is no directory on the way means that it is not there. */
static int as_meant(const struct pinfold_files *f, int num)
{
	bool reads = f->op == FILES_STAT || f->op == FILES_OPEN || f->op == FILES_REMOVE ||
		     f->op == FILES_CHMOD;

	return num == ENOTDIR && reads ? ENOENT : num;
}

static int explain(const struct pinfold_files *f, const struct files_answer *a, struct err *e)
{
	const char *about = f->about ? f->about : "files";
	int num = as_meant(f, a->error);

	if (num == ENXIO) {
		(void)err_set(e, ERR_DENIED, "%.200s: it is a %s, not a file", about,
			      type_name(a->info.mode));
		(void)err_detail(e, "path");
		return err_remedy(e, "use it with a command in the sandbox");
	}
	for (size_t i = 0; i < sizeof(meanings) / sizeof(meanings[0]); i++) {
		const struct meaning *m = &meanings[i];

		if (m->num != num)
			continue;
		(void)err_set(e, m->kind, "%.200s: %s", about, m->text);
		(void)err_detail(e, m->detail);
		return err_remedy(e, "%s", m->remedy);
	}
	errno = num;
	return err_sys(e, "%.200s", about);
}

/* 1: there is something to take. */
static int await(struct pinfold_files *f, struct err *e)
{
	struct pollfd pfd = {.fd = f->sock, .events = POLLIN};
	uint64_t patience = (uint64_t)f->patience_ms * 1000, until = now_us() + patience;
	int first = f->patience_ms < DOUBT_MS ? f->patience_ms : DOUBT_MS;
	bool asked = false;

	/* Signs of life alone are no answer for ever. */
	if (f->op != FILES_WATCH && until > f->begun_us + patience * PATIENCE_TIMES)
		until = f->begun_us + patience * PATIENCE_TIMES;
	for (;;) {
		uint64_t now = now_us();
		int left = now < until ? (int)((until - now + 999) / 1000) : 0;
		int r = poll(&pfd, 1, asked || left < first ? left : first);

		if (r > 0)
			return 1;
		if (r < 0 && errno != EINTR)
			return err_sys(e, "wait for the sandbox");
		if (r == 0 && !asked && is_paused(f))
			return asleep(f, e);
		asked = asked || r == 0;
		if (now_us() >= until)
			return silent(f, e);
	}
}

static int receive(struct pinfold_files *f, int *ret_fd, struct err *e)
{
	auto_close int fd = FD_NONE;
	size_t len = 0;
	int r = await(f, e);

	if (r < 0)
		return r;
	r = passfd_receive_max(f->sock, &f->got, sizeof(f->got), &len, &fd, 1, MSG_DONTWAIT);
	if (r == -EPIPE)
		return gone(f, e);
	if (r < 0 || files_answer_check(&f->got.answer, (uint32_t)len, f->seq) < 0 ||
	    (fd >= 0 && (!ret_fd || f->got.answer.error)))
		return nonsense(f, e);
	f->len = f->got.answer.len;
	if (ret_fd)
		*ret_fd = take_fd(&fd);
	return 0;
}

int files_next(struct pinfold_files *f, int *ret_fd, struct err *e)
{
	if (f->sock < 0)
		return gone(f, e);
	int r = receive(f, ret_fd, e);

	if (r < 0)
		return r;
	return f->got.answer.error ? explain(f, &f->got.answer, e) : (int)f->got.answer.more;
}

/* Another server, which says that it is there. */
static int connect_server(struct pinfold_files *f, struct err *e)
{
	struct link_ask ask = {.op = LINK_FILES};
	auto_close int link = FD_NONE;
	struct link_msg msg;
	int fds[2] = {FD_NONE, FD_NONE};

	(void)snprintf(ask.id, sizeof(ask.id), "%s", f->id);
	int r = f->id[0] ? remote_open(&link, e) : gone(f, e);
	if (r >= 0)
		r = remote_ask(link, &ask, NULL, NULL, e);
	if (r >= 0)
		r = remote_next(link, 0, &msg, fds, e);
	f->sock = take_fd(&fds[0]);
	fd_close(&fds[1]);
	if (r >= 0 && msg.kind == LINK_ERROR) {
		remote_error(&msg, e);
		return -EREMOTEIO;
	}
	if (r < 0)
		return r;
	if (f->sock < 0)
		return err_set(e, ERR_INTERNAL, "the daemon gave no answer");
	f->about = NULL;
	f->seq = 0;
	f->begun_us = now_us();
	r = files_next(f, NULL, e);
	if (r < 0)
		files_drop(f);
	return r;
}

static int send_question(struct pinfold_files *f, const void *bytes, size_t len)
{
	return f->sock < 0 ? -EPIPE : passfd_send(f->sock, bytes, len, NULL, 0);
}

/* Its paths behind the record, each with its NUL. */
static int write_question(const struct files_question *q, struct files_ask *head, char *bytes,
			  size_t *ret_len, struct err *e)
{
	char *to = bytes + sizeof(*head);
	int n = 0, n2 = 0;

	*to = '\0';
	if (q->path)
		n = files_absolute(q->path, to, e);
	if (n < 0)
		return n;
	to[n + 1] = '\0';
	if (q->path2)
		n2 = files_absolute(q->path2, to + n + 1, e);
	else if (q->target)
		n2 = snprintf(to + n + 1, FILES_PATH_SIZE, "%s", q->target);
	if (n2 < 0)
		return n2;
	head->path_len = (uint32_t)n;
	head->path2_len = (uint32_t)n2;
	*ret_len = sizeof(*head) + (size_t)n + (size_t)n2 + 2;
	return 0;
}

int files_ask(struct pinfold_files *f, const struct files_question *q, struct err *e)
{
	struct files_ask head = {
		.magic = FILES_MAGIC, .op = q->op, .flags = q->flags, .mode = q->mode};
	char bytes[sizeof(head) + 2 * FILES_PATH_SIZE];
	size_t len = 0;
	int r = write_question(q, &head, bytes, &len, e);

	if (r < 0)
		return r;
	for (int tries = 0; tries < 2; tries++) {
		uint32_t seq = head.seq = f->seq + 1 ? f->seq + 1 : 1;

		memcpy(bytes, &head, sizeof(head));
		r = send_question(f, bytes, len);
		f->op = q->op;
		f->about = q->path;
		f->begun_us = now_us();
		f->seq = r == 0 ? seq : f->seq;
		/* One that ended before it heard the question has done nothing: another may. */
		if (r != -EPIPE || q->op == FILES_COMMIT || q->op == FILES_ABORT)
			break;
		files_drop(f);
		r = connect_server(f, e);
		if (r < 0)
			return r;
	}
	if (r == -EPIPE)
		return gone(f, e);
	return r < 0 ? silent(f, e) : 0;
}

int files_take(struct pinfold_files *f, int *ret_fd, struct err *e)
{
	auto_close int fd = FD_NONE;
	int r;

	do {
		fd_close(&fd);
		r = files_next(f, ret_fd ? &fd : NULL, e);
	} while (r == 1 && fd < 0);
	if (r < 0)
		return r;
	if (r == 1 || (ret_fd && fd < 0))
		return nonsense(f, e);
	if (ret_fd)
		*ret_fd = take_fd(&fd);
	return 0;
}

int files_do(struct pinfold_files *f, const struct files_question *q, int *ret_fd, struct err *e)
{
	int r = files_ask(f, q, e);

	return r < 0 ? r : files_take(f, ret_fd, e);
}

int pinfold_files_open(const char *id, struct pinfold_files **ret_files,
		       struct pinfold_error *ret_error)
{
	struct err e = ERR_INIT;
	struct pinfold_files *f = NULL;

	assert(id && ret_files && ret_error);
	int r = sandbox_check_id(id, &e);
	if (r >= 0) {
		f = files_new(id, FD_NONE);
		r = f ? connect_server(f, &e) : err_sys(&e, "files");
	}
	if (r < 0)
		pinfold_files_close(f);
	else
		*ret_files = f;
	return files_result(r, &e, ret_error);
}

void files_take_info(const struct files_info *info, struct pinfold_file_info *ret)
{
	ret->type = type_name(info->mode);
	ret->mode = info->mode & 07777;
	ret->uid = info->uid;
	ret->gid = info->gid;
	ret->size = info->size;
	ret->links = info->links;
	ret->inode = info->inode;
	ret->mtime_ns = info->mtime_ns;
	ret->ctime_ns = info->ctime_ns;
	ret->target[0] = '\0';
}

int pinfold_file_stat(struct pinfold_files *files, const char *path, uint32_t flags,
		      struct pinfold_file_info *ret_info, struct pinfold_error *ret_error)
{
	const struct files_question q = {
		.op = FILES_STAT,
		.flags = flags & PINFOLD_FILE_NOFOLLOW ? FILES_NOFOLLOW : 0,
		.path = path,
	};
	struct err e = ERR_INIT;

	assert(files && path && ret_info && ret_error);
	int r = files_do(files, &q, NULL, &e);
	if (r >= 0 && files->len >= sizeof(ret_info->target))
		r = nonsense(files, &e);
	if (r >= 0) {
		files_take_info(&files->got.answer.info, ret_info);
		memcpy(ret_info->target, files_data(files), files->len);
		ret_info->target[files->len] = '\0';
	}
	return files_result(r, &e, ret_error);
}

/* The server looked, too; but what we read is what we have looked at ourselves. A file of /proc
 * asks who reads it, and can make him wait. */
static int check_regular(struct pinfold_files *f, int fd, struct stat *ret, struct err *e)
{
	struct statfs fs;

	if (fstat(fd, ret) < 0 || fstatfs(fd, &fs) < 0)
		return err_sys(e, "%.200s", f->about);
#ifdef DROP_LIVE_TYPE
	return 0;
#endif
	if (S_ISREG(ret->st_mode) && fs.f_type != PROC_SUPER_MAGIC)
		return 0;
	return nonsense(f, e);
}

int pinfold_file_open(struct pinfold_files *files, const char *path, int *ret_fd,
		      struct pinfold_file_info *ret_info, struct pinfold_error *ret_error)
{
	const struct files_question q = {.op = FILES_OPEN, .path = path};
	auto_close int fd = FD_NONE;
	struct err e = ERR_INIT;
	struct stat st;

	assert(files && path && ret_fd && ret_error);
	int r = files_do(files, &q, &fd, &e);
	if (r >= 0)
		r = check_regular(files, fd, &st, &e);
	if (r >= 0 && ret_info) {
		files_take_info(&files->got.answer.info, ret_info);
		ret_info->type = "file";
		ret_info->size = (uint64_t)st.st_size;
	}
	if (r >= 0)
		*ret_fd = take_fd(&fd);
	return files_result(r, &e, ret_error);
}

static int simple(struct pinfold_files *files, const struct files_question *q,
		  struct pinfold_error *ret_error)
{
	struct err e = ERR_INIT;

	assert(files && q->path && ret_error);
	return files_result(files_do(files, q, NULL, &e), &e, ret_error);
}

static int refuse_mode(uint32_t mode, struct pinfold_error *ret_error)
{
	struct err e = ERR_INIT;

	(void)err_set(&e, ERR_INVALID, "mode: %o has bits beyond 7777", mode);
	(void)err_remedy(&e, "give permission bits alone, such as 0644");
	return files_result(-EINVAL, &e, ret_error);
}

int pinfold_file_mkdir(struct pinfold_files *files, const char *path, uint32_t mode, int parents,
		       struct pinfold_error *ret_error)
{
	const struct files_question q = {
		.op = FILES_MKDIR,
		.flags = parents ? FILES_PARENTS : 0,
		.mode = mode ? mode : 0755,
		.path = path,
	};

	return mode > 07777 ? refuse_mode(mode, ret_error) : simple(files, &q, ret_error);
}

int pinfold_file_move(struct pinfold_files *files, const char *from, const char *to,
		      struct pinfold_error *ret_error)
{
	const struct files_question q = {.op = FILES_MOVE, .path = from, .path2 = to};

	assert(to);
	return simple(files, &q, ret_error);
}

int pinfold_file_symlink(struct pinfold_files *files, const char *target, const char *path,
			 struct pinfold_error *ret_error)
{
	const struct files_question q = {.op = FILES_SYMLINK, .path = path, .target = target};
	struct err e = ERR_INIT;

	assert(target && ret_error);
	if (*target && strlen(target) < FILES_PATH_SIZE)
		return simple(files, &q, ret_error);
	(void)err_set(&e, ERR_INVALID, "a link has a target of 1 to 4095 bytes");
	(void)err_detail(&e, "path");
	(void)err_remedy(&e, "name where it is to lead");
	return files_result(-EINVAL, &e, ret_error);
}

int pinfold_file_remove(struct pinfold_files *files, const char *path, int recursive,
			struct pinfold_error *ret_error)
{
	const struct files_question q = {
		.op = FILES_REMOVE,
		.flags = recursive ? FILES_BELOW : 0,
		.path = path,
	};

	return simple(files, &q, ret_error);
}

int pinfold_file_chmod(struct pinfold_files *files, const char *path, uint32_t mode,
		       struct pinfold_error *ret_error)
{
	const struct files_question q = {.op = FILES_CHMOD, .mode = mode, .path = path};

	return mode > 07777 ? refuse_mode(mode, ret_error) : simple(files, &q, ret_error);
}
