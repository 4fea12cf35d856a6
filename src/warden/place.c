/* SPDX-License-Identifier: Apache-2.0 */
#include "warden/place.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int fit(int n, size_t size, struct err *e)
{
	if (n < 0 || (size_t)n >= size)
		return err_set(e, ERR_INVALID, "a directory in the environment is too long");
	return 0;
}

/* An absolute path, or nothing: one that is relative would be another in every directory. */
static int own_place(const char *name, char *ret, size_t size, struct err *e)
{
	const char *own = getenv(name);

	if (!own || !own[0])
		return 0;
	if (own[0] == '/')
		return fit(snprintf(ret, size, "%s", own), size, e) < 0 ? -EINVAL : 1;
	(void)err_set(e, ERR_INVALID, "%s: \"%.200s\" is not an absolute path", name, own);
	return err_remedy(e, "give it as an absolute path, or unset it");
}

int place_check(struct err *e)
{
	char path[4096];
	int r = own_place("PINFOLD_HOME", path, sizeof(path), e);

	return r < 0 ? r : own_place("PINFOLD_SOCKET", path, sizeof(path), e);
}

/* Is it there, or could it be made? What exists of the way to it decides. */
static bool can_be_made(const char *path)
{
	char part[4096];

	(void)snprintf(part, sizeof(part), "%s", path);
	for (;;) {
		if (faccessat(AT_FDCWD, part[0] ? part : "/", W_OK | X_OK, AT_EACCESS) == 0)
			return true;
		char *slash = strrchr(part, '/');
		if (errno != ENOENT || !slash)
			return false;
		*slash = '\0';
	}
}

/* Who has no home (a service account, a HOME that is still the one of whoever started him) has a
 * directory where everybody may make one. Somebody else may have made it first: it is looked at,
 * and the sticky bit keeps it what it is. */
static int homeless(char *ret, size_t size, struct err *e)
{
	struct stat st;
	int r = fit(snprintf(ret, size, "/var/tmp/pinfold-%u", (unsigned)geteuid()), size, e);

	if (r < 0)
		return r;
	if ((mkdir(ret, 0700) < 0 && errno != EEXIST) || lstat(ret, &st) < 0)
		(void)err_sys(e, "no place for the data directory: make %s", ret);
	else if (S_ISDIR(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 077))
		return 0;
	else
		(void)err_set(e, ERR_DENIED,
			      "no place for the data directory: %s is not ours alone", ret);
	return err_remedy(e, "set PINFOLD_HOME or HOME to an absolute path");
}

int place_data(char *ret, size_t size, struct err *e)
{
	const char *xdg = getenv("XDG_DATA_HOME");
	const char *home = getenv("HOME");
	int own = own_place("PINFOLD_HOME", ret, size, e);

	if (own != 0)
		return own < 0 ? own : 0;
	if (geteuid() == 0)
		return fit(snprintf(ret, size, "/var/lib/pinfold"), size, e);
	if (xdg && xdg[0] == '/')
		return fit(snprintf(ret, size, "%s/pinfold", xdg), size, e);
	if (!home || home[0] != '/')
		return homeless(ret, size, e);
	if (fit(snprintf(ret, size, "%s/.local/share/pinfold", home), size, e) < 0)
		return -EINVAL;
	return can_be_made(ret) ? 0 : homeless(ret, size, e);
}

int place_runtime(char *ret, size_t size, struct err *e)
{
	const char *xdg = getenv("XDG_RUNTIME_DIR");
	struct stat st;

	if (geteuid() == 0)
		return fit(snprintf(ret, size, "/run/pinfold"), size, e);
	if (xdg && xdg[0] == '/' && stat(xdg, &st) == 0 && st.st_uid == geteuid())
		return fit(snprintf(ret, size, "%s/pinfold", xdg), size, e);
	return place_data(ret, size, e);
}

int place_make(const char *path, struct err *e)
{
	char part[512];
	size_t len = strlen(path);

	if (len >= sizeof(part))
		return err_set(e, ERR_INVALID, "path too long: %s", path);
	for (size_t i = 1; i <= len; i++) {
		if (path[i] != '/' && path[i] != '\0')
			continue;
		memcpy(part, path, i);
		part[i] = '\0';
		if (mkdir(part, 0700) < 0 && errno != EEXIST)
			return err_sys(e, "make %s", part);
	}
	return 0;
}

int place_socket(char *ret, size_t size, struct err *e)
{
	const char *xdg = getenv("XDG_RUNTIME_DIR");
	int own = own_place("PINFOLD_SOCKET", ret, size, e);

	if (own != 0)
		return own < 0 ? own : 0;
	if (geteuid() != 0 && xdg && xdg[0] == '/')
		return fit(snprintf(ret, size, "%s/pinfold.sock", xdg), size, e);
	return fit(snprintf(ret, size, "/run/pinfold/pinfold.sock"), size, e);
}
