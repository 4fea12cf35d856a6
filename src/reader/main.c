/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program that reads layers of workspaces at rest. Where we are: in a sandbox of our own, made
 * for this one question, that shows the layers and nothing else; standard input and output are
 * pipes to the host side. No network, no /proc, no /etc, no locale; 64 descriptors and 512 MiB are
 * enough. What we read was made by hostile code, and whoever reads us believes nothing.
 *
 *	reader diff [--split] [--text] [--hash] [--max N] [--text-bytes N] [--hash-bytes N]
 *		OLD NEW PREFIX [LAYER...] [-- OLD NEW PREFIX [LAYER...]]...
 *	reader pack [--layer] [--strict] DIR PATH
 *	reader fetch DIR
 *	reader unpack [--into] [--replace] [--parents] [--owners] [--root-meta] [--name NAME]
 *		[--bytes N] [--entries N] DIR PATH
 *	reader merge [--bottom] [--below N] OUT [--bottom] LAYER...
 *	reader digest LAYER
 *	reader receive [--mirror] [--links-out] PATH
 *	reader send [--skip-links-out] DIR PATH
 *	reader export [--layer] [--owner UID] [DIR PREFIX]...
 *	reader import [--tree] [--owners] [--bytes N] [--entries N] [PATH]
 *	reader image [--owners] [--bytes N] [--entries N] LAYER
 *
 * With --into, PATH is a directory to put NAME into, or the new name in its parent directory.
 * Directories are absolute paths; OLD and NEW may be "-" for nothing, PREFIX "" for none. With
 * --split what has become another type went, and then came. fetch reads paths from standard input,
 * each ended by a NUL. pack and fetch write a tree stream (tree/stream.h), diff changes
 * (tree/change.h); receive and send speak sync/session.h over standard input, which is a socket;
 * the others give an answer (tree/answer.h). Every one of them can be an error, and then we exit
 * with 1.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/parse.h"
#include "reader/reader.h"
#include "tree/answer.h"

static const struct {
	const char *name;
	reader_verb *run;
} verbs[] = {
	{"diff", reader_diff},	     {"pack", reader_pack},   {"fetch", reader_fetch},
	{"unpack", reader_unpack},   {"merge", reader_merge}, {"digest", reader_digest},
	{"receive", reader_receive}, {"send", reader_send},   {"export", reader_export},
	{"import", reader_import},   {"image", reader_image}, {"three", reader_three},
};

int reader_open(const char *path, bool none, int *ret_fd, struct err *e)
{
	if (none && strcmp(path, "-") == 0) {
		*ret_fd = FD_NONE;
		return 0;
	}
	if (path[0] != '/')
		return err_set(e, ERR_INVALID, "not an absolute path: %s", path);
	*ret_fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return *ret_fd < 0 ? err_sys(e, "open %s", path) : 0;
}

int reader_option(char ***args, const char *name, const char **ret_value)
{
	char **a = *args;

	if (!a[0] || strcmp(a[0], name) != 0 || (ret_value && !a[1]))
		return 0;
	if (ret_value)
		*ret_value = a[1];
	*args = a + (ret_value ? 2 : 1);
	return 1;
}

int reader_number(char ***args, const char *name, uint64_t *ret, struct err *e)
{
	const char *value;

	if (!reader_option(args, name, &value))
		return 0;
	if (strcmp(value, "0") == 0) {
		*ret = 0;
		return 1;
	}
	/* The range of a size: more than a count can be. */
	int r = parse_size(value, ret, e);
	return r < 0 ? err_wrap(e, "%s", name) : 1;
}

static int run(char **argv, bool *told, struct err *e)
{
	for (size_t i = 0; argv[0] && argv[1] && i < sizeof(verbs) / sizeof(*verbs); i++)
		if (strcmp(argv[1], verbs[i].name) == 0)
			return verbs[i].run(argv + 2, told, e);
	return err_set(e, ERR_INVALID, "no verb of the reader");
}

int main(int argc, char **argv)
{
	struct err e = ERR_INIT, second;
	bool told = false;

	(void)argc;
	/* Modes are set by descriptor afterwards, but for FIFOs on older kernels. */
	(void)umask(0);
	if (run(argv, &told, &e) >= 0)
		return 0;
	if (!told)
		(void)tree_answer_send_error(STDOUT_FILENO, &e, &second); /* nobody else to tell */
	return 1;
}
