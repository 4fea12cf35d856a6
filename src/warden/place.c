/* SPDX-License-Identifier: Apache-2.0 */
#include "warden/place.h"

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

int place_data(char *ret, size_t size, struct err *e)
{
	const char *own = getenv("PINFOLD_HOME");
	const char *xdg = getenv("XDG_DATA_HOME");
	const char *home = getenv("HOME");

	if (own && own[0] == '/')
		return fit(snprintf(ret, size, "%s", own), size, e);
	if (geteuid() == 0)
		return fit(snprintf(ret, size, "/var/lib/pinfold"), size, e);
	if (xdg && xdg[0] == '/')
		return fit(snprintf(ret, size, "%s/pinfold", xdg), size, e);
	if (home && home[0] == '/')
		return fit(snprintf(ret, size, "%s/.local/share/pinfold", home), size, e);
	(void)err_set(e, ERR_MISSING, "no place for the data directory");
	return err_remedy(e, "set PINFOLD_HOME or HOME to an absolute path");
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
	const char *own = getenv("PINFOLD_SOCKET");
	const char *xdg = getenv("XDG_RUNTIME_DIR");

	if (own && own[0] == '/')
		return fit(snprintf(ret, size, "%s", own), size, e);
	if (geteuid() != 0 && xdg && xdg[0] == '/')
		return fit(snprintf(ret, size, "%s/pinfold.sock", xdg), size, e);
	return fit(snprintf(ret, size, "/run/pinfold/pinfold.sock"), size, e);
}
