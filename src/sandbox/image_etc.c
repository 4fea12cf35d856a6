/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of the host's /etc that image `host` shows: what host_etc.def lists, if everybody may
 * read it. Small files are copied into the skeleton, which is cheaper than a mount and shares no
 * inode with the host; directories and large files are bound read-only, out of an overlay over
 * /etc that is itself nowhere to be seen: locks and watches then do not reach the host's inodes.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "sandbox/hold.h"
#include "sandbox/plan_int.h"

#define COPY_MAX 16384

static const char *const listed[] = {
#define ETC(name, why) name,
#include "sandbox/host_etc.def"
#undef ETC
};

bool etc_is_listed(const char *name)
{
	for (size_t i = 0; i < sizeof(listed) / sizeof(listed[0]); i++) {
		size_t n = strcspn(listed[i], "*");

		if (listed[i][n] ? strncmp(name, listed[i], n) == 0 : strcmp(name, listed[i]) == 0)
			return true;
	}
	return false;
}

bool etc_is_shown(const char *name)
{
	static const char *const made[] = {"passwd",	  "group", "nsswitch.conf",
					   "resolv.conf", "hosts", "hostname"};

	for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++)
		if (strcmp(name, made[i]) == 0)
			return true;
	return etc_is_listed(name);
}

static bool copy_file(struct plan *p, int etc, const char *name, const char *at)
{
	char text[COPY_MAX];
	size_t len = 0;
	auto_close int fd = openat(etc, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0 || fd_read_max(fd, text, sizeof(text), &len) < 0 || len == sizeof(text))
		return false;
	plan_write(p, at, 0644, text, len);
	return true;
}

static void add_entry(struct plan *p, int etc, const char *top, const char *name,
		      struct etc_binds *ret)
{
	char at[96];
	struct stat st;

	if (strlen(name) >= sizeof(ret->name[0]) || fstatat(etc, name, &st, 0) < 0 ||
	    (HOLD_ETC_MODE && !(st.st_mode & S_IROTH)))
		return;
	(void)snprintf(at, sizeof(at), "%s/etc/%s", top, name);
	if (S_ISREG(st.st_mode) && st.st_size < COPY_MAX && copy_file(p, etc, name, at))
		return;
	if (ret->n == ETC_BINDS_MAX || !(S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)))
		return;
	if (S_ISDIR(st.st_mode))
		plan_mkdir(p, at, 0755, -1);
	else
		plan_write(p, at, 0644, NULL, 0);
	ret->is_dir[ret->n] = S_ISDIR(st.st_mode);
	(void)snprintf(ret->name[ret->n++], sizeof(ret->name[0]), "%s", name);
}

static bool is_shown(const struct sandbox_spec *spec, const char *name)
{
	if (spec->host == HOST_SOURCES && strcmp(name, "apt") == 0)
		return true;
	return (etc_is_listed(name) || (!HOLD_ETC_LIST && name[0] != '.')) &&
	       !plan_is_linked(spec, name);
}

void plan_etc(struct plan *p, const struct sandbox_spec *spec, struct etc_binds *ret)
{
	DIR *all = opendir("/etc");
	struct dirent *d;

	while (all && (d = readdir(all)))
		if (is_shown(spec, d->d_name))
			add_entry(p, dirfd(all), spec->host ? "r/host" : "r", d->d_name, ret);
	if (all)
		closedir(all);
}

void plan_etc_binds(struct plan *p, const struct sandbox_spec *spec, const struct etc_binds *etc,
		    const struct private_paths *hidden, bool direct)
{
	char from[80], at[80];

	/* overlayfs refuses mounts below its lower, such as a container's own resolv.conf. */
	direct = direct || !HOLD_USR_OVERLAY;
	if (etc->n > 0 && !direct) {
		plan_mkdir(p, "e", 0755, -1);
		plan_one(p, PLAN_LOWER, 0, "/etc");
		/* Nobody writes here: without an upper it is cheaper to make and to look into. The
		 * empty directory is there because a single layer is refused. */
		bool masked = private_mask(p, spec, "x", hidden, "/etc");
		if (!masked)
			plan_mkdir(p, "empty", 0555, -1);
		plan_two(p, PLAN_OVERLAY, STEP_STAGE | STEP_RDONLY, "e",
			 masked ? "lowerdir=x:@,userxattr" : "lowerdir=@:empty,userxattr");
	}
	for (unsigned i = 0; i < etc->n; i++) {
		(void)snprintf(from, sizeof(from), direct ? "/etc/%s" : "e/%s", etc->name[i]);
		(void)snprintf(at, sizeof(at), "%setc/%s", spec->host ? "host/" : "", etc->name[i]);
		if (direct)
			plan_two(p, PLAN_BIND_HOST, STEP_RDONLY | STEP_OPTIONAL | STEP_OWN, from,
				 at);
		else
			plan_two(p, PLAN_SHOW, STEP_OPTIONAL, from, at);
	}
}
