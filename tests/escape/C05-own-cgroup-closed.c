/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tries to get out of its own limits: looks for its control groups wherever they could show, opens
 * their files for writing, makes a group below. Limits are not written, directories are taken away.
 */
#include "B-doors.h"
#include <ftw.h>
#include <sys/stat.h>

static const char *const files[] = {
	"cgroup.procs",
	"tasks",
	"cgroup.threads",
	"release_agent",
	"notify_on_release",
	"cgroup.subtree_control",
	"cgroup.kill",
	"cgroup.freeze",
	"memory.limit_in_bytes",
	"memory.memsw.limit_in_bytes",
	"memory.max",
	"memory.oom_control",
	"pids.max",
	"cpu.cfs_quota_us",
	"cpu.max",
	"freezer.state",
	"devices.allow",
};

static int visit(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	char child[512];

	(void)st;
	if (type == FTW_D && strstr(path, "cgroup")) {
		door_if("visible", 1, path);
		snprintf(child, sizeof(child), "%s/pinfold-test", path);
		if (mkdir(child, 0755) == 0) {
			door_if("child-group", 1, path);
			rmdir(child);
		}
		return 0;
	}
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		int fd;

		if (strcmp(path + ftw->base, files[i]) != 0)
			continue;
		fd = open(path, O_WRONLY | O_CLOEXEC);
		if (fd >= 0)
			door_if("writable", 1, path);
		close(fd);
	}
	return 0;
}

/* The path of our group on the host would say where to look. */
static void look_at(const char *name, const char *path)
{
	char line[512];
	FILE *f = fopen(path, "re");

	while (f && fgets(line, sizeof(line), f)) {
		const char *group = strchr(line, '/');

		line[strcspn(line, "\n")] = 0;
		if (group && strcmp(group, "/") != 0)
			door_if(name, 1, line);
	}
	if (f)
		fclose(f);
	door_if(name, 0, "");
}

int main(void)
{
	static const char *const trees[] = {"/sys/fs", "/cgroup", "/dev/cgroup", "/run", "/mnt"};

	for (size_t i = 0; i < sizeof(trees) / sizeof(trees[0]); i++)
		nftw(trees[i], visit, 16, FTW_PHYS);
	door_if("visible", 0, "");
	door_if("child-group", 0, "");
	door_if("writable", 0, "");
	look_at("own-path", "/proc/self/cgroup");
	look_at("path-of-init", "/proc/1/cgroup");
	puts("tried");
	return 0;
}
