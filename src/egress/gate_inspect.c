/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inspection in the gate: each sandbox whose policy looks into TLS has an authority, of which it is
 * told the certificate; the certificates by which servers are believed, here and in gate_check.c,
 * come from the starter, since the gate may open no file. They are parsed when first needed.
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

/* Until they are parsed. */
static struct {
	void *at;
	size_t len;
} pem;

int inspect_open(struct box *b, int roots, bool inspects, struct err *e)
{
	struct gate_ca ca = {""};
	struct stat st;

	if (roots < 0)
		return 0;
	if ((fcntl(roots, F_GET_SEALS) & SEALS) != SEALS || fstat(roots, &st) < 0 ||
	    st.st_size <= 0 || st.st_size > (off_t)GATE_ROOTS_MAX)
		return err_set(e, ERR_INVALID, "malformed certificates");
	if (!gate.roots && !pem.at) {
		void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, roots, 0);

		if (p == MAP_FAILED)
			return err_sys(e, "certificates");
		pem.at = p;
		pem.len = (size_t)st.st_size;
	}
	if (!inspects)
		return 0;
	b->sessions = channel_sessions_new(); /* without it handshakes are longer */
	int r = authority_new(b->id, &b->authority, e);
	if (r >= 0)
		(void)snprintf(ca.pem, sizeof(ca.pem), "%s", authority_pem(b->authority));
	int sent = passfd_send(b->reports.fd, &ca, sizeof(ca), NULL, 0);
	return r < 0 ? r : sent;
}

struct channel_roots *inspect_roots(struct err *e)
{
	if (gate.roots)
		return gate.roots;
	if (!pem.at) {
		(void)err_set(e, ERR_INTERNAL, "no certificates");
		return NULL;
	}
	(void)channel_roots_new(pem.at, pem.len, &gate.roots, e); /* NULL tells */
	(void)munmap(pem.at, pem.len);
	pem.at = NULL;
	return gate.roots;
}

static struct stage *read_inside(void *arg, bool is_h2)
{
	return is_h2 ? mux_stage_new(arg) : http_stage_new(arg, false);
}

struct stage *inspect_stage_new(struct conn *c)
{
	struct inspect_inner inner = {read_inside, c, true, false, c->box->sessions, c->port};
	struct err e = ERR_INIT;

	if (!c->box->authority || !inspect_roots(&e)) {
		box_deny(c->box, &c->host, c->port, NULL, "https",
			 e.text[0] ? e.text : "this connection cannot be inspected");
		return NULL;
	}
	return inspect_new(c->box->authority, gate.roots, &c->host, &inner);
}
