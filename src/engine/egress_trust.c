/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Certificates of a run that has a policy: the host's authorities go to the gate, which believes
 * servers by them. Where connections are inspected the gate makes one for the sandbox, which goes
 * inside behind the host's.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/passfd.h"
#include "egress/jks.h"
#include "engine/run_int.h"

#define ANSWER_MS 5000
#define SEALS (F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL)

/* Of Debian, Red Hat, SUSE, Alpine. */
static const char *const places[] = {
	"/etc/ssl/certs/ca-certificates.crt",
	"/etc/pki/tls/certs/ca-bundle.crt",
	"/etc/ssl/ca-bundle.pem",
	"/etc/ssl/cert.pem",
};

static int open_roots(struct err *e)
{
	const char *own = getenv("SSL_CERT_FILE");
	int fd = own ? open(own, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : FD_NONE;

	if (own && fd < 0)
		return err_sys(e, "open SSL_CERT_FILE, %s", own);
	for (size_t i = 0; fd < 0 && i < sizeof(places) / sizeof(places[0]); i++)
		fd = open(places[i], O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0) {
		(void)err_set(e, ERR_MISSING, "no certificates of authorities on this host");
		return err_remedy(e, "install the package ca-certificates: the policy looks into "
				     "TLS, and servers are believed by them");
	}
	return fd;
}

int roots_file(struct pinfold_run *run, int *ret_fd, struct err *e)
{
	struct err missing = ERR_INIT;
	auto_close int fd = open_roots(&missing);
	auto_close int copy = FD_NONE;
	size_t len = 0;

	/* Servers are believed by nothing then: TLS that is passed through is refused there. */
	if (fd < 0 && !run->req.spec.egress.inspects)
		return 0;
	if (fd < 0) {
		*e = missing;
		return fd;
	}
	/* Room for our own behind them. */
	run->certs = calloc(1, GATE_ROOTS_MAX + sizeof(run->ca) + 2);
	if (!run->certs || fd_read_max(fd, run->certs, GATE_ROOTS_MAX, &len) < 0 || len == 0)
		return err_sys(e, "read the certificates of authorities");
	copy = memfd_create("roots", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (copy < 0 || fd_write_all(copy, run->certs, len) < 0 ||
	    fcntl(copy, F_ADD_SEALS, SEALS) < 0)
		return err_sys(e, "certificates");
	*ret_fd = take_fd(&copy);
	return 0;
}

/* Java has a list of its own. Where that is of a kind that we cannot add to, or there is none, Java
 * believes whom it believed, and refuses what the gate says: nothing is weaker for it. */
static void trust_for_java(struct pinfold_run *run)
{
	auto_close int fd = open("/" SPEC_JAVA_CERTS, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	auto_free void *all = fd < 0 ? NULL : malloc(GATE_ROOTS_MAX);
	size_t len = 0, made_len = 0;

	if (!all || fd_read_max(fd, all, GATE_ROOTS_MAX, &len) < 0 || len == GATE_ROOTS_MAX ||
	    jks_with(all, len, run->ca.pem, &run->java_certs, &made_len) < 0)
		return;
	run->req.spec.egress.java = run->java_certs;
	run->req.spec.egress.java_len = made_len;
}

int egress_trust(struct pinfold_run *run, struct err *e)
{
	struct pollfd pfd = {.fd = run->reports, .events = POLLIN};
	int r = poll(&pfd, 1, ANSWER_MS) == 1 ? 0 : -ETIMEDOUT;

	if (r == 0)
		r = passfd_receive(run->reports, &run->ca, sizeof(run->ca), NULL, 0, MSG_DONTWAIT);
	run->ca.pem[sizeof(run->ca.pem) - 1] = '\0';
	if (r < 0 || !run->ca.pem[0])
		return err_set(e, ERR_INTERNAL, "the gate made no authority for the sandbox");
	size_t len = strlen(run->certs);
	(void)snprintf(run->certs + len, sizeof(run->ca) + 2, "\n%s", run->ca.pem);
	run->req.spec.egress.ca = run->ca.pem;
	run->req.spec.egress.certs = run->certs;
	trust_for_java(run);
	return 0;
}
