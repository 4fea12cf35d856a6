/* SPDX-License-Identifier: Apache-2.0 */
/*
 * This program is static and loads nothing. SQLite can load extensions, and would bring libc's own
 * loader in for it; these take its place.
 */
void *dlopen(const char *path, int flags);
void *dlsym(void *handle, const char *name);
int dlclose(void *handle);
char *dlerror(void);

void *dlopen(const char *path, int flags)
{
	(void)path;
	(void)flags;
	return (void *)0;
}

void *dlsym(void *handle, const char *name)
{
	(void)handle;
	(void)name;
	return (void *)0;
}

int dlclose(void *handle)
{
	(void)handle;
	return 0;
}

char *dlerror(void)
{
	static char text[] = "this program loads nothing";

	return text;
}
