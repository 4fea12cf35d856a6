/* SPDX-License-Identifier: Apache-2.0 */
/* "Shocker": opens files by inode number, past every directory and mount. */
#include "B-doors.h"

struct handle {
	unsigned bytes;
	int type;
	unsigned char data[64];
};

static void try_mount(const char *path)
{
	static const struct {
		unsigned bytes;
		int type;
	} shapes[] = {{8, 1 /* inode, generation */}, {8, 0x81}, {12, 0x4d}, {16, 2}, {4, 0xfe}};
	int mount_id = 0, dir = open(path, O_RDONLY | O_DIRECTORY);
	struct handle made = {.bytes = sizeof(made.data)};
	char name[64];

	snprintf(name, sizeof(name), "make-%s", path);
	missing(name, syscall(SYS_name_to_handle_at, AT_FDCWD, path, &made, &mount_id, 0));
	snprintf(name, sizeof(name), "open-%s", path);
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		struct handle root = {shapes[i].bytes, shapes[i].type, {2}};

		filtered(name, syscall(SYS_open_by_handle_at, dir, &root, O_RDONLY));
	}
	if (made.bytes < sizeof(made.data))
		filtered(name, syscall(SYS_open_by_handle_at, dir, &made, O_RDONLY));
	close(dir);
}

int main(void)
{
	static const char *const paths[] = {"/",     "/usr", "/etc/ssl", "/tmp",    "/work",
					    "/proc", "/dev", "/dev/pts", "/dev/shm"};

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		try_mount(paths[i]);
	/* The descriptor and the pointer are looked at before anybody's rights. */
	filtered("reached", syscall(SYS_open_by_handle_at, -1, BAD_POINTER, O_RDONLY));
	return 0;
}
