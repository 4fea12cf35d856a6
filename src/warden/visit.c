/* SPDX-License-Identifier: Apache-2.0 */
#include "warden/visit.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/passfd.h"
#include "warden/caller.h"

struct visitor {
	int link;
	bool keep; /* he stays on his connection when his command has ended */
	uint64_t oom_before, refused_before; /* when he came */
	struct source source;
	struct visitor *next;
};

int visit(struct warden *w, struct ward *ward, int link, bool keep, struct err *e)
{
	struct visitor *v = calloc(1, sizeof(*v));

	if (!v)
		return err_sys(e, "visit");
	*v = (struct visitor){.link = link,
			      .keep = keep,
			      .oom_before = ward_oom_kills(ward),
			      .refused_before = ward_pids_refused(ward),
			      .source = {SOURCE_VISITOR, ward, v},
			      .next = ward->visitors};
	int r = warden_watch(w, link, &v->source, e);
	if (r < 0) {
		free(v);
		return r;
	}
	ward->visitors = v;
	ward->n_visitors++;
	return 0;
}

void visitors_tell(const struct ward *ward, const struct link_msg *msg)
{
	for (const struct visitor *v = ward->visitors; v; v = v->next)
		(void)passfd_send(v->link, msg, sizeof(*msg), NULL, 0);
}

static void leave(struct warden *w, struct visitor *v)
{
	v->source.ward->n_visitors--;
	warden_unwatch(w, v->link);
	if (v->keep)
		caller_keep(w, &v->link);
	fd_close(&v->link);
	free(v);
}

void visitors_leave(struct warden *w, struct ward *ward)
{
	while (ward->visitors) {
		struct visitor *v = ward->visitors;

		ward->visitors = v->next;
		leave(w, v);
	}
}

/* His command has ended, and he would know whether somebody was killed for want of memory
 * meanwhile, or could not be started. */
static void answer(const struct visitor *v)
{
	const struct ward *ward = v->source.ward;
	struct link_msg msg = {
		.kind = LINK_OK,
		.ok = {.value = ward_oom_kills(ward) - v->oom_before,
		       .pids_refused = ward_pids_refused(ward) > v->refused_before},
	};

	(void)passfd_send(v->link, &msg, sizeof(msg), NULL, 0); /* or he is gone */
}

/* Whatever he says, or that he is gone, he leaves. */
void visit_event(struct warden *w, const struct source *source)
{
	struct visitor **at = &source->ward->visitors;
	struct link_ask msg = {0};
	int fds[1 + LINK_FDS_MAX];

	while (*at != source->of)
		at = &(*at)->next;
	struct visitor *v = *at;
	int n = caller_receive(w, v->link, &msg, fds);
	if (n == -EAGAIN)
		return;
	bool again = n >= 0 && v->keep && caller_asks_again(&msg);
	if (n >= 0 && msg.op == LINK_TELL && msg.arg != LINK_LEAVE)
		answer(v);
	v->keep &= n == 0 && msg.op == LINK_TELL;
	*at = v->next;
	if (again) {
		warden_unwatch(w, v->link);
		fds[0] = take_fd(&v->link);
	}
	leave(w, v);
	if (again)
		caller_ask(w, &msg, fds);
	while (!again && n > 0)
		fd_close(&fds[n--]);
}
