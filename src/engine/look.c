/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where we are: a child of the warden, nobody, without capabilities; open: the socket alone. After
 * PR_SET_SECCOMP read, write and exit are all there is: memory is what was there before.
 */
#include "engine/look.h"

#include <linux/close_range.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "alert/output.h"
#include "base/sys.h"
#include "sandbox/hold.h"
#include "wire/look.h"

#define TOLD_MAX 8u /* different ones of a stream */

struct stream {
	struct alert_output output;
	const char *told[TOLD_MAX];
	unsigned n_told;
};

static struct place {
	struct look_who who;
	struct stream streams[2];
} places[LOOK_PLACES];

static union {
	struct look_msg msg;
	char bytes[sizeof(struct look_msg) + LOOK_BYTES_MAX];
} packet;

struct where {
	int sock;
	const struct place *place;
	struct stream *stream;
};

/* Once of each kind: who prints many would have the warden busy with it. */
static void found(enum alert_rule rule, const char *what, void *arg)
{
	const struct where *at = arg;
	struct stream *s = at->stream;
	struct look_found one = {.who = at->place->who, .rule = rule};

	for (unsigned i = 0; i < s->n_told; i++)
		if (s->told[i] == what)
			return;
	if (s->n_told == TOLD_MAX)
		return;
	s->told[s->n_told++] = what;
	memcpy(one.what, what, strnlen(what, sizeof(one.what) - 1));
	(void)!write(at->sock, &one, sizeof(one)); /* whoever reads is there, or all is over */
}

static void take(int sock, const struct look_msg *m, const char *data, size_t len)
{
	struct place *p = &places[m->place % LOOK_PLACES];
	struct where at = {sock, p, &p->streams[m->stream & 1]};

	if (m->kind == LOOK_OUTPUT && HOLD_ALERTS) {
		alert_output_look(&at.stream->output, data, len, found, &at);
	} else if (m->kind == LOOK_NEW && len == sizeof(p->who)) {
		memset(p, 0, sizeof(*p));
		memcpy(&p->who, data, sizeof(p->who));
		alert_output_init(&p->streams[0].output, m->pty);
		alert_output_init(&p->streams[1].output, m->pty);
	}
}

void look_run(int sock)
{
	(void)prctl(PR_SET_NAME, "pinfold-look", 0, 0, 0);
	(void)close_range(0, (unsigned)sock - 1, 0);
	if (HOLD_LOOK_RIGHTS && prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0) < 0)
		_exit(1);
	for (;;) {
		ssize_t n = read(sock, packet.bytes, sizeof(packet.bytes));

		if (n < (ssize_t)sizeof(packet.msg))
			break;
		take(sock, &packet.msg, packet.bytes + sizeof(packet.msg),
		     (size_t)n - sizeof(packet.msg));
	}
	for (;;)
		(void)sys1(SYS_exit, 0); /* libc's would end the group, which is not allowed */
}
