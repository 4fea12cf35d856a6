/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request on an image of the store. The image is held, so that nobody removes it under the run.
 * Whether a program is in it is looked up in its layers as they lie there: through links of the
 * image, never out of it.
 */
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "engine/run_int.h"
#include "wire/environ.h"
#include "warden/place.h"

bool names_image(const struct pinfold_run_options *o)
{
	return o->image && strcmp(o->image, "host") != 0;
}

void request_image_path(struct request *r, const struct store_image *image)
{
	size_t len = 0;
	const char *path = store_image_env(image, "PATH", &len);

	(void)snprintf(r->image_name, sizeof(r->image_name), "%s", image->name);
	(void)snprintf(r->image_digest, sizeof(r->image_digest), "%s", image->digest);

	if (path && len > 0 && len < sizeof(r->path)) {
		memcpy(r->path, path, len);
		r->path[len] = '\0';
	}
}

static int open_store(struct request *r, struct err *e)
{
	char home[512];
	int k = place_data(home, sizeof(home), e);

	if (k >= 0)
		k = place_make(home, e);
	return k < 0 ? k : store_open(home, &r->store, e);
}

int request_image(struct request *r, const struct pinfold_run_options *o, struct err *e)
{
	auto_free struct store_image *image = calloc(1, sizeof(*image));

	if (!image)
		return err_sys(e, "--image");
	if (geteuid() != 0 && r->spec.as_root) {
		(void)err_set(e, ERR_UNSUPPORTED,
			      "--user root: not with --image for an ordinary "
			      "user, whose images have one owner");
		return err_remedy(e, "run pinfold as root, or leave one of the two out");
	}
	int k = open_store(r, e);
	r->image_lock = FD_NONE;
	if (k >= 0)
		k = store_image_hold(r->store, o->image, image, &r->image_lock, e);
	if (k < 0)
		return err_wrap(e, "--image");
	r->spec.layers = store_layers(r->store);
	r->spec.layers.n = 1;
	r->spec.layers.lower[0] = image->stack.layer[0];
	request_image_path(r, image);
	return 0;
}

/* 1: it is there; 0: this layer says nothing of it; negative: it is gone. */
static int look(int layers, uint32_t number, const char *path)
{
	struct open_how how = {
		.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	char name[32];
	struct stat st;

	(void)snprintf(name, sizeof(name), "%u/root", number);
	auto_close int root = openat(layers, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	auto_close int fd =
		root < 0 ? FD_NONE : (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
	if (fd < 0 || fstat(fd, &st) < 0)
		return 0;
	/* A whiteout is a device. */
	return S_ISREG(st.st_mode) || S_ISLNK(st.st_mode) ? 1 : -1;
}

static bool is_in(const struct sandbox_layers *l, const char *path)
{
	int found = 0;

	for (unsigned i = 0; i < l->n && found == 0; i++)
		found = look(l->fd, l->lower[i].number, path);
	return found > 0;
}

char *request_image_program(const struct request *r, const char *name)
{
	const char *dir = r->path[0] ? r->path : ENVIRON_PATH;

	for (size_t n = 0; *dir; dir += n + (dir[n] == ':')) {
		char *path = NULL;

		n = strcspn(dir, ":");
		if (dir[0] != '/' || asprintf(&path, "%.*s/%s", (int)n, dir, name) < 0)
			continue;
		if (is_in(&r->spec.layers, path))
			return path;
		free(path);
	}
	return NULL;
}
