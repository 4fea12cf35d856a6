/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How an interpreter becomes a session: its driver (guest/session.*) is given to it on its command
 * line, or as the first frame, and is nowhere a file.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "engine/session_int.h"

#define TELLING 64 /* so many bytes of a driver's text are found in no other command */
#define LIVE_MS (7ull * 24 * 3600 * 1000) /* as long as any sandbox */

extern const char session_python[], session_node[], session_bash[], session_r[];

/* R takes 10,000 bytes on its command line: enough to read the rest. */
static const char r_boot[] =
	"local({dyn.load('/proc/self/fd/101');"
	"take<-function(n){got<-raw(0);while(length(got)<n){"
	"a<-.C('session_read',raw(n-length(got)),as.integer(n-length(got)));"
	"if(a[[2]]==0L)quit('no');if(a[[2]]>0L)got<-c(got,a[[1]][seq_len(a[[2]])])};got};"
	"h<-rawToChar(take(9L));t<-rawToChar(take(strtoi(substr(h,2,9),16L)));"
	"eval(parse(text=t,keep.source=FALSE),list2env(list(take=take),parent=globalenv()))})";

static const struct session_lang {
	const char *name;
	const char *before[4]; /* words in front of the driver's text */
	const char *text;
	const char *first; /* sent as the first frame, or NULL */
} langs[] = {
	/* Under a name of its own, so that tracebacks can leave it out, with builtins that no program
	 * of the session's can change. */
	{"python",
	 {"-c", "exec(compile(__import__('sys').argv[1],'<pinfold>','exec'),"
		"{'__builtins__':dict(vars(__import__('builtins')))})"},
	 session_python,
	 NULL},
	{"node", {"-e"}, session_node, NULL},
	{"bash", {"--noprofile", "--norc", "-c"}, session_bash, NULL},
	{"r", {"-e"}, r_boot, session_r},
};

int session_find_lang(const char *name, const struct session_lang **ret, struct err *e)
{
	for (size_t i = 0; i < sizeof(langs) / sizeof(langs[0]); i++)
		if (name && strcmp(langs[i].name, name) == 0) {
			*ret = &langs[i];
			return 0;
		}
	(void)err_set(e, ERR_INVALID, "lang: unknown language \"%.40s\"", name ? name : "");
	return err_remedy(e, "use python, node, bash or r");
}

bool session_is_command(const char *words, size_t len)
{
	for (size_t i = 0; i < sizeof(langs) / sizeof(langs[0]); i++) {
		size_t n = strnlen(langs[i].text, TELLING);

		if (len > n && memmem(words, len, langs[i].text, n))
			return true;
	}
	return false;
}

const char *session_lang_name(const struct session_lang *lang)
{
	return lang->name;
}

static int watch(struct pinfold_session *s, int fd, struct err *e)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.fd = fd};

	return epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &ev) < 0 ? err_sys(e, "session") : 0;
}

static int start_command(struct pinfold_session *s, struct err *e)
{
	const struct session_lang *lang = s->lang;
	struct pinfold_run_options o = {.size = sizeof(o), .time_ms = LIVE_MS};
	const char **argv = s->argv;
	unsigned n = 0;

	if (lang_program(lang->name, &argv[n++], e) < 0)
		return -ENOENT;
	for (unsigned i = 0; i < 4 && lang->before[i]; i++)
		argv[n++] = lang->before[i];
	argv[n++] = lang->text;
	if (strcmp(lang->name, "bash") == 0)
		argv[n++] = "bash";
	argv[n] = NULL;
	o.argv = argv;
	o.workdir = s->workdir;
	o.tenant = s->tenant[0] ? s->tenant : NULL;
	o.packages_json = s->packages_json;
	o.env = (const char *const *)s->env;
	return sandbox_exec(s->sandbox, &o, true, &s->run, e);
}

int session_start(struct pinfold_session *s, struct err *e)
{
	int r = start_command(s, e);

	if (r < 0)
		return r;
	/* It was started as any command is; the time is kept for each piece of code. */
	s->run->deadline_us = 0;
	run_arm_timer(s->run);
	if (watch(s, pinfold_run_fd(s->run), e) < 0 || watch(s, s->run->input, e) < 0)
		return -EMFILE;
	s->state = SESSION_IDLE;
	s->count = 0;
	if (!s->lang->first)
		return 0;
	return session_send(s, 'B', 0, s->lang->first, strlen(s->lang->first), e);
}

/* Everything about this interpreter, so that another can be started. */
void session_kill(struct pinfold_session *s)
{
	if (s->run && !s->ended) {
		pinfold_run_stop(s->run, 1);
		pinfold_run_wait(s->run);
	}
	pinfold_run_free(s->run); /* closing its descriptors takes them out of the set */
	s->run = NULL;
	session_frame_drop(s);
	free(s->out);
	s->out = NULL;
	s->out_len = s->out_at = 0;
	s->ready = s->ended = s->deaf = s->asking = s->timed_out = s->polls_out = false;
	s->broken = NULL;
	s->deadline_us = s->kill_us = s->signal_us = s->frames_bytes = 0;
	s->state = SESSION_OVER;
}
