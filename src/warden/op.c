/* SPDX-License-Identifier: Apache-2.0 */
#include "warden/op.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hold.h"
#include "base/passfd.h"
#include "sandbox/plan.h"
#include "warden/control.h"
#include "warden/job.h"
#include "warden/queue.h"
#include "warden/visit.h"

#define VISITORS_MAX 128u			/* the guest has room for half of that */
#define LIVE_MAX_MS (366ull * 24 * 3600 * 1000) /* as --time may be */
#define CLOCKS_MS 100u
#define USAGE_MAX 256u /* of more in a list it is not told: others would wait */

/* One request, while it is looked at. */
struct op {
	struct warden *w;
	const struct link_ask *ask;
	struct ucred who; /* from the kernel, not from front */
	int *fds;
	bool kept; /* somebody has the connection now */
};

static void answer_ok(const struct op *op, uint64_t value, int fd)
{
	struct link_msg msg = {.kind = LINK_OK, .ok = {.value = value}};

	(void)passfd_send(op->fds[0], &msg, sizeof(msg), &fd, 1); /* or he is gone */
}

/* Root sees all, everybody else his own; others' are not there for him. */
static bool may_see(const struct op *op, const struct ward *ward)
{
	return !HOLD_OWNER || op->who.uid == 0 || op->who.uid == ward->owner;
}

static int find(const struct op *op, struct ward **ret, struct err *e)
{
	char id[LINK_ID_SIZE];

	memcpy(id, op->ask->id, sizeof(id));
	id[sizeof(id) - 1] = '\0';
	*ret = ward_find(op->w, id);
	if (*ret && may_see(op, *ret))
		return 0;
	(void)err_set(e, ERR_MISSING, "there is no sandbox %s", id);
	(void)err_detail(e, "sandbox");
	return err_remedy(e, "pinfold ps lists those that live");
}

static int find_running(const struct op *op, struct ward **ret, struct err *e)
{
	int r = find(op, ret, e);

	if (r < 0 || (*ret)->state == WARD_RUNNING)
		return r;
	(void)err_set(e, ERR_CONFLICT, "sandbox %s has ended", (*ret)->spec.id);
	return err_remedy(e, "pinfold logs prints what it printed; pinfold run makes a new one");
}

/* One that lives by itself: what is not can only be killed or paused. */
static int find_held(const struct op *op, struct ward **ret, struct err *e)
{
	int r = find_running(op, ret, e);

	if (r >= 0)
		ward_rouse(op->w, *ret);
	if (r < 0 || (*ret)->held)
		return r;
	(void)err_set(e, ERR_CONFLICT, "sandbox %s belongs to the run that started it",
		      (*ret)->spec.id);
	return err_remedy(e, "pinfold run --detach makes one that lives by itself");
}

static int open_block(const struct op *op, struct ask *ret, struct err *e)
{
	int r = ask_open(op->fds[1], ret, e);

	if (r >= 0 && (!link_fds_fit(ret->head->flags, op->fds + 1) || ret->head->n_ports ||
		       (ret->head->flags & ASK_LAYERS)))
		r = err_set(e, ERR_INVALID, "malformed request");
	return r;
}

/* The caller gets a socket to the guest about his command. */
static int exec_attached(struct op *op, struct ward *ward, const struct ask *ask, struct err *e)
{
	struct link_msg msg = {.kind = LINK_STARTED};
	struct sandbox_spec spec;
	struct plan *plan = NULL;
	auto_close int ours = FD_NONE, theirs = FD_NONE;
	int pair[2];

	ward_command(ward, ask, &spec);
	int r = plan_new_claim(&spec, &plan, e);
	if (r >= 0 && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		r = err_sys(e, "socket");
	if (r >= 0) {
		ours = pair[0];
		theirs = pair[1];
		r = visit(op->w, ward, op->fds[0], op->ask->flags & LINK_KEEP, e);
		op->kept = r >= 0;
	}
	/* Last: it may have to wait for our processor. */
	if (r >= 0)
		r = sandbox_give_exec(&ward->live.sb, plan, op->fds + 2, theirs, e);
	plan_free(plan);
	if (r < 0)
		return r;
	ward->nursed = true;
	ward_describe(ward, &msg);
	msg.started.warm = 0;
	msg.started.alert_kills = ward->spec.alert_kills;
	msg.started.alert_pauses = ward->spec.alert_pauses;
	msg.started.layers = ward->layered_on;
	(void)passfd_send(op->fds[0], &msg, sizeof(msg), &ours, 1); /* the first: there is room */
	return 0;
}

/* Nobody inside would answer. */
static int check_awake(const struct ward *ward, struct err *e)
{
	if (!ward->paused)
		return 0;
	(void)err_set(e, ERR_CONFLICT, "sandbox %s is paused", ward->spec.id);
	(void)err_detail(e, "paused");
	return err_remedy(e, "pinfold resume %s", ward->spec.id);
}

/* Who uid 0 is was decided when the sandbox was made. */
static int check_user(const struct ward *ward, const struct ask *ask, struct err *e)
{
	if (!(ask->head->flags & ASK_ROOT) || ward->spec.as_root)
		return 0;
	(void)err_set(e, ERR_CONFLICT, "--user root: sandbox %s was made without", ward->spec.id);
	return err_remedy(e, "make it with pinfold run --detach --user root");
}

static int op_exec(struct op *op, struct err *e)
{
	struct ward *ward = NULL;
	struct ask ask = {0};
	int r = find_held(op, &ward, e);

	if (r >= 0)
		r = check_awake(ward, e);
	if (r >= 0 && ward->n_visitors >= VISITORS_MAX) {
		r = err_set(e, ERR_LIMIT, "%s: %u callers have a command in it already",
			    ward->spec.id, ward->n_visitors);
		(void)err_remedy(e, "wait for one to end");
	}
	if (r >= 0)
		r = open_block(op, &ask, e);
	if (r >= 0)
		r = check_user(ward, &ask, e);
	if (r >= 0 && (op->ask->flags & LINK_DETACH)) {
		r = job_exec(op->w, ward, &ask, op->fds[0], e);
		op->kept = r >= 0;
	} else if (r >= 0) {
		r = exec_attached(op, ward, &ask, e);
	}
	ask_close(&ask);
	return r;
}

static void describe_usage(const struct ward *ward, bool known, struct link_item *item)
{
	struct cgroup_now now;

	item->memory_bytes = item->cpu_us = item->processes = LINK_UNKNOWN;
	if (!known || ward->state != WARD_RUNNING || !ward->live.cgroup.ops)
		return;
	cgroup_now(&ward->live.cgroup, &now);
	item->memory_bytes = now.memory_bytes;
	item->cpu_us = now.cpu_us;
	uint64_t guests = 1 + ward->nursed;
	item->processes = now.pids > guests ? now.pids - guests : 0;
}

/* Two clocks that are read one after the other differ by a little each time: then what it was
 * when it was set is said. By more when the host slept or its clock was set. */
static uint64_t expires_ms(const struct ward *ward, uint64_t now_us)
{
	uint64_t left = ward->deadline_us > now_us ? ward->deadline_us - now_us : 0;
	uint64_t at = warden_now_ms() + left / 1000;

	return at + CLOCKS_MS > ward->expires_ms && ward->expires_ms + CLOCKS_MS > at
		       ? ward->expires_ms
		       : at;
}

static void describe_item(const struct ward *ward, struct link_item *item)
{
	uint64_t now = warden_now_us();
	int status;
	bool known = job_status(ward, &status);

	*item = (struct link_item){
		.uid = ward->owner,
		.flags = (ward->held ? LINK_HELD : 0) | (ward->paused ? LINK_PAUSED : 0) |
			 (ward->command[0] ? LINK_COMMAND : 0) | (known ? LINK_KNOWN : 0) |
			 (ward->state == WARD_LEFT ? LINK_OVER : 0),
		.stop = ward->stop,
		.status = status,
		.background = jobs_running(ward),
		.alerts = ward->alerts,
		.made_ms = ward->made_ms,
		.ended_ms = ward->state == WARD_LEFT ? ward->ended_ms : 0,
	};
	if (ward->deadline_us)
		item->expires_ms = expires_ms(ward, now);
	memcpy(item->id, ward->spec.id, sizeof(ward->spec.id));
	memcpy(item->command, ward->command, sizeof(item->command));
	memcpy(&item->limits, &ward->spec.limits, sizeof(item->limits));
	item->metadata_len = ward->metadata_len;
}

static bool is_listed(const struct op *op, const struct ward *ward)
{
	return (ward->state == WARD_RUNNING || ward->state == WARD_LEFT) && may_see(op, ward);
}

/* What he may see of all, or the one that he asks for. */
static size_t choose(const struct op *op, const struct ward **list, struct ward *one)
{
	size_t n = 0;

	for (const struct ward *ward = one ? one : op->w->wards; ward; ward = ward->next) {
		if (is_listed(op, ward))
			list[n++] = ward;
		if (one)
			break;
	}
	return n;
}

static int write_list(int fd, const struct ward *const *list, size_t n)
{
	uint64_t text = n * sizeof(struct link_item);
	int r = 0;

	for (size_t i = 0; i < n && r >= 0; i++) {
		struct link_item item;

		describe_item(list[i], &item);
		describe_usage(list[i], n <= USAGE_MAX, &item);
		item.metadata = text;
		text += item.metadata_len;
		r = fd_write_all(fd, &item, sizeof(item));
	}
	for (size_t i = 0; i < n && r >= 0; i++)
		r = fd_write_all(fd, list[i]->metadata, list[i]->metadata_len);
	return r;
}

/* As a file in memory: however slow he reads, nobody waits for him. */
static int op_list(struct op *op, struct err *e)
{
	auto_close int fd = memfd_create("list", MFD_CLOEXEC);
	auto_free const struct ward **list = calloc(op->w->n_wards + 1, sizeof(*list));
	struct ward *one = NULL;
	int r = op->ask->id[0] ? find(op, &one, e) : 0;

	if (r < 0)
		return r;
	if (fd < 0 || !list)
		return err_sys(e, "list");
	size_t n = choose(op, list, one);
	if (write_list(fd, list, n) < 0)
		return err_sys(e, "list");
	answer_ok(op, n, fd);
	return 0;
}

_Static_assert(LINK_KINDS == KINDS, "the wire has all kinds");

/* Everybody who may connect may know: what he waits for, and for how many. */
static int op_state(const struct op *op)
{
	const struct warden *w = op->w;
	struct link_msg msg = {.kind = LINK_OK,
			       .state = {.running = warden_running(w),
					 .running_max = w->config->live_max,
					 .queued = w->queue.n,
					 .queued_max = w->config->queue_max,
					 .pressure = (uint32_t)w->pool.pressure.level}};

	for (unsigned i = 0; i < KINDS; i++) {
		msg.state.waiting[i] = w->waiting[i];
		msg.state.wanted[i] = w->pool.target[i];
	}
	(void)passfd_send(op->fds[0], &msg, sizeof(msg), NULL, 0); /* or he is gone */
	return 0;
}

static int op_kill(struct op *op, struct err *e)
{
	struct ward *ward = NULL;
	int r = find(op, &ward, e);

	if (r < 0)
		return r;
	if (ward->state == WARD_LEFT && op->ask->arg == SIGKILL) {
		ward_end(op->w, ward); /* forgotten */
		answer_ok(op, 0, FD_NONE);
		return 0;
	}
	if (op->ask->arg != SIGKILL)
		r = op->ask->arg > 0 && op->ask->arg < 65
			    ? find_held(op, &ward, e)
			    : err_set(e, ERR_INVALID, "there is no such signal");
	if (r < 0)
		return r;
	if (op->ask->arg != SIGKILL) {
		control_send(ward->live.sb.control, MSG_SIGNAL, (int)op->ask->arg);
		answer_ok(op, 0, FD_NONE);
		return 0;
	}
	/* He hears of its end, and that nothing is left. */
	r = visit(op->w, ward, op->fds[0], false, e);
	op->kept = r >= 0;
	if (r >= 0)
		ward_kill(ward, LINK_STOP_CALLER);
	return r;
}

/* By its control group; without one, by stopping every process, which they could notice. */
int ward_set_paused(struct ward *ward, bool pause, struct err *e)
{
	int r = cgroup_freeze(&ward->live.cgroup, pause);

	if (r < 0 && ward->held) {
		control_send(ward->live.sb.control, MSG_SIGNAL, pause ? SIGSTOP : SIGCONT);
		r = 1;
	}
	if (r < 0) {
		(void)err_set(e, ERR_UNSUPPORTED, "sandbox %s has no control group to pause it by",
			      ward->spec.id);
		return err_remedy(e, "pinfold doctor says what would give one");
	}
	ward->paused = pause;
	if (!pause && ward->withheld.id) {
		(void)notify_answer(ward->listener, &ward->withheld); /* or he is gone */
		ward->withheld.id = 0;
	}
	return r;
}

static int op_pause(struct op *op, struct err *e)
{
	struct ward *ward = NULL;
	int r = find_running(op, &ward, e);

	if (r >= 0)
		r = ward_set_paused(ward, op->ask->op == LINK_PAUSE, e);
	if (r >= 0)
		answer_ok(op, 0, FD_NONE);
	return r;
}

static int refuse_time(uint64_t ms, struct err *e)
{
	(void)err_set(e, ERR_INVALID, "DURATION: a sandbox lives for %s from now on",
		      ms ? "366 days at most" : "a moment at least");
	return err_remedy(e, "give a time between 1s and 366d; it can be given again");
}

static int op_extend(struct op *op, struct err *e)
{
	struct ward *ward = NULL;
	uint64_t ms = op->ask->arg;
	int r = find_held(op, &ward, e);

	if (r >= 0 && (ms == 0 || ms > LIVE_MAX_MS))
		r = refuse_time(ms, e);
	if (r < 0)
		return r;
	bool used = op->ask->flags & LINK_USED;
	if (used && ward->timed) {
		answer_ok(op, 0, FD_NONE);
		return 0;
	}
	ward->timed |= !used;
	control_send(ward->live.sb.control, MSG_DEADLINE,
		     (int)((ms + ward->spec.limits.grace_ms) / 1000) + 2);
	ward->warned = false;
	ward_set_deadline(op->w, ward, warden_now_us() + ms * 1000);
	answer_ok(op, 0, FD_NONE);
	return 0;
}

/* He and the guest settle it between them. What the guest writes to must be memory: anything else
 * could make it wait. */
static int op_processes(struct op *op, struct err *e)
{
	struct link_msg msg = {.kind = LINK_STARTED};
	struct ward *ward = NULL;
	auto_close int ours = FD_NONE, theirs = FD_NONE;
	int pair[2], r = find_held(op, &ward, e);

	if (r >= 0)
		r = check_awake(ward, e);
	if (r >= 0 && fcntl(op->fds[1], F_GET_SEALS) < 0)
		r = err_set(e, ERR_INVALID, "malformed request");
	if (r >= 0 && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		r = err_sys(e, "socket");
	if (r < 0)
		return r;
	ours = pair[0];
	theirs = pair[1];
	r = sandbox_ask_processes(&ward->live.sb, op->fds[1], theirs, e);
	if (r < 0)
		return r;
	(void)passfd_send(op->fds[0], &msg, sizeof(msg), &ours, 1); /* or he is gone */
	return 0;
}

/* The same, about files: a server inside opens them, with a command's rights. */
static int op_files(struct op *op, struct err *e)
{
	struct link_msg msg = {.kind = LINK_STARTED};
	struct ward *ward = NULL;
	auto_close int ours = FD_NONE, theirs = FD_NONE;
	int pair[2], r = find_held(op, &ward, e);

	if (r >= 0)
		r = check_awake(ward, e);
	if (r >= 0 && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		r = err_sys(e, "socket");
	if (r < 0)
		return r;
	ours = pair[0];
	theirs = pair[1];
	r = sandbox_serve_files(&ward->live.sb, theirs, e);
	if (r < 0)
		return r;
	(void)passfd_send(op->fds[0], &msg, sizeof(msg), &ours, 1); /* or he is gone */
	return 0;
}

/* What can be had of a command when its sandbox is gone. */
static int op_job_past(struct op *op, struct err *e)
{
	struct ward *ward = NULL;
	auto_close int fd = FD_NONE;
	uint64_t n = 0;
	int r = find(op, &ward, e);

	if (r < 0)
		return r;
	if (op->ask->op == LINK_JOB_LIST) {
		r = job_list(ward, &fd, &n, e);
		if (r >= 0)
			answer_ok(op, n, fd);
		return r;
	}
	r = op->ask->op == LINK_FOLLOW ? job_follow(op->w, ward, op->ask, op->fds[0], e)
				       : job_read(op->w, ward, op->ask, op->fds[0], e);
	op->kept = r >= 0;
	return r;
}

/* The guest does it, where pids are those of the sandbox and nothing else can be meant. */
static int signal_one(struct ward *ward, uint32_t pid, uint64_t signo, struct err *e)
{
	if (pid < 2 || pid > MSG_ONE_PID_MAX || signo < 1 || signo > 64)
		return err_set(e, ERR_INVALID, "no such process, or no such signal");
	control_send(ward->live.sb.control, MSG_SIGNAL_ONE, MSG_ONE(pid, signo));
	return 0;
}

static int op_job(struct op *op, struct err *e)
{
	const struct link_ask *ask = op->ask;
	struct ward *ward = NULL;
	int fd = FD_NONE; /* borrowed */
	int r = find_held(op, &ward, e);

	if (r < 0)
		return r;
	if (ask->op == LINK_JOB_SIGNAL && (ask->flags & LINK_ONE))
		r = signal_one(ward, ask->pid, ask->arg, e);
	else if (ask->op == LINK_JOB_SIGNAL)
		r = job_signal(ward, ask->pid, ask->arg, e);
	else if (ask->op == LINK_JOB_RESIZE)
		r = job_resize(ward, ask->pid, ask->arg, e);
	else if (ask->flags & LINK_CLOSE)
		r = job_close_input(ward, ask->pid, e);
	else
		r = job_input(op->w, ward, ask->pid, &fd, e);
	if (r >= 0)
		answer_ok(op, (uint64_t)r, fd);
	return r;
}

static int dispatch(struct op *op, struct err *e)
{
	switch (op->ask->op) {
	case LINK_RUN:
	case LINK_CREATE: return queue_take(op->w, op->ask, &op->who, op->fds, e);
	case LINK_EXEC: return op_exec(op, e);
	case LINK_LIST: return op_list(op, e);
	case LINK_STATE: return op_state(op);
	case LINK_KILL: return op_kill(op, e);
	case LINK_PAUSE:
	case LINK_RESUME: return op_pause(op, e);
	case LINK_EXTEND: return op_extend(op, e);
	case LINK_PROCESSES: return op_processes(op, e);
	case LINK_FILES: return op_files(op, e);
	case LINK_FOLLOW:
	case LINK_JOB_LIST:
	case LINK_JOB_READ: return op_job_past(op, e);
	case LINK_JOB_INPUT:
	case LINK_JOB_SIGNAL:
	case LINK_JOB_RESIZE: return op_job(op, e);
	default: return err_set(e, ERR_INVALID, "malformed request");
	}
}

static bool has_descriptors(const struct op *op)
{
	int n = 0;

	while (n < (int)LINK_FDS_MAX && op->fds[1 + n] >= 0)
		n++;
	return link_fds_are(op->ask->op, n);
}

void op_handle(struct warden *w, const struct link_ask *ask, int fds[1 + LINK_FDS_MAX])
{
	struct op op = {.w = w, .ask = ask, .fds = fds};
	struct err e = ERR_INIT;
	socklen_t len = sizeof(op.who);
	int r = 0;

	if (getsockopt(fds[0], SOL_SOCKET, SO_PEERCRED, &op.who, &len) < 0)
		r = err_sys(&e, "who asks");
	else if (shunned_has(&w->shunned, op.who.uid))
		r = shunned_refuse(&e);
	else if (!has_descriptors(&op))
		r = err_set(&e, ERR_INVALID, "malformed request");
	if (r >= 0)
		r = dispatch(&op, &e);
	if (r < 0)
		ward_refuse(fds[0], &e);
	if (op.kept)
		fds[0] = FD_NONE;
}
