/* SPDX-License-Identifier: Apache-2.0 */
#include "store/measure.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"

#define DEPTH_MAX 128
#define FILES_MAX 4000000u
#define KERNELS "w." /* how the names of work directories begin, in a layer */

static DIR *open_dir(int at, const char *name)
{
	auto_close int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (d)
		(void)take_fd(&fd);
	return d;
}

/* One entry of the directory on top; a directory is opened on top of it. */
static void look(DIR **stack, int *depth, const char *name, struct measure *m)
{
	struct stat st;

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
	    (*depth == 0 && strncmp(name, KERNELS, strlen(KERNELS)) == 0) ||
	    fstatat(dirfd(stack[*depth]), name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return; /* gone meanwhile */
	m->bytes += (uint64_t)st.st_blocks * 512 /
		    (st.st_nlink > 1 && !S_ISDIR(st.st_mode) ? st.st_nlink : 1);
	m->files++;
	if (!S_ISDIR(st.st_mode))
		return;
	DIR *below = *depth + 1 < DEPTH_MAX ? open_dir(dirfd(stack[*depth]), name) : NULL;
	if (below)
		stack[++*depth] = below;
	else
		m->beyond = true;
}

void measure_layer(int dir, uint64_t bytes, uint64_t files, struct measure *ret)
{
	DIR *stack[DEPTH_MAX];
	int depth = 0;

	*ret = (struct measure){0};
	stack[0] = open_dir(dir, ".");
	if (!stack[0])
		return;
	while (depth >= 0) {
		bool more = ret->bytes < bytes && ret->files < files && ret->files < FILES_MAX;
		const struct dirent *d = more ? readdir(stack[depth]) : NULL;

		if (d)
			look(stack, &depth, d->d_name, ret);
		else
			(void)closedir(stack[depth--]); /* only read */
	}
	ret->beyond = ret->beyond || ret->files >= FILES_MAX;
}
