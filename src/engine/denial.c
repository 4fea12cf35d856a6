/* SPDX-License-Identifier: Apache-2.0 */
/* What was refused, counted, with what would allow it. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "engine/run_int.h"

#define NETWORK_HINT                                                                               \
	"this sandbox has no network; fetch what is needed on the host and bring it in with "      \
	"--dir or --stdin, or name the host with --allow HOST:PORT"
#define PORT_HINT "no rule of the policy names this port; --allow HOST:PORT names one"

static struct run_denial *find(struct pinfold_run *run, const char *kind, const char *what)
{
	for (unsigned i = 0; i < run->n_denials; i++) {
		struct run_denial *d = &run->denials[i];

		if (strcmp(d->kind, kind) == 0 && strcmp(d->what, what) == 0)
			return d;
	}
	if (run->n_denials == RUN_DENIALS_MAX) {
		run->denials_omitted++;
		return NULL;
	}
	struct run_denial *d = &run->denials[run->n_denials++];
	*d = (struct run_denial){.kind = kind};
	(void)snprintf(d->what, sizeof(d->what), "%s", what);
	return d;
}

/* Whoever listens on this port inside is the gate, which says by itself what it refuses. */
static bool is_gated(const struct pinfold_run *run, const struct notify_event *ev)
{
	const struct sandbox_egress *out = &run->req.spec.egress;

	if (!ev->network || !out->n_ports)
		return false;
	/* Port 0 is how libc finds out which address it would come from. */
	if (ev->port == GATE_DNS_PORT || ev->port == 0)
		return true;
	if (strncmp(ev->what, "connect", strlen("connect")) != 0)
		return false; /* datagrams */
	for (unsigned i = 0; i < out->n_ports; i++)
		if (out->ports[i] == ev->port)
			return true;
	return false;
}

void run_deny_by_gate(struct pinfold_run *run, const char *kind, const struct notify_event *ev,
		      const char *what, uint64_t count)
{
	struct run_denial *d = find(run, kind, what);

	if (!d)
		return;
	d->count += count;
	d->by_gate = true;
	(void)snprintf(d->hint, sizeof(d->hint), "%s", ev->hint);
	(void)snprintf(d->host, sizeof(d->host), "%s", ev->host);
	d->port = ev->port;
}

void run_deny(struct pinfold_run *run, const char *kind, const struct notify_event *ev)
{
	struct run_denial *d = is_gated(run, ev) ? NULL : find(run, kind, ev->what);

	if (!d || d->count++ > 0)
		return;
	(void)snprintf(d->hint, sizeof(d->hint), "%s",
		       ev->network ? run->req.spec.egress.n_ports ? PORT_HINT : NETWORK_HINT
		       : ev->hint  ? ev->hint
				   : "");
	(void)snprintf(d->host, sizeof(d->host), "%s", ev->host);
	d->port = ev->port;
}

void run_deny_path(struct pinfold_run *run, const char *what, const char *hint)
{
	struct run_denial *d = find(run, "path", what);

	if (!d || d->count++ > 0)
		return;
	(void)snprintf(d->hint, sizeof(d->hint), "%s", hint);
}

/* Is this argument a file of the caller's that the command could not see? */
static bool hidden(const struct pinfold_run *run, const char *arg)
{
	static const char *const shown[] = {"/usr/", "/bin/", "/sbin/", "/lib",
					    "/etc/", "/dev/", "/proc/", "/work/"};
	struct stat st;

	if (arg[0] == '-' || arg[0] == '\0' || strlen(arg) > 1024 || stat(arg, &st) < 0 ||
	    !S_ISREG(st.st_mode))
		return false;
	if (arg[0] != '/')
		return !(run->req.spec.dir_fd >= 0 &&
			 strncmp(run->req.spec.workdir, "/work", 5) == 0);
	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
		if (strncmp(arg, shown[i], strlen(shown[i])) == 0)
			return false;
	return true;
}

/* A command that failed and was given the name of a file here: most likely it looked for it. */
void run_hidden_arguments(struct pinfold_run *run)
{
	const char *const *argv = run->req.spec.argv;

	if (run->req.flags & PINFOLD_FOREIGN)
		return;

	for (unsigned i = 1; argv[0] && argv[i] && i < 64; i++)
		if (hidden(run, argv[i]))
			run_deny_path(run, argv[i],
				      "the file exists on the host but is hidden inside; show its "
				      "directory with --dir (it appears at /work, see --workdir)");
}

void run_deny_secrets(struct pinfold_run *run)
{
	const struct secrets *s = &run->req.secrets;
	char what[192], hint[256];

	for (unsigned i = 0; i < s->n; i++) {
		(void)snprintf(what, sizeof(what), "/work/%.180s", s->path[i]);
		(void)snprintf(hint, sizeof(hint),
			       "hidden: it looks like a secret (%s); --show %.120s "
			       "shows it",
			       s->what[i], s->path[i]);
		run_deny_path(run, what, hint);
	}
}
