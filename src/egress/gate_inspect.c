/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inspection in the gate: each sandbox whose policy looks into TLS has an authority, of which it is
 * told the certificate; the certificates by which servers are believed come from the starter, since
 * the gate may open no file. They are parsed when the first connection needs them.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/passfd.h"
#include "egress/gate_int.h"

#define SEALS (F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL)

static int roots_fd = FD_NONE; /* until they are parsed */

int inspect_open(struct box *b, int roots, struct err *e)
{
	struct gate_ca ca = {""};
	struct stat st;

	if (roots < 0)
		return 0;
	if ((fcntl(roots, F_GET_SEALS) & SEALS) != SEALS || fstat(roots, &st) < 0 ||
	    st.st_size <= 0 || st.st_size > (off_t)GATE_ROOTS_MAX)
		return err_set(e, ERR_INVALID, "malformed certificates");
	if (!gate.roots && roots_fd < 0)
		roots_fd = fcntl(roots, F_DUPFD_CLOEXEC, 0);
	int r = authority_new(b->id, &b->authority, e);
	if (r >= 0)
		(void)snprintf(ca.pem, sizeof(ca.pem), "%s", authority_pem(b->authority));
	int sent = passfd_send(b->reports.fd, &ca, sizeof(ca), NULL, 0);
	return r < 0 ? r : sent;
}

static int parse_roots(struct err *e)
{
	struct stat st;

	if (gate.roots)
		return 0;
	if (roots_fd < 0 || fstat(roots_fd, &st) < 0)
		return err_set(e, ERR_INTERNAL, "no certificates");
	void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, roots_fd, 0);
	if (p == MAP_FAILED)
		return err_sys(e, "certificates");
	int r = inspect_roots_new(p, (size_t)st.st_size, &gate.roots, e);
	(void)munmap(p, (size_t)st.st_size);
	fd_close(&roots_fd);
	return r;
}

struct stage *inspect_stage_new(struct conn *c)
{
	struct err e = ERR_INIT;

	if (!c->box->authority || parse_roots(&e) < 0) {
		box_deny(c->box, &c->host, c->port, NULL, "https",
			 e.text[0] ? e.text : "this connection cannot be inspected");
		return NULL;
	}
	return inspect_new(c->box->authority, gate.roots, &c->host, http_stage_new(c, false));
}
