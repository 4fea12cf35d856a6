/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose packages does a command need that says nothing of its language (sh, make)? The first that
 * the lock of the directory has a part for; without a lock, by which manifests lie there. Only a
 * guess of where to begin: what is in these files counts when they are read, in a sandbox.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "deps/lock.h"
#include "engine/deps_int.h"
#include "engine/deps_run.h"

static const struct {
	const char *name;
	enum deps_lang lang;
} manifests[] = {
	{"uv.lock", DEPS_PYTHON},	 {"poetry.lock", DEPS_PYTHON},
	{"Pipfile.lock", DEPS_PYTHON},	 {"requirements.txt", DEPS_PYTHON},
	{"pyproject.toml", DEPS_PYTHON}, {"Pipfile", DEPS_PYTHON},
	{"package.json", DEPS_NODE},	 {"renv.lock", DEPS_R},
	{"DESCRIPTION", DEPS_R},
};

/* A link or a pipe is no lock. */
static char *read_lock(int dir)
{
	auto_close int fd = openat(dir, LOCK_NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	size_t len = 0;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > LOCK_BYTES_MAX)
		return NULL;
	char *text = calloc(1, LOCK_BYTES_MAX + 1);
	if (text && fd_read_max(fd, text, LOCK_BYTES_MAX, &len) < 0)
		free_ptr(&text);
	return text;
}

static bool by_lock(int dir, enum deps_lang *ret)
{
	auto_free char *text = read_lock(dir);
	auto_value *lock = NULL;
	struct err none = ERR_INIT; /* what is wrong with it is said when it is used */

	if (!text || lock_parse(text, strlen(text), &lock, &none) < 0)
		return false;
	for (enum deps_lang lang = DEPS_PYTHON; lang <= DEPS_R; lang++)
		if (value_get(lock, lock_part_name(lang))) {
			*ret = lang;
			return true;
		}
	return false;
}

enum deps_lang deps_guess(const char *dir)
{
	auto_close int fd = dir ? open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC) : FD_NONE;
	enum deps_lang lang = DEPS_PYTHON;
	struct stat st;

	if (fd < 0 || by_lock(fd, &lang))
		return lang;
	for (size_t i = 0; i < sizeof(manifests) / sizeof(manifests[0]); i++)
		if (fstatat(fd, manifests[i].name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISREG(st.st_mode))
			return manifests[i].lang;
	return lang;
}
