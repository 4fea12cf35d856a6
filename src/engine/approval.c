/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A question to a person lies in a box, a directory of its owner alone, as two names:
 *
 *	aprID		what is asked, as JSON; locked (flock) while the asker lives
 *	aprID.sock	a datagram socket of the asker's, where the answer arrives
 *
 * The kernel says whose datagram it is: the asker's own user, the box's owner or root may answer,
 * and nobody in a sandbox can reach the box at all. The asker answers back, so that who said yes
 * knows that it counted. What has no lock was left by an asker that died; whoever sees it removes
 * it.
 */
#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pinfold/approval.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <time.h>

#include "base/fd.h"
#include "base/id.h"
#include "base/value.h"
#include "engine/approval_note.h"
#include "engine/run_int.h"
#include "warden/place.h"

#define BOX_NAME "approvals"
#define TIMEOUT_MS (2u * 60 * 1000)
#define TIMEOUT_MAX_MS (24ull * 3600 * 1000)
#define OPEN_MAX_BOX 256u /* questions in one box */
#define RECORD_MAX 16384u /* bytes of one */
#define TAKEN_MS 10000	  /* how long who answers waits for the asker to take it */
#define ANSWER_VERSION 0x61707231u
#define NOBODY ((uid_t)-1)

struct answer {
	uint32_t version, answer;
	uint64_t seconds;
};

struct pinfold_approval {
	char id[ID_SIZE];
	struct approval_note note;
	int box, record, socket, timer, set;
	enum pinfold_answer answer;
	uint64_t seconds;
};

static int failed(int r, const struct err *e, struct pinfold_error *ret_error)
{
	if (r < 0)
		error_public(e, ret_error);
	return r < 0 ? -1 : r;
}

static int open_box(const char *home, struct err *e)
{
	char path[4096 + 16], data[4096];

	if (!home && place_data(data, sizeof(data), e) < 0)
		return -EINVAL;
	int n = snprintf(path, sizeof(path), "%s/" BOX_NAME, home ? home : data);
	if (n >= (int)sizeof(path))
		return err_set(e, ERR_INVALID, "the data directory's path is too long");
	if (place_make(path, e) < 0)
		return -EIO;
	auto_close int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(e, "open %s", path);
	/* Root may look into, and answer, what is another's. */
	if ((st.st_uid != geteuid() && geteuid() != 0) || (st.st_mode & 022)) {
		(void)err_set(e, ERR_DENIED, "%s is not ours alone: who could answer?", path);
		return err_remedy(e, "chown it to the user who runs pinfold, chmod 0700");
	}
	return take_fd(&fd);
}

int pinfold_approvals_open(const char *home, struct pinfold_error *ret_error)
{
	struct err e = ERR_INIT;

	assert(ret_error);
	return failed(open_box(home, &e), &e, ret_error);
}

/* By way of the descriptor: a path may be longer than an address holds, or not ours to walk. */
static void address_of(int box, const char *id, struct sockaddr_un *ret)
{
	*ret = (struct sockaddr_un){.sun_family = AF_UNIX};
	(void)snprintf(ret->sun_path, sizeof(ret->sun_path), "/proc/self/fd/%d/%s.sock", box, id);
}

static uint64_t now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void remove_question(int box, const char *id)
{
	char name[ID_SIZE + 8];

	(void)snprintf(name, sizeof(name), "%s.sock", id);
	(void)unlinkat(box, name, 0);
	(void)unlinkat(box, id, 0);
}

static char *question_text(const struct pinfold_question *q, const char *id, uint64_t timeout_ms)
{
	auto_value *v = value_object();
	uint64_t now = now_ms();

	value_set(v, "id", value_of_str(id));
	value_set(v, "kind", value_of_str(q->kind));
	value_set(v, "what", value_of_str(q->what));
	value_set(v, "sandbox", value_of_str(q->sandbox));
	value_set(v, "tenant", value_of_str(q->tenant));
	value_set(v, "who", value_of_str(q->who));
	value_set(v, "why", value_of_str(q->why));
	value_set(v, "asked_ms", value_of_u64(now));
	value_set(v, "until_ms", value_of_u64(now + timeout_ms));
	return value_text(v, NULL);
}

/* Under a name that nobody lists until it is whole and locked. */
static int write_question(struct pinfold_approval *a, const struct pinfold_question *q,
			  uint64_t timeout_ms, struct err *e)
{
	auto_free char *text = question_text(q, a->id, timeout_ms);
	char name[ID_SIZE + 8];

	if (!text || strlen(text) > RECORD_MAX)
		return err_set(e, ERR_LIMIT, "a question of more than %u bytes", RECORD_MAX);
	(void)snprintf(name, sizeof(name), ".%s", a->id);
	a->record = openat(a->box, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (a->record < 0 || flock(a->record, LOCK_EX | LOCK_NB) < 0 ||
	    fd_write_all(a->record, text, strlen(text)) < 0 ||
	    renameat(a->box, name, a->box, a->id) < 0) {
		(void)err_sys(e, "write down a question");
		(void)unlinkat(a->box, name, 0);
		return -EIO;
	}
	return 0;
}

static int open_socket(struct pinfold_approval *a, struct err *e)
{
	struct sockaddr_un at;
	int one = 1;

	address_of(a->box, a->id, &at);
	a->socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (a->socket < 0 || bind(a->socket, (struct sockaddr *)&at, sizeof(at)) < 0 ||
	    setsockopt(a->socket, SOL_SOCKET, SO_PASSCRED, &one, sizeof(one)) < 0)
		return err_sys(e, "socket of a question");
	return 0;
}

static int open_set(struct pinfold_approval *a, uint64_t timeout_ms, struct err *e)
{
	struct itimerspec until = {.it_value = {.tv_sec = (time_t)(timeout_ms / 1000),
						.tv_nsec = (long)(timeout_ms % 1000) * 1000000}};
	struct epoll_event ev = {.events = EPOLLIN};

	a->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	a->set = epoll_create1(EPOLL_CLOEXEC);
	if (a->timer < 0 || a->set < 0 || timerfd_settime(a->timer, 0, &until, NULL) < 0 ||
	    epoll_ctl(a->set, EPOLL_CTL_ADD, a->timer, &ev) < 0 ||
	    epoll_ctl(a->set, EPOLL_CTL_ADD, a->socket, &ev) < 0)
		return err_sys(e, "wait for an answer");
	return 0;
}

static int check_question(const struct pinfold_question *q, struct err *e)
{
	if (q->size < sizeof(*q) || !q->kind || !q->what)
		return err_set(e, ERR_INVALID,
			       "a question needs its size, a kind and what it is about");
	if (q->timeout_ms > TIMEOUT_MAX_MS)
		return err_set(e, ERR_INVALID, "a question waits for a day at most");
	return 0;
}

/* Who has the box reads and answers what lies in it, also where root asks. */
static int hand_over(const struct pinfold_approval *a, struct err *e)
{
	char name[ID_SIZE + 8];
	struct stat st;

	(void)snprintf(name, sizeof(name), "%s.sock", a->id);
	if (fstat(a->box, &st) < 0)
		return err_sys(e, "box of questions");
	if (st.st_uid == geteuid())
		return 0;
	if (fchown(a->record, st.st_uid, (gid_t)-1) < 0 ||
	    fchownat(a->box, name, st.st_uid, (gid_t)-1, AT_SYMLINK_NOFOLLOW) < 0)
		return err_sys(e, "give a question to who may answer it");
	return 0;
}

static int ask(int box, const struct pinfold_question *q, struct pinfold_approval **ret,
	       struct err *e)
{
	struct pinfold_approval *a = calloc(1, sizeof(*a));
	uint64_t timeout_ms = q->timeout_ms ? q->timeout_ms : TIMEOUT_MS;
	auto_free struct pinfold_approval_info *open = NULL;
	struct pinfold_error failure;
	size_t n = 0;

	if (!a)
		return err_sys(e, "question");
	a->record = a->socket = a->timer = a->set = FD_NONE;
	a->box = fcntl(box, F_DUPFD_CLOEXEC, 3);
	int r = a->box < 0 ? err_sys(e, "box of questions") : check_question(q, e);
	if (r >= 0 && pinfold_approval_list(box, &open, &n, &failure) >= 0 && n >= OPEN_MAX_BOX)
		r = err_set(e, ERR_BUSY, "%zu questions are open already", n);
	if (r >= 0)
		r = id_make("apr", a->id, e);
	if (r >= 0)
		r = open_socket(a, e);
	if (r >= 0)
		r = write_question(a, q, timeout_ms, e);
	if (r >= 0)
		r = hand_over(a, e);
	if (r >= 0)
		r = open_set(a, timeout_ms, e);
	if (r >= 0)
		r = approval_note_asked(&a->note, a->id, q, e);
	if (r < 0)
		pinfold_approval_free(a);
	else
		*ret = a;
	return r;
}

int pinfold_approval_ask(int box, const struct pinfold_question *question,
			 struct pinfold_approval **ret_approval, struct pinfold_error *ret_error)
{
	struct err e = ERR_INIT;

	assert(question && ret_approval && ret_error);
	return failed(ask(box, question, ret_approval, &e), &e, ret_error);
}

const char *pinfold_approval_id(const struct pinfold_approval *approval)
{
	assert(approval);
	return approval->id;
}

int pinfold_approval_fd(const struct pinfold_approval *approval)
{
	assert(approval);
	return approval->set;
}

static bool may_answer(const struct pinfold_approval *a, const struct ucred *who)
{
	struct stat st;

	return who->uid == 0 || who->uid == geteuid() ||
	       (fstat(a->box, &st) == 0 && who->uid == st.st_uid);
}

static bool is_answer(const struct answer *m)
{
	return m->version == ANSWER_VERSION &&
	       (m->answer == PINFOLD_ANSWER_ONCE || m->answer == PINFOLD_ANSWER_SANDBOX ||
		m->answer == PINFOLD_ANSWER_FOR || m->answer == PINFOLD_ANSWER_NO);
}

union control {
	struct cmsghdr head;
	char room[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(sizeof(int))];
};

/* Who sent it, and where he waits to hear that it counted. */
static void take_control(struct msghdr *msg, struct ucred *ret_who, int *ret_reply)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level != SOL_SOCKET)
			continue;
		if (c->cmsg_type == SCM_CREDENTIALS && c->cmsg_len == CMSG_LEN(sizeof(*ret_who)))
			memcpy(ret_who, CMSG_DATA(c), sizeof(*ret_who));
		if (c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof(int)))
			memcpy(ret_reply, CMSG_DATA(c), sizeof(int));
	}
}

/* One datagram; false: there is none. */
static bool take_datagram(struct pinfold_approval *a)
{
	struct answer m = {0};
	union control control = {0};
	struct iovec data = {&m, sizeof(m)};
	struct msghdr msg = {.msg_iov = &data,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control)};
	ssize_t n = recvmsg(a->socket, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	struct ucred who = {.uid = (uid_t)-1};
	auto_close int reply = FD_NONE;

	if (n < 0)
		return errno == EINTR;
	take_control(&msg, &who, &reply);
	uint32_t taken = n == (ssize_t)sizeof(m) && is_answer(&m) && may_answer(a, &who) &&
			 a->answer == PINFOLD_ANSWER_NONE;
	if (taken) {
		a->answer = (enum pinfold_answer)m.answer;
		a->seconds = m.seconds;
		/* A yes that cannot be recorded is a no. */
		if (approval_note_answered(&a->note, a->answer, a->seconds, who.uid) < 0) {
			a->answer = PINFOLD_ANSWER_NO;
			taken = m.answer == PINFOLD_ANSWER_NO;
		}
	}
	if (reply >= 0) /* he may have gone */
		(void)send(reply, &taken, sizeof(taken), MSG_DONTWAIT | MSG_NOSIGNAL);
	return true;
}

enum pinfold_answer pinfold_approval_look(struct pinfold_approval *approval, uint64_t *ret_seconds)
{
	uint64_t over = 0;

	assert(approval && ret_seconds);
	while (take_datagram(approval)) /* also a second one, who is told that he is late */
		;
	if (approval->answer == PINFOLD_ANSWER_NONE &&
	    read(approval->timer, &over, sizeof(over)) == (ssize_t)sizeof(over))
		approval->answer = PINFOLD_ANSWER_LATE;
	if (approval->answer == PINFOLD_ANSWER_LATE)
		(void)approval_note_answered(&approval->note, PINFOLD_ANSWER_LATE, 0, NOBODY);
	if (approval->answer == PINFOLD_ANSWER_FOR)
		*ret_seconds = approval->seconds;
	return approval->answer;
}

void pinfold_approval_free(struct pinfold_approval *approval)
{
	if (!approval)
		return;
	(void)approval_note_answered(&approval->note, PINFOLD_ANSWER_NONE, 0, NOBODY);
	if (approval->box >= 0 && approval->id[0])
		remove_question(approval->box, approval->id);
	fd_close(&approval->record);
	fd_close(&approval->socket);
	fd_close(&approval->timer);
	fd_close(&approval->set);
	fd_close(&approval->box);
	free(approval);
}

static void copy_text(const struct value *v, const char *key, char *ret, size_t size)
{
	const char *s = value_str(value_get(v, key));

	(void)snprintf(ret, size, "%s", s ? s : "");
}

static int parse_question(const char *text, size_t len, struct pinfold_approval_info *ret)
{
	auto_value *v = NULL;
	struct err ignored = ERR_INIT;

	if (value_parse(text, len, &v, &ignored) < 0)
		return -EINVAL;
	*ret = (struct pinfold_approval_info){.asked_ms = 0};
	copy_text(v, "id", ret->id, sizeof(ret->id));
	copy_text(v, "kind", ret->kind, sizeof(ret->kind));
	copy_text(v, "what", ret->what, sizeof(ret->what));
	copy_text(v, "sandbox", ret->sandbox, sizeof(ret->sandbox));
	copy_text(v, "tenant", ret->tenant, sizeof(ret->tenant));
	copy_text(v, "who", ret->who, sizeof(ret->who));
	copy_text(v, "why", ret->why, sizeof(ret->why));
	ret->asked_ms = (uint64_t)value_int(value_get(v, "asked_ms"));
	ret->until_ms = (uint64_t)value_int(value_get(v, "until_ms"));
	return 0;
}

/* 0, or -ENOENT: there is none whose asker lives. */
static int read_question(int box, const char *id, struct pinfold_approval_info *ret)
{
	auto_close int fd =
		openat(box, id, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	auto_free char *text = malloc(RECORD_MAX);
	struct stat st;
	size_t len = 0;

	if (fd < 0 || !text || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return -ENOENT;
	if (flock(fd, LOCK_SH | LOCK_NB) == 0) {
		remove_question(box, id);
		return -ENOENT;
	}
	if (fd_read_max(fd, text, RECORD_MAX, &len) < 0 || parse_question(text, len, ret) < 0 ||
	    strcmp(ret->id, id) != 0)
		return -ENOENT;
	return 0;
}

static int by_id(const void *a, const void *b)
{
	return strcmp(((const struct pinfold_approval_info *)a)->id,
		      ((const struct pinfold_approval_info *)b)->id);
}

static int list(int box, struct pinfold_approval_info **ret_list, size_t *ret_n, struct err *e)
{
	auto_free struct pinfold_approval_info *all = calloc(OPEN_MAX_BOX, sizeof(*all));
	int copy = openat(box, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *d;
	size_t n = 0;

	if (!all || !dir) {
		(void)err_sys(e, "look for questions");
		fd_close(&copy);
		return -EIO;
	}
	while (n < OPEN_MAX_BOX && (d = readdir(dir)))
		if (id_is("apr", d->d_name) && read_question(box, d->d_name, &all[n]) == 0)
			n++;
	(void)closedir(dir);
	qsort(all, n, sizeof(*all), by_id);
	*ret_list = take_ptr(&all);
	*ret_n = n;
	return 0;
}

int pinfold_approval_list(int box, struct pinfold_approval_info **ret_list, size_t *ret_n,
			  struct pinfold_error *ret_error)
{
	struct err e = ERR_INIT;

	assert(ret_list && ret_n && ret_error);
	return failed(list(box, ret_list, ret_n, &e), &e, ret_error);
}

static int get(int box, const char *id, struct pinfold_approval_info *ret, struct err *e)
{
	if (id_is("apr", id) && read_question(box, id, ret) == 0)
		return 0;
	(void)err_set(e, ERR_MISSING, "there is no open question %.40s", id);
	(void)err_detail(e, "approval");
	return err_remedy(e, "it was answered, or its time was over; pinfold approvals lists them");
}

int pinfold_approval_get(int box, const char *id, struct pinfold_approval_info *ret_info,
			 struct pinfold_error *ret_error)
{
	struct err e = ERR_INIT;

	assert(id && ret_info && ret_error);
	return failed(get(box, id, ret_info, &e), &e, ret_error);
}

/* Did the asker take it? Who asked may be busy for a moment. */
static int wait_taken(int fd, const char *id, struct err *e)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	uint32_t taken = 0;

	if (poll(&p, 1, TAKEN_MS) <= 0 ||
	    recv(fd, &taken, sizeof(taken), MSG_DONTWAIT) != (ssize_t)sizeof(taken))
		return err_set(e, ERR_TIMEOUT, "the process that asked %s does not take the answer",
			       id);
	return taken ? 0 : err_set(e, ERR_CONFLICT, "%s was answered already, or is not yours", id);
}

/* With one end of a pair, on which the asker says that he has it. */
static int send_answer(int box, const char *id, const struct answer *m, int reply)
{
	auto_close int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un at;
	union control control = {.head = {.cmsg_len = CMSG_LEN(sizeof(int)),
					  .cmsg_level = SOL_SOCKET,
					  .cmsg_type = SCM_RIGHTS}};
	struct iovec data = {(void *)m, sizeof(*m)};
	struct msghdr msg = {.msg_name = &at,
			     .msg_namelen = sizeof(at),
			     .msg_iov = &data,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = CMSG_SPACE(sizeof(int))};

	address_of(box, id, &at);
	memcpy(CMSG_DATA(&control.head), &reply, sizeof(reply));
	return fd < 0 || sendmsg(fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

static int answer(int box, const char *id, const struct answer *m, struct err *e)
{
	auto_free struct pinfold_approval_info *info = malloc(sizeof(*info));
	int pair[2];

	if (!is_answer(m) || (m->answer == PINFOLD_ANSWER_FOR) != (m->seconds != 0))
		return err_set(e, ERR_INVALID, "an answer is once, sandbox, a time, or no");
	if (!info || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(e, "answer");
	auto_close int ours = pair[0];
	auto_close int theirs = pair[1];
	if (get(box, id, info, e) < 0)
		return -ENOENT;
	int r = send_answer(box, id, m, theirs);
	if (r < 0) {
		errno = -r;
		return err_sys(e, "answer %s", id);
	}
	fd_close(&theirs); /* an asker that dies is noticed */
	return wait_taken(ours, id, e);
}

int pinfold_approval_answer(int box, const char *id, enum pinfold_answer how, uint64_t seconds,
			    struct pinfold_error *ret_error)
{
	struct err e = ERR_INIT;
	const struct answer m = {ANSWER_VERSION, (uint32_t)how, seconds};

	assert(id && ret_error);
	return failed(answer(box, id, &m, &e), &e, ret_error);
}
