/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/contest.h"

#include <pinfold/pinfold.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/sig.h"
#include "measure/timed.h"

#define WARM_UPS 3
#define PAUSE_MS 60
#define PYTHON "/usr/bin/python3"
#define CODE "print(1)"
#define BWRAP_WORDS 40

static char *program[] = {(char[]){"/usr/bin/true"}, NULL};
static char *python[] = {(char[]){PYTHON}, (char[]){"-I"}, (char[]){"-c"}, (char[]){CODE}, NULL};

static struct pinfold_run_options run_options(uint32_t flags)
{
	return (struct pinfold_run_options){.size = sizeof(struct pinfold_run_options),
					    .argv = (const char *const *)program,
					    .limits = "best-effort",
					    .flags = PINFOLD_NO_STDIN | flags};
}

static bool take_library(struct contender *c, uint64_t *ret_ns)
{
	struct pinfold_run_options o = run_options(PINFOLD_LOCAL);

	return timed_run(c, &o, ret_ns);
}

static bool take_daemon(struct contender *c, uint64_t *ret_ns)
{
	struct pinfold_run_options o = run_options(PINFOLD_DAEMON);

	return timed_run(c, &o, ret_ns);
}

static bool take_daemon_python(struct contender *c, uint64_t *ret_ns)
{
	struct pinfold_run_options o = run_options(PINFOLD_DAEMON);

	o.argv = NULL;
	o.lang = "python";
	o.code = CODE;
	o.code_len = sizeof(CODE) - 1;
	return timed_run_byte(c, &o, ret_ns);
}

/* One row of the table; `base` is whom it is compared with. */
struct entry {
	const char *name;
	bool (*take)(struct contender *c, uint64_t *ret_ns);
	char **argv;
	const char *base;
};

static char *bubblewrap[BWRAP_WORDS]; /* filled where it is installed */

static const struct entry entries[] = {
	{"bare", timed_spawn, program, NULL},
	{"bubblewrap", timed_spawn, bubblewrap, NULL},
	{"libpinfold", take_library, program, NULL},
	{"daemon", take_daemon, program, NULL},
	{"bare-python", timed_spawn_byte, python, "bare-python"},
	{"daemon-python", take_daemon_python, python, "bare-python"},
};

_Static_assert(sizeof(entries) / sizeof(entries[0]) == CONTEST_MAX, "one contender a row");

/* The first of that name on PATH that can be executed. */
static bool find_program(const char *name, char *ret, size_t size)
{
	for (const char *p = getenv("PATH"); p && *p; p += *p == ':') {
		int len = (int)strcspn(p, ":");

		if (len > 0 && *p == '/' &&
		    (size_t)snprintf(ret, size, "%.*s/%s", len, p, name) < size &&
		    access(ret, X_OK) == 0)
			return true;
		p += len;
	}
	return false;
}

/* The least that starts a program there: fewer mounts than ours, no filter and no limits. */
static void bubblewrap_fill(void)
{
	static char path[512];
	static const char *const words[] = {path,
					    "--unshare-all",
					    "--die-with-parent",
					    "--new-session",
					    "--clearenv",
					    "--cap-drop",
					    "ALL",
					    "--proc",
					    "/proc",
					    "--dev",
					    "/dev",
					    "--tmpfs",
					    "/tmp",
					    "--ro-bind",
					    "/usr",
					    "/usr"};
	static const char *const links[][2] = {{"usr/bin", "/bin"},
					       {"usr/sbin", "/sbin"},
					       {"usr/lib", "/lib"},
					       {"usr/lib64", "/lib64"}};
	const char **to = (const char **)bubblewrap;
	char target[2];

	if (!find_program("bwrap", path, sizeof(path)))
		return;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		*to++ = words[i];
	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
		if (readlink(links[i][1], target, sizeof(target)) < 0)
			continue; /* a directory, or not there */
		*to++ = "--symlink";
		*to++ = links[i][0];
		*to++ = links[i][1];
	}
	*to++ = "--";
	*to = program[0];
}

int contest_init(struct contest *t, size_t samples, struct err *e)
{
	bool has_python = access(PYTHON, X_OK) == 0;

	*t = (struct contest){.samples = samples};
	bubblewrap_fill();
	for (size_t i = 0; i < CONTEST_MAX; i++) {
		const struct entry *entry = &entries[i];

		if (!entry->argv[0] || (entry->argv == python && !has_python))
			continue;
		if (!contender_init(&t->c[t->n], entry->name, entry->argv, samples))
			return err_sys(e, "samples");
		t->c[t->n].base = entry->base;
		t->entry[t->n++] = entry;
	}
	return 0;
}

void contest_done(struct contest *t)
{
	contenders_done(t->c, t->n);
}

bool contest_is_complete(const struct contest *t)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->c[i].n == 0 && strcmp(t->c[i].name, "bubblewrap") != 0)
			return false;
	return true;
}

static void take(struct contest *t, size_t i, bool keep)
{
	struct pollfd p = {.fd = sig_fd(), .events = POLLIN};
	struct contender *c = &t->c[i];
	uint64_t ns = 0;

	(void)poll(&p, 1, PAUSE_MS); /* a signal ends it early */
	t->signo = sig_take();
	if (!t->signo && c->max && t->entry[i]->take(c, &ns) && keep)
		contender_sample(c, ns);
}

static void progress(const struct contest *t, size_t round, int terminal)
{
	if (terminal >= 0)
		(void)dprintf(terminal, "\r%zu of %zu rounds ", round, WARM_UPS + t->samples);
}

/* Who never succeeds is left out; a single failure is only counted. */
static void drop_hopeless(struct contest *t)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->c[i].failures == WARM_UPS)
			t->c[i].max = 0;
}

void contest_run(struct contest *t, int terminal)
{
	size_t order[CONTEST_MAX];

	for (size_t i = 0; i < t->n; i++)
		order[i] = i;
	for (size_t round = 0; round < WARM_UPS + t->samples && !t->signo; round++) {
		progress(t, round, terminal);
		shuffle(order, t->n);
		if (round == WARM_UPS)
			drop_hopeless(t);
		for (size_t i = 0; i < t->n && !t->signo; i++)
			take(t, order[i], round >= WARM_UPS);
	}
	if (terminal >= 0)
		(void)dprintf(terminal, "\r%*s\r", 40, "");
	contenders_sort(t->c, t->n);
}
