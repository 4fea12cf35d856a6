/* SPDX-License-Identifier: Apache-2.0 */
/* What was refused, counted, with what would allow it. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "engine/run_int.h"
#include "sandbox/plan.h"

#define NETWORK_HINT                                                                               \
	"this sandbox has no network; fetch what is needed on the host and bring it in with "      \
	"--dir or --stdin, or name the host with --allow HOST:PORT"
#define PORT_HINT "no rule of the policy names this port; --allow HOST:PORT names one"

/* Who tries many names does not hide what follows, nor anything an alarm. */
static unsigned room_for(const char *what)
{
	if (strncmp(what, GATE_STRAY, sizeof(GATE_STRAY) - 1) == 0)
		return RUN_DENIALS_MAX;
	return strncmp(what, GATE_LOOKUP, sizeof(GATE_LOOKUP) - 1) == 0 ? RUN_DENIALS_MAX / 2
									: RUN_DENIALS_MAX - 10;
}

static struct run_denial *find(struct pinfold_run *run, const char *kind, const char *what)
{
	for (unsigned i = 0; i < run->n_denials; i++) {
		struct run_denial *d = &run->denials[i];

		if (strcmp(d->kind, kind) == 0 && strcmp(d->what, what) == 0)
			return d;
	}
	if (run->n_denials >= room_for(what)) {
		run->denials_omitted++;
		return NULL;
	}
	struct run_denial *d = &run->denials[run->n_denials++];
	*d = (struct run_denial){.kind = kind};
	(void)snprintf(d->what, sizeof(d->what), "%s", what);
	return d;
}

int pinfold_run_denial(const struct pinfold_run *run, struct pinfold_denial *ret)
{
	if (!run->denials_told)
		return -1;
	const struct run_denial *d = &run->denials[run->denials_told - 1];
	*ret = (struct pinfold_denial){d->kind, d->what, d->hint, d->count};
	return 0;
}

/* A datagram on a socket whose connect() was told: one thing, which the gate has a row for. */
static bool is_told(struct pinfold_run *run, const char *what, const char *hint)
{
	size_t n = sizeof(GATE_SENT) - 1, m = sizeof("connect ") - 1;

	if (strncmp(what, GATE_SENT, n) != 0)
		return false;
	for (unsigned i = 0; i < run->n_denials; i++) {
		struct run_denial *d = &run->denials[i];
		bool connected =
			strncmp(d->what, "connect ", m) == 0 && strcmp(d->what + m, what + n) == 0;

		/* In a sandbox that lives its own commands are told by the warden, too. */
		if (!connected && (d->by_gate || strcmp(d->what, what) != 0))
			continue;
		d->by_gate = true;
		(void)snprintf(d->hint, sizeof(d->hint), "%s",
			       hint); /* what it sent is known now */
		return true;
	}
	return false;
}

void run_deny_by_gate(struct pinfold_run *run, const char *kind, const struct notify_event *ev,
		      const char *what, uint64_t count)
{
	if (is_told(run, what, ev->hint))
		return;
	struct run_denial *d = find(run, kind, what);

	alerts_denial(run, ev, what, count);
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
	bool sent = strncmp(ev->what, GATE_SENT, sizeof(GATE_SENT) - 1) == 0;
	/* The gate of a run of ours hears datagrams, whichever call sends them. */
	bool gated = notify_is_gated(&run->req.spec.egress, ev) ||
		     (sent && ev->network && run->req.spec.egress.n_ports);
	bool has_policy = run->req.spec.egress.n_ports || ev->has_policy;
	struct run_denial *d = gated ? NULL : find(run, kind, ev->what);

	if (!gated)
		alerts_denial(run, ev, ev->what, 1);
	if (!d || d->count++ > 0)
		return;
	(void)snprintf(d->hint, sizeof(d->hint), "%s",
		       ev->network ? has_policy ? PORT_HINT : NETWORK_HINT
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

void run_deny_command(struct pinfold_run *run, const char *kind, const char *what, const char *hint)
{
	struct run_denial *d = find(run, kind, what);

	if (!d)
		return;
	d->count++;
	(void)snprintf(d->hint, sizeof(d->hint), "%s", hint);
}

static bool is_shown(const char *path)
{
	static const char *const shown[] = {"/usr/", "/bin/",  "/sbin/", "/lib",
					    "/dev/", "/proc/", "/work/"};
	char name[256];

	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
		if (strncmp(path, shown[i], strlen(shown[i])) == 0)
			return true;
	if (strncmp(path, "/etc/", 5) != 0)
		return false;
	(void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(path + 5, "/"), path + 5);
	return etc_is_shown(name);
}

/* Directories that a sandbox has, too, with files of its own. */
static bool is_own(const char *dir)
{
	static const char *const own[] = {"/tmp", "/run",  "/home", "/home/user",
					  "/etc", "/root", "/work", "/"};

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (strcmp(dir, own[i]) == 0)
			return true;
	return strncmp(dir, "/var", 4) == 0 || strncmp(dir, "/sys", 4) == 0;
}

static bool said(const struct pinfold_run *run, const char *words)
{
	return memmem(run->tail, run->tail_len, words, strlen(words)) != NULL;
}

/* A workspace may well have a file of that name: pushed, or made there. Then the command says so. */
static bool missed(const struct pinfold_run *run, const char *arg)
{
	const char *slash = strrchr(arg, '/');

	return said(run, slash && slash[1] ? slash + 1 : arg) &&
	       (said(run, "No such file") || said(run, "ENOENT") ||
		said(run, "Cannot find module"));
}

/* Is this argument a file of the caller's that the command could not see? Directories by a whole
 * path only: a word such as "test" is rather something else. */
static bool hidden(const struct pinfold_run *run, const char *arg)
{
	struct stat st;

	if (arg[0] == '-' || arg[0] == '\0' || strlen(arg) > 1024 || stat(arg, &st) < 0)
		return false;
	if (S_ISDIR(st.st_mode) ? arg[0] != '/' || is_own(arg) : !S_ISREG(st.st_mode))
		return false;
	if (run->workspace[0] && !missed(run, arg))
		return false;
	if (arg[0] != '/')
		return !(run->req.spec.dir_fd >= 0 &&
			 strncmp(run->req.spec.workdir, "/work", 5) == 0);
	return !is_shown(arg);
}

/* A command that failed and was given the name of a file here: most likely it looked for it. */
void run_hidden_arguments(struct pinfold_run *run)
{
	const char *const *argv = run->req.spec.argv;
	char hint[256];

	if (run->req.flags & PINFOLD_FOREIGN)
		return;
	if (run->workspace[0] && run->req.spec.dir_fd < 0)
		(void)snprintf(
			hint, sizeof(hint),
			"it exists on the host but is hidden inside; bring it in with pinfold "
			"cp FILE %s:, or its directory with pinfold push %s DIR",
			run->workspace, run->workspace);
	else
		(void)snprintf(
			hint, sizeof(hint),
			"it exists on the host but is hidden inside; show it or its directory "
			"with --dir (it appears at /work, see --workdir), or copy it into the "
			"one that you show");
	for (unsigned i = 1; argv[0] && argv[i] && i < 64; i++)
		if (hidden(run, argv[i]))
			run_deny_path(run, argv[i], hint);
}

/* A command that failed and said EXDEV, where it had directories of lower layers before it: one that
 * nobody helped with (sandbox/move.h). */
void run_refused_rename(struct pinfold_run *run)
{
	static const char *const words[] = {"cross-device link", "EXDEV"};
	bool refused = false;

	if (!run->upper && run->req.spec.dir_fd < 0 && !spec_on_image(&run->req.spec))
		return;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		refused = refused || said(run, words[i]);
	if (refused)
		run_deny_path(
			run, "rename of a directory",
			"one that was there before this command cannot be renamed in one "
			"call: use mv or shutil.move(), which copy it then; git mv: mkdir NEW, "
			"then git mv OLD/* NEW");
}

void run_deny_secrets(struct pinfold_run *run)
{
	const struct secrets *s = &run->req.secrets;
	char what[192], hint[256];

	for (unsigned i = 0; i < s->n; i++) {
		(void)snprintf(what, sizeof(what), "/work/%.180s", s->path[i]);
		if (strcmp(s->what[i], SECRET_MOUNTED) == 0)
			(void)snprintf(hint, sizeof(hint),
				       "hidden: " SECRET_MOUNTED ", which --dir does not bring "
				       "along; show it with a --dir of its own");
		else
			(void)snprintf(hint, sizeof(hint),
				       strcmp(s->what[i], SECRET_NAMED) == 0
					       ? "hidden: %s; --show %.120s shows it"
					       : "hidden: it looks like a secret (%s); --show "
						 "%.120s shows it",
				       s->what[i], s->path[i]);
		run_deny_path(run, what, hint);
	}
}
