/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files VERB ID [ARG...]: files of a sandbox that lives, by libpinfold alone. Errors are one line,
 * "code: message", and status 1.
 */
#include <errno.h>
#include <fcntl.h>
#include <pinfold/pinfold.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct pinfold_files *files;
static struct pinfold_error error;

static int fail(void)
{
	printf("%s: %s\n", error.code, error.message);
	return 1;
}

/* Names are any bytes; a test reads lines. */
static void print_name(const char *s)
{
	for (; *s; s++)
		printf(*s == '\n' ? "\\n" : "%c", *s);
}

static int show(const char *path, const struct pinfold_file_info *info, void *arg)
{
	(void)arg;
	printf("%s %o %u %llu ", info->type, info->mode, info->uid, (unsigned long long)info->size);
	print_name(path);
	if (info->target[0])
		printf(" -> %s", info->target);
	printf("\n");
	return 0;
}

static int count(const char *path, const struct pinfold_file_info *info, void *arg)
{
	static char before[4096];
	long *n = arg;

	(void)info;
	if (*n > 0 && strcmp(before, path) >= 0)
		printf("not in order: %s %s\n", before, path);
	(void)snprintf(before, sizeof(before), "%s", path);
	++*n;
	return 0;
}

static int verb_stat(char **arg)
{
	struct pinfold_file_info info;

	if (pinfold_file_stat(files, arg[0], arg[1] ? PINFOLD_FILE_NOFOLLOW : 0, &info, &error) < 0)
		return fail();
	return show(arg[0], &info, NULL);
}

static int verb_cat(char **arg)
{
	char buf[65536];
	int fd;
	ssize_t n;
	long long left = arg[1] ? strtoll(arg[1], &arg[1], 10) : 1 << 30;

	if (pinfold_file_open(files, arg[0], &fd, NULL, &error) < 0)
		return fail();
	while (left > 0 &&
	       (n = read(fd, buf, left < (long long)sizeof(buf) ? (size_t)left : sizeof(buf))) >
		       0) {
		if (write(1, buf, (size_t)n) != n)
			return 2;
		left -= n;
	}
	close(fd);
	return 0;
}

static unsigned write_flags(const char *words)
{
	return (strchr(words, 'a') ? PINFOLD_WRITE_APPEND : 0) |
	       (strchr(words, 'n') ? PINFOLD_WRITE_NEW : 0) |
	       (strchr(words, 'p') ? PINFOLD_WRITE_PARENTS : 0);
}

/* put PATH TEXT [FLAGS [MODE]]; TEXT of "-": standard input. With q: abort. */
static int verb_put(char **arg)
{
	struct pinfold_file_writer *w;
	const char *flags = arg[2] ? arg[2] : "";
	unsigned mode = arg[2] && arg[3] ? (unsigned)strtoul(arg[3], &arg[3], 8) : 0;
	char buf[65536];
	ssize_t n;
	int failed = 0;

	if (pinfold_file_write(files, arg[0], write_flags(flags), mode, &w, &error) < 0)
		return fail();
	int fd = pinfold_file_writer_fd(w);
	errno = ENOSPC; /* what a part that was written means */
	if (strcmp(arg[1], "-") != 0)
		failed = write(fd, arg[1], strlen(arg[1])) < 0;
	else
		while (!failed && (n = read(0, buf, sizeof(buf))) > 0)
			failed = write(fd, buf, (size_t)n) != n;
	if (failed || strchr(flags, 'q')) {
		if (failed)
			printf("write: %s\n", strerror(errno));
		pinfold_file_abort(w);
		return failed;
	}
	return pinfold_file_commit(w, &error) < 0 ? fail() : 0;
}

/* Writes, waits for a line, commits. */
static int verb_late(char **arg)
{
	struct pinfold_file_writer *w;
	char line[16];

	if (pinfold_file_write(files, arg[0], 0, 0, &w, &error) < 0)
		return fail();
	if (write(pinfold_file_writer_fd(w), "late", 4) != 4)
		return 2;
	printf("written\n");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 2;
	if (pinfold_file_commit(w, &error) < 0)
		(void)fail();
	/* The channel is of use again. */
	struct pinfold_file_info info;
	if (pinfold_file_stat(files, "/tmp", 0, &info, &error) < 0)
		return fail();
	return show("/tmp", &info, NULL);
}

static int verb_mkdir(char **arg)
{
	return pinfold_file_mkdir(files, arg[0], 0, arg[1] != NULL, &error) < 0 ? fail() : 0;
}

static int verb_mv(char **arg)
{
	return pinfold_file_move(files, arg[0], arg[1], &error) < 0 ? fail() : 0;
}

static int verb_ln(char **arg)
{
	return pinfold_file_symlink(files, arg[0], arg[1], &error) < 0 ? fail() : 0;
}

static int verb_rm(char **arg)
{
	return pinfold_file_remove(files, arg[0], arg[1] != NULL, &error) < 0 ? fail() : 0;
}

static int verb_chmod(char **arg)
{
	return pinfold_file_chmod(files, arg[0], (unsigned)strtoul(arg[1], &arg[1], 8), &error) < 0
		       ? fail()
		       : 0;
}

static int verb_ls(char **arg)
{
	unsigned depth = arg[1] ? (unsigned)strtoul(arg[1], &arg[1], 10) : 1;

	return pinfold_file_list(files, arg[0], depth, 0, show, NULL, &error) < 0 ? fail() : 0;
}

static int verb_count(char **arg)
{
	long n = 0;

	if (pinfold_file_list(files, arg[0], 1, 0, count, &n, &error) < 0)
		return fail();
	printf("%ld\n", n);
	return 0;
}

/* since PATH FILE: what changed after FILE did. */
static int verb_since(char **arg)
{
	struct pinfold_file_info info;

	if (pinfold_file_stat(files, arg[1], 0, &info, &error) < 0 ||
	    pinfold_file_list(files, arg[0], 0, info.ctime_ns, show, NULL, &error) < 0)
		return fail();
	return 0;
}

/* After each line of standard input, one stat: what is inside may do something between. */
static int verb_again(char **arg)
{
	char line[16];

	printf("open\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		(void)verb_stat(arg);
		fflush(stdout);
	}
	return 0;
}

/* The whole of a file that others change all the time, again and again: link or not, what comes is
 * never a byte of anything but `good`. */
static int verb_race(char **arg)
{
	long opened = 0, refused = 0;
	char buf[256];

	for (int i = 0; i < 1000 || (!(opened && refused) && i < 100000); i++) {
		int fd;

		if (pinfold_file_open(files, arg[0], &fd, NULL, &error) < 0) {
			refused++;
			if (strcmp(error.code, "not_found.file") != 0 &&
			    strcmp(error.code, "denied.path") != 0 &&
			    strcmp(error.code, "conflict.is_directory") != 0)
				return fail();
			continue;
		}
		struct stat st;
		ssize_t n = read(fd, buf, sizeof(buf));
		if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || n < 0 ||
		    (n > 0 && strncmp(buf, "good", 4) != 0)) {
			printf("opened something else\n");
			return 1;
		}
		close(fd);
		opened++;
	}
	printf("%s\n", opened && refused ? "both" : opened ? "opened" : "refused");
	return 0;
}

static int verb_watch(const char *id, char **arg)
{
	struct pinfold_watch *w;
	static struct pinfold_watch_event ev;
	int r;

	if (pinfold_watch_open(id, arg[0], arg[1] != NULL, &w, &error) < 0)
		return fail();
	printf("watching\n");
	fflush(stdout);
	while ((r = pinfold_watch_next(w, 15000, &ev)) == 1) {
		printf("%s ", ev.kind);
		print_name(ev.path);
		if (ev.from[0])
			printf(" < %s", ev.from);
		printf("\n");
		fflush(stdout);
		size_t n = strlen(ev.path);
		if (n > 4 && strcmp(ev.path + n - 4, "/end") == 0 && strcmp(ev.kind, "create") == 0)
			break;
	}
	if (r != 1)
		printf(r < 0 ? "over\n" : "timeout\n");
	pinfold_watch_close(w);
	return 0;
}

static const struct {
	const char *name;
	int (*run)(char **arg);
	int args;
} verbs[] = {
	{"stat", verb_stat, 1},	  {"cat", verb_cat, 1},	    {"put", verb_put, 2},
	{"late", verb_late, 1},	  {"mkdir", verb_mkdir, 1}, {"mv", verb_mv, 2},
	{"rm", verb_rm, 1},	  {"chmod", verb_chmod, 2}, {"ls", verb_ls, 1},
	{"count", verb_count, 1}, {"since", verb_since, 2}, {"again", verb_again, 1},
	{"race", verb_race, 1},	  {"ln", verb_ln, 2},
};

int main(int argc, char **argv)
{
	int status = 2;

	if (argc < 4)
		return 2;
	if (strcmp(argv[1], "watch") == 0)
		return verb_watch(argv[2], argv + 3);
	if (pinfold_files_open(argv[2], &files, &error) < 0)
		return fail();
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (strcmp(argv[1], verbs[i].name) == 0 && argc - 3 >= verbs[i].args)
			status = verbs[i].run(argv + 3);
	pinfold_files_close(files);
	return status;
}
