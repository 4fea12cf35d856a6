/* SPDX-License-Identifier: Apache-2.0 */
/* The server itself, and the daemon that its tools need: asked for when the first of them is
 * called. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "base/fd.h"
#include "mcp/ask.h"
#include "mcp/asked.h"
#include "mcp/mcp_int.h"
#include "mcp/names.h"
#include "mcp/pending.h"

int mcp_new(struct api *api, const struct mcp_options *o, struct mcp **ret, struct err *e)
{
	struct mcp *m = calloc(1, sizeof(*m));

	if (!m)
		return err_sys(e, "MCP server");
	m->api = api;
	m->options = *o;
	m->transfer_fd = FD_NONE;
	m->parked_end = &m->parked;
#ifdef PINFOLD_FIXTURES
	m->fixtures = o->fixtures ? &mcp_fixtures : NULL;
#endif
	int r = approvals_new(&m->approvals, e);
	if (r >= 0)
		r = pendings_new(api, &m->pendings, e);
	if (r >= 0)
		r = asked_new(m, &m->asked, e);
	if (r >= 0)
		r = names_new(&m->names, e);
	if (r >= 0 && o->transfer_dir) {
		m->transfer_fd = open(o->transfer_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (m->transfer_fd < 0)
			r = err_sys(e, "--transfer-dir %s", o->transfer_dir);
	}
	if (r < 0) {
		mcp_free(m);
		return r;
	}
	*ret = m;
	return 0;
}

void mcp_free(struct mcp *m)
{
	if (!m)
		return;
	http_sessions_free(m);
	asked_free(m->asked);
	pendings_free(m->pendings);
	approvals_free(m->approvals);
	names_free(m->names);
	fd_close(&m->transfer_fd);
	free(m);
}

static void fail_call(struct call *c, const struct err *e)
{
	c->error = *e;
	c->result = -EIO;
	c->done(c);
}

/* All that waited for the daemon. */
static void unpark(struct mcp *m)
{
	struct call *list = m->parked;

	m->parked = NULL;
	m->parked_end = &m->parked;
	while (list) {
		struct call *c = list;
		struct err e = m->home_error;

		list = c->next;
		if (m->home_state == HOME_FAILED || call_start(c, &e) < 0)
			fail_call(c, &e);
	}
}

static void home_ready(struct watch *w, uint32_t events)
{
	struct mcp *m = (struct mcp *)((char *)w - offsetof(struct mcp, home_watch));
	int r = m->home->ready(m->home, &m->home_error);

	(void)events;
	if (r == 0)
		return;
	watch_done(w);
	/* The next call tries again. */
	m->home_state = r > 0 ? HOME_READY : HOME_FAILED;
	unpark(m);
	if (r < 0)
		m->home_state = HOME_COLD;
}

static int begin(struct mcp *m, struct err *e)
{
	int fd = FD_NONE, r = m->home->begin(m->home, &fd, e);

	if (r < 0)
		return r;
	m->home_state = r > 0 ? HOME_READY : HOME_STARTING;
	if (r > 0)
		return 0;
	watch_init(&m->home_watch, m->api->loop, fd, home_ready);
	r = watch_set(&m->home_watch, EPOLLIN);
	if (r < 0) {
		errno = -r;
		return err_sys(e, "watch the daemon");
	}
	return 0;
}

int home_call(struct mcp *m, struct call *c, struct err *e)
{
	if (m->home_state == HOME_COLD && begin(m, e) < 0)
		return -EIO;
	if (m->home_state == HOME_READY)
		return call_start(c, e);
	c->next = NULL;
	*m->parked_end = c;
	m->parked_end = &c->next;
	return 0;
}
