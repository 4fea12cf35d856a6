/* SPDX-License-Identifier: Apache-2.0 */
/* Sandboxes that live, as the daemon knows them: one, or all of the caller's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "engine/run_int.h"

static const char *item_status(const struct link_item *item)
{
	if (!(item->flags & LINK_OVER))
		return item->flags & LINK_PAUSED ? "paused" : "running";
	switch (remote_stop(item->stop)) {
	case STOP_TIME: return "timeout";
	case STOP_MEMORY: return "oom";
	case STOP_CPU_TIME:
	case STOP_DISK:
	case STOP_ALERT:
	case STOP_CALLER: return "killed";
	case STOP_NONE: break;
	}
	if (!(item->flags & LINK_KNOWN))
		return "killed";
	return WIFEXITED(item->status) ? "exited" : "signaled";
}

static void take_numbers(const struct link_item *item, struct pinfold_sandbox_info *ret)
{
	const struct ask_limits *l = &item->limits;

	ret->memory_limit = l->memory_bytes;
	ret->pids_limit = l->pids;
	ret->disk_limit = l->disk_bytes;
	ret->cpus_milli = l->cpus_milli;
	ret->nofile = l->nofile;
	ret->memory_bytes = item->memory_bytes;
	ret->processes = item->processes;
	ret->cpu_ms = item->cpu_us == LINK_UNKNOWN ? LINK_UNKNOWN : item->cpu_us / 1000;
}

/* *ret is empty. */
static void take_item(const struct link_item *item, struct pinfold_sandbox_info *ret)
{
	bool known = (item->flags & LINK_OVER) && (item->flags & LINK_KNOWN);

	ret->status = item_status(item);
	ret->uid = item->uid;
	ret->detached = (item->flags & LINK_HELD) != 0;
	ret->background = item->background;
	ret->alerts = item->alerts;
	ret->exit_code = known && WIFEXITED(item->status) ? WEXITSTATUS(item->status) : -1;
	ret->signal = known && WIFSIGNALED(item->status) ? WTERMSIG(item->status) : 0;
	ret->created_ms = item->made_ms;
	ret->expires_ms = item->expires_ms;
	ret->ended_ms = item->ended_ms;
	ret->isolation = "strict"; /* the daemon has that level, and that image */
	ret->image = "host";
	take_numbers(item, ret);
	(void)snprintf(ret->id, sizeof(ret->id), "%.*s", (int)sizeof(item->id) - 1, item->id);
	(void)snprintf(ret->command, sizeof(ret->command), "%.*s", (int)sizeof(item->command) - 1,
		       item->command);
}

static int take_one(int fd, uint64_t i, struct pinfold_sandbox_info *ret, struct err *e)
{
	struct link_item item;
	size_t most = sizeof(ret->metadata) - 2; /* two NULs stay behind it */

	if (pread(fd, &item, sizeof(item), (off_t)(i * sizeof(item))) != (ssize_t)sizeof(item))
		return err_sys(e, "list");
	take_item(&item, ret);
	most = item.metadata_len < most ? item.metadata_len : most;
	if (most > 0 && pread(fd, ret->metadata, most, (off_t)item.metadata) != (ssize_t)most)
		return err_sys(e, "list");
	return 0;
}

static int take_list(int fd, uint64_t n, struct pinfold_sandbox_info **ret, size_t *ret_n,
		     struct err *e)
{
	if (fd < 0 || n > 1000000)
		return err_set(e, ERR_INTERNAL, "the daemon gave an unexpected answer");
	auto_free struct pinfold_sandbox_info *list = calloc(n + 1, sizeof(*list));
	if (!list)
		return err_sys(e, "list");
	for (uint64_t i = 0; i < n; i++)
		if (take_one(fd, i, &list[n - 1 - i], e) < 0) /* oldest first */
			return -EIO;
	*ret = take_ptr(&list);
	*ret_n = n;
	return 0;
}

int pinfold_sandbox_list(struct pinfold_sandbox_info **ret_list, size_t *ret_n,
			 struct pinfold_error *ret_error)
{
	struct link_ask ask = {.op = LINK_LIST};
	struct link_msg msg;
	struct err e = ERR_INIT;
	auto_close int fd = FD_NONE;
	int r = sandbox_ask(&ask, NULL, NULL, &msg, &fd, &e);

	if (r >= 0)
		r = take_list(fd, msg.ok.value, ret_list, ret_n, &e);
	return sandbox_result(r, &e, ret_error);
}

void pinfold_sandbox_list_free(struct pinfold_sandbox_info *list)
{
	free(list);
}

int pinfold_sandbox_get(const char *id, struct pinfold_sandbox_info *ret_info,
			struct pinfold_error *ret_error)
{
	struct link_ask ask = {.op = LINK_LIST};
	struct link_msg msg;
	struct err e = ERR_INIT;
	auto_close int fd = FD_NONE;
	int r = sandbox_check_id(id, &e);

	if (r >= 0) {
		(void)snprintf(ask.id, sizeof(ask.id), "%s", id);
		r = sandbox_ask(&ask, NULL, NULL, &msg, &fd, &e);
	}
	if (r >= 0 && (fd < 0 || msg.ok.value != 1)) { /* it is just being made, or removed */
		r = err_set(&e, ERR_MISSING, "there is no sandbox %s", id);
		(void)err_detail(&e, "sandbox");
		(void)err_remedy(&e, "pinfold ps lists those that live");
	}
	if (r >= 0) {
		memset(ret_info, 0, sizeof(*ret_info));
		r = take_one(fd, 0, ret_info, &e);
	}
	return sandbox_result(r, &e, ret_error);
}

int pinfold_daemon_info(struct pinfold_daemon_info *ret_info, struct pinfold_error *ret_error)
{
	static const char *const kinds[LINK_KINDS] = {"plain", "python", "node", "r"};
	static const char *const pressures[] = {"none", "some", "heavy"};
	struct link_ask ask = {.op = LINK_STATE};
	struct link_msg msg;
	struct err e = ERR_INIT;
	int r = sandbox_ask(&ask, NULL, NULL, &msg, NULL, &e);

	if (r >= 0) {
		const struct link_state *s = &msg.state;

		for (unsigned i = 0; i < LINK_KINDS; i++) {
			ret_info->pools[i].kind = kinds[i];
			ret_info->pools[i].waiting = s->waiting[i];
			ret_info->pools[i].wanted = s->wanted[i];
		}
		ret_info->running = s->running;
		ret_info->running_max = s->running_max;
		ret_info->queued = s->queued;
		ret_info->queued_max = s->queued_max;
		ret_info->pressure = pressures[s->pressure < 3 ? s->pressure : 2];
	}
	return sandbox_result(r, &e, ret_error);
}
