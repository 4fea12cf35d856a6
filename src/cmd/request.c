/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/request.h"

#include <assert.h>
#include <fcntl.h>
#include <pinfold/policy.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "cmd/help.h"
#include "cmd/relay.h"
#include "cmd/say.h"

static int choose_daemon(struct request *r, struct err *e)
{
	if (r->daemon && r->no_daemon) {
		(void)err_set(e, ERR_INVALID, "--daemon and --no-daemon exclude each other");
		return err_remedy(e, "leave both out: a daemon is used where there is one");
	}
	r->run.flags |= (r->record ? PINFOLD_RECORD : 0) | (r->daemon ? PINFOLD_DAEMON : 0) |
			(r->no_daemon ? PINFOLD_LOCAL : 0) |
			(r->deterministic ? PINFOLD_DETERMINISTIC : 0) |
			(r->only_binary ? PINFOLD_ONLY_BINARY : 0);
	return 0;
}

#define POLICY_MAX (4u << 20)

static int read_policy(struct request *r, struct err *e)
{
	const char *path = r->policy_file;
	size_t len = 0;

	if (!path || r->policy_text)
		return 0;
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	auto_free char *text = malloc(POLICY_MAX + 1); /* only what is used becomes memory */
	if (fd < 0 || !text || fd_read_max(fd, text, POLICY_MAX, &len) < 0) {
		int bad = err_sys(e, "--policy: cannot read %.256s", path);

		(void)err_remedy(e, "name a file in YAML; docs/egress.md describes it");
		return bad == -ENOENT ? err_detail(e, "file") : bad;
	}
	text[len] = '\0';
	if (len == POLICY_MAX || strlen(text) != len) {
		(void)err_set(e, ERR_INVALID, "--policy: %.256s is no policy: %s", path,
			      len == POLICY_MAX ? "it has 4 MiB or more"
						: "it has NUL in it, so it is no text in UTF-8");
		return err_remedy(e, "name a file in YAML; docs/egress.md describes it");
	}
	r->policy_text = take_ptr(&text);
	r->run.policy = r->policy_text;
	r->run.policy_name = path;
	return 0;
}

/* It comes first on the command line, so that it holds for what is wrong behind it. */
static int begin_relay(struct request *r, struct err *e)
{
	if (!r->result_fd || relay_on())
		return 0;
	r->json = true;
	return relay_to(r->result_fd, e);
}

/* Of the API, where who serves it answers. No helper of ours inherits it. */
static int take_approvals(struct request *r, struct err *e)
{
	if (!r->approvals_fd)
		return 0;
	if (r->approvals_fd > INT_MAX || fcntl((int)r->approvals_fd, F_SETFD, FD_CLOEXEC) < 0)
		return err_set(e, ERR_INVALID, "--approvals-fd: not a descriptor");
	r->run.approvals = (int)r->approvals_fd;
	return 0;
}

/* Verbs whose words are none of a command: their options may stand behind them. */
#define VERBS_OF_WORDS                                                                             \
	(VERB_PLAIN | VERB_LOGS | VERB_KILL | VERB_APPROVE | VERB_TRUST | VERB_TOKEN |             \
	 VERB_RECEIPT | VERB_VERIFY | VERB_REPLAY)

bool request_begin(struct request *r, const struct verb *v, int argc, char **argv, int *ret_used,
		   int *ret_status)
{
	struct pinfold_error ignored;
	struct err e = ERR_INIT;

	if (v->bit & VERBS_OF_WORDS)
		opt_front(v->bit, argc, argv);
	int used = opt_parse(v->bit, argc, argv, r, &e);

	r->run.env = (const char *const *)r->env.items;
	r->run.allow = (const char *const *)r->allow.items;
	r->run.apt = (const char *const *)r->apt.items;
	r->run.packages = (const char *const *)r->packages.items;
	r->run.hide = (const char *const *)r->hide.items;
	r->run.show = (const char *const *)r->show.items;
	if (used >= 0 && r->help) {
		*ret_status = help_verb(v);
		return false;
	}
	if (used >= 0 &&
	    (choose_daemon(r, &e) < 0 || read_policy(r, &e) < 0 || take_approvals(r, &e) < 0))
		used = -1;
	/* On behalf of the API nobody's own counts. */
	if (used >= 0 && (v->bit & (VERB_RUN | VERB_SHELL | VERB_PLAN | VERB_EXEC)) &&
	    !r->result_fd)
		r->run.flags |= PINFOLD_OWN_POLICY;
	if (r->result_fd)
		r->run.flags |= PINFOLD_FOREIGN; /* nor may he know what is on this host */
	/* But tools are configured for this machine. */
	if (used >= 0 && r->result_fd && r->run.policy && strstr(r->run.policy, "preset"))
		(void)pinfold_presets_keep(&ignored); /* then it is refused, with a reason */
	struct err relay = ERR_INIT;
	if (begin_relay(r, &relay) < 0) {
		e = relay;
		used = -1;
	}
	if (used < 0) {
		*ret_status = say_failure(&e, opt_seen(argc, argv, "--json"));
		return false;
	}
	*ret_used = used;
	return true;
}

void request_forget_code(struct request *r)
{
	free(r->code_text);
	r->code_text = NULL;
	r->run.code = NULL;
}

void request_done(struct request *r)
{
	request_forget_code(r);
	free(r->policy_text);
	free(r->missed);
	r->policy_text = NULL;
	free(r->env.items);
	free(r->listen.items);
	free(r->hosts.items);
	free(r->origins.items);
	free(r->allow.items);
	free(r->apt.items);
	free(r->packages.items);
	free(r->give.items);
	free(r->hide.items);
	free(r->metadata.items);
	free(r->show.items);
	free(r->scopes.items);
	r->listen = r->hosts = r->origins = r->env = r->apt = r->allow = r->hide = r->show =
		r->metadata = r->packages = r->give = r->scopes = (struct opt_list){.items = NULL};
	if (r->stdin_is_owned)
		fd_close(&r->stdin_fd);
}

int request_end(int argc, char **argv, struct err *e)
{
	if (argc == 0)
		return 0;
	(void)err_set(e, ERR_INVALID, "%.80s: one argument too many", argv[0]);
	return err_remedy(e, "leave it out; see --help");
}

/* Like fd_read_max(), but the caller may have made the descriptor non-blocking. -1 with errno. */
static int read_all(int fd, char *data, size_t max, size_t *ret_len)
{
	size_t len = 0;

	while (len < max) {
		ssize_t n = read(fd, data + len, max - len);
		if (n == 0)
			break;
		if (n > 0) {
			len += (size_t)n;
			continue;
		}
		if (errno == EAGAIN) {
			struct pollfd p = {.fd = fd, .events = POLLIN};

			(void)poll(&p, 1, -1); /* the next read tells */
		} else if (errno != EINTR) {
			return -1;
		}
	}
	*ret_len = len;
	return 0;
}

/* A directory cannot be read, and a device may never end. */
static int check_readable(int fd, const char *path, struct err *e)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_sys(e, "cannot read %.256s", path);
	if (S_ISREG(st.st_mode) || S_ISFIFO(st.st_mode))
		return 0;
	(void)err_set(e, ERR_INVALID, "FILE: %.256s is neither a file nor a pipe", path);
	return err_remedy(e, "give the path of a program's text, or - for standard input");
}

/* path NULL: from --code-fd. */
static int open_code(const struct request *r, const char *path, struct err *e)
{
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
		      : fcntl((int)r->code_fd, F_DUPFD_CLOEXEC, 0);

	path = path ? path : "--code-fd";
	if (fd < 0) {
		int bad = err_sys(e, "FILE: cannot open %.256s", path);

		(void)err_remedy(e, "FILE is a program's text on the host");
		return bad == -ENOENT ? err_detail(e, "file") : bad;
	}
	if (check_readable(fd, path, e) < 0)
		fd_close(&fd);
	return fd < 0 ? -EINVAL : fd;
}

static int read_code(struct request *r, const char *path, struct err *e)
{
	bool is_stdin = path && !strcmp(path, "-");
	auto_close int opened = FD_NONE;
	auto_free char *text = malloc(REQUEST_CODE_MAX + 1); /* only what is used becomes memory */
	size_t len = 0;

	if (!text)
		return err_sys(e, "cannot hold a program");
	if (!is_stdin) {
		opened = open_code(r, path, e);
		if (opened < 0)
			return opened;
	}
	path = path ? path : "--code-fd";
	if (read_all(is_stdin ? STDIN_FILENO : opened, text, REQUEST_CODE_MAX + 1, &len) < 0)
		return err_sys(e, "FILE: cannot read %.256s", path);
	if (len > REQUEST_CODE_MAX) {
		(void)err_set(e, ERR_LIMIT, "FILE: %.256s has more than 16 MiB", path);
		return err_remedy(e, "give a program that reads its data with --stdin or --dir");
	}
	r->code_text = take_ptr(&text);
	r->code_is_stdin = is_stdin;
	r->run.code = r->code_text;
	r->run.code_len = len;
	return 0;
}

/* Where a program comes from is the host's business: the sandbox learns the last part of it. */
static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int take_command(struct request *r, int argc, char **argv, struct err *e)
{
	if (r->run.code) {
		(void)err_set(e, ERR_INVALID, "-c: needs --lang");
		return err_remedy(e, "say the language, such as --lang python -c CODE");
	}
	if (argc == 0) {
		(void)err_set(e, ERR_INVALID, "COMMAND: is missing");
		return err_remedy(e, "give it behind --, or a program with --lang LANG -c CODE");
	}
	r->run.argv = (const char *const *)argv;
	return 0;
}

/* Neither -c nor FILE: as interpreters do, what is piped in, if it is anything. */
static int take_piped(struct request *r, struct err *e)
{
	if (!isatty(STDIN_FILENO) && read_code(r, "-", e) < 0)
		return -EINVAL;
	if (r->run.code_len)
		return 0;
	(void)err_set(e, ERR_INVALID, "FILE: is missing behind --lang %s", r->run.lang);
	return err_remedy(e, "give -c CODE, the FILE of a program, or - to read it");
}

static int take_program(struct request *r, int argc, char **argv, struct err *e)
{
	r->run.argv = (const char *const *)argv;
	if (r->run.code) {
		r->run.code_len = strlen(r->run.code);
		return 0;
	}
	if (r->code_fd) {
		(void)fcntl((int)r->code_fd, F_SETFD, FD_CLOEXEC); /* reading it tells */
		return read_code(r, NULL, e);
	}
	if (argc == 0)
		return take_piped(r, e);
	if (r->file_is_inside && strcmp(argv[0], "-") != 0)
		return 0;
	if (read_code(r, argv[0], e) < 0)
		return -EINVAL;
	r->run.code_name = r->code_is_stdin ? NULL : last_part(argv[0]);
	r->run.argv++;
	return 0;
}

/* An input that can never hold anything is not worth a pipe. */
static bool holds_nothing(int fd)
{
	struct stat st;
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || (flags & O_PATH) || (flags & O_ACCMODE) == O_WRONLY || fstat(fd, &st) < 0)
		return true;
	return S_ISDIR(st.st_mode) || (S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3));
}

static int open_stdin(struct request *r, struct err *e)
{
	struct stat st;

	r->stdin_fd = open(r->stdin_path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (r->stdin_fd < 0) {
		int bad = err_sys(e, "--stdin: cannot open %.256s", r->stdin_path);

		(void)err_remedy(e, "give a file of the host that you may read");
		return bad == -ENOENT ? err_detail(e, "file") : bad;
	}
	r->stdin_is_owned = true;
	if (fstat(r->stdin_fd, &st) < 0)
		return err_sys(e, "--stdin: cannot read %.256s", r->stdin_path);
	if (!S_ISDIR(st.st_mode))
		return 0;
	(void)err_set(e, ERR_INVALID, "--stdin: %.256s is a directory", r->stdin_path);
	return err_remedy(e, "give a file; --dir shows a directory at /work");
}

static int find_stdin(struct request *r, struct err *e)
{
	bool own = !r->stdin_path || !strcmp(r->stdin_path, "-");

	if (own && r->stdin_path && r->code_is_stdin) {
		(void)err_set(e, ERR_INVALID, "--stdin: standard input holds the program already");
		return err_remedy(e, "give the program as a FILE or the input with --stdin FILE");
	}
	if (own && !r->code_is_stdin)
		r->stdin_fd = STDIN_FILENO;
	else if (!own && open_stdin(r, e) < 0)
		return -EINVAL;
	if (r->stdin_fd >= 0 && !holds_nothing(r->stdin_fd))
		return 0;
	if (r->stdin_is_owned)
		fd_close(&r->stdin_fd);
	r->stdin_fd = FD_NONE;
	r->run.flags |= PINFOLD_NO_STDIN;
	return 0;
}

int request_program(struct request *r, int argc, char **argv, struct err *e)
{
	assert(argv[argc] == NULL);
	int bad = r->run.lang ? take_program(r, argc, argv, e) : take_command(r, argc, argv, e);
	return bad < 0 ? bad : find_stdin(r, e);
}
