/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Secrets in the gate: the one place outside of the vault where their values are, in a process that
 * nobody may trace and that leaves no core dump. What may be done with them is secret.h's.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include "base/fd.h"
#include "egress/gate_int.h"

#define SEALS (F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL)

int secrets_open(struct box *b, int fd, struct err *e)
{
	struct stat st;

	if (fd < 0)
		return 0;
	if ((fcntl(fd, F_GET_SEALS) & SEALS) != SEALS || fstat(fd, &st) < 0 ||
	    st.st_size != (off_t)sizeof(*b->secrets))
		return err_set(e, ERR_INVALID, "malformed secrets");
	b->secrets = malloc(sizeof(*b->secrets));
	void *p = mmap(NULL, sizeof(*b->secrets), PROT_READ, MAP_PRIVATE, fd, 0);
	if (!b->secrets || p == MAP_FAILED)
		return err_sys(e, "secrets");
	memcpy(b->secrets, p, sizeof(*b->secrets));
	(void)munmap(p, sizeof(*b->secrets));
	if (!secret_set_is_good(b->secrets)) {
		secrets_close(b);
		return err_set(e, ERR_INVALID, "malformed secrets");
	}
	return 0;
}

void secrets_close(struct box *b)
{
	if (b->secrets)
		explicit_bzero(b->secrets, sizeof(*b->secrets));
	free(b->secrets);
	b->secrets = NULL;
}

static uint64_t wall_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

void secrets_alarm(struct conn *c, const char *where)
{
	secrets_alarm_of(c->box, &c->host, c->port, where);
}

void secrets_alarm_of(struct box *b, const struct name *host, uint16_t port, const char *where)
{
	char what[192];

	(void)snprintf(what, sizeof(what), GATE_STRAY "%s to %.100s:%u", where, host->text, port);
	box_deny(b, host, port, what, GATE_RULE_SECRET,
		 "a secret goes out only where the rule says, towards its own host; here its "
		 "placeholder was sent elsewhere, which is worth nothing");
}

const char *secrets_judge(struct conn *c, const struct http_head *h, const struct egress_verdict *v)
{
	const char *why = NULL;
	char what[192];

	switch (secret_check(c->box->secrets, h, v, wall_ms(), &why)) {
	case SECRET_FINE: return NULL;
	case SECRET_STRAY: secrets_alarm(c, "request"); return why;
	case SECRET_FOREIGN:
	case SECRET_GONE: break;
	}
	(void)snprintf(what, sizeof(what), "request to %.80s:%u: %.90s", c->host.text, c->port,
		       why);
	box_deny(c->box, &c->host, c->port, what, v->name,
		 "the gate adds the credential itself: send none, or the placeholder in its "
		 "variable");
	return why;
}
