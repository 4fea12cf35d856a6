/* SPDX-License-Identifier: Apache-2.0 */
/* Images in the store: names, what becomes of one that is not finished, who keeps one from
 * going. */
#include "store/image.h"

#include "base/fd.h"
#include "store_help.h"

static const char *const good[] = {"a",	  "0", "alpine", "a.b_c-d", "a:b", "python:3.12-slim",
				   "a--b"};
static const char *const bad[] = {
	"",   "host",  "A",   "a/b", "..",  ".a",  "-a",       "_a",  "a:",
	":a", "a:b:c", "a b", "a\n", "a:.", "a:-", "\xc3\xa9", "a;b", "a'b",
};

static void names(void)
{
	char name[140];

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		is_int(store_image_check_name(good[i], &error), 0, good[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ok(store_image_check_name(bad[i], &error) < 0 && error.kind == ERR_INVALID, "none");
	(void)snprintf(name, sizeof(name), "%063d:%063d", 0, 0);
	is_int(store_image_check_name(name, &error), 0, "as long as they may be");
	(void)snprintf(name, sizeof(name), "%064d", 0);
	ok(store_image_check_name(name, &error) < 0, "and one longer");
	(void)snprintf(name, sizeof(name), "a:%064d", 0);
	ok(store_image_check_name(name, &error) < 0, "as a tag, too");
}

static bool layer_is_there(const struct store *s, uint32_t number)
{
	char path[32];
	struct stat st;

	(void)snprintf(path, sizeof(path), "%u/root", number);
	return fstatat(s->layers_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Its layer, or 0. */
static uint32_t make_image(struct store *s, const char *name)
{
	static struct store_image image;
	struct making m;

	if (store_image_begin(s, name, &m, &error) < 0)
		return 0;
	image = (struct store_image){.files = 3, .bytes = 100, .env = "A=1\nPATH=/x:/y\nPATHS=no"};
	(void)snprintf(image.name, sizeof(image.name), "%s", name);
	uint32_t number = m.number;
	int r = store_image_commit(&m, &image, &error);
	making_end(&m);
	return r < 0 ? 0 : number;
}

static void life(void)
{
	static struct store_image image;
	struct store *s = store_fresh();
	struct making m;
	uint64_t bytes = 0;
	size_t len = 0;

	uint32_t number = make_image(s, "one:1");
	ok(number && layer_is_there(s, number), "an image");
	is_int(make_image(s, "one:1"), 0, "a second of the name");
	is_int(error.kind, ERR_CONFLICT, "is a conflict");
	is_int(store_image_find(s, "one:1", &image, &error), 0, "it is found");
	is_int(stack_image(&image.stack), number, "with its layer");
	const char *path = store_image_env(&image, "PATH", &len);
	ok(path && len == 5 && strncmp(path, "/x:/y", 5) == 0, "and its PATH");
	ok(!store_image_env(&image, "B", &len) && !store_image_env(&image, "", &len), "no other");
	is_int(store_image_find(s, "one", &image, &error), -ENOENT, "not without its tag");
	is_int(store_collect(s, &bytes, &error), 0, "collect");
	ok(layer_is_there(s, number), "leaves it");

	is_int(store_image_begin(s, "half", &m, &error), 0, "one that is being made");
	uint32_t half = m.number;
	is_int(store_collect(s, &bytes, &error), 0, "collect");
	ok(layer_is_there(s, half), "leaves that, too");
	fd_close(&m.lock); /* as if we had died */
	is_int(store_collect(s, &bytes, &error), 0, "collect");
	ok(!layer_is_there(s, half), "until nobody makes it any more");

	is_int(store_image_remove(s, "one:1", &error), 0, "remove");
	is_int(store_collect(s, &bytes, &error), 0, "collect");
	ok(!layer_is_there(s, number), "takes it away then");
	is_int((int)bytes, 100, "and says what that gave");
	store_away(s);
}

static void users(void)
{
	static struct store_image image;
	struct store *s = store_fresh();
	struct workspace w = {.name = "w", .disk_bytes = 1 << 30, .inodes = 1000};
	uint64_t n = 0, own = 0, shared = 0;
	auto_close int lock = FD_NONE;

	uint32_t number = make_image(s, "one");
	is_int(store_image_hold(s, "one", &image, &lock, &error), 0, "who runs in it holds it");
	is_int(store_image_remove(s, "one", &error), -EBUSY, "and it stays");
	fd_close(&lock);
	w.stack = image.stack;
	is_int(workspace_make(s, &w, &error), 0, "a workspace on it");
	ok(command(s, "w", "a") > 0, "with a command");
	is_int(store_image_users(s, &image, &n, &error), 0, "its users");
	is_int((int)n, 1, "are one");
	is_int(store_image_remove(s, "one", &error), -EEXIST, "and it stays");
	is_int(error.kind, ERR_CONFLICT, "which is a conflict");
	is_int(workspace_find(s, "w", &w, &error), 0, "the workspace");
	is_int(stack_image(&w.stack), number, "has it lowest");
	is_int(w.stack.n, 2, "below what the command did");
	is_int(store_image_of(s, &w.stack, &image, &error), 1, "and knows whose it is");
	is_str(image.name, "one", "by name");
	is_int(workspace_sizes(s, &w, &own, &shared, &error), 0, "sizes");
	ok(own == 100 && shared == 100, "the image is shared");
	is_int(workspace_remove(s, "w", &error), 0, "without the workspace");
	is_int(store_image_remove(s, "one", &error), 0, "it goes");
	store_away(s);
}

int main(void)
{
	TAP_RUN(names);
	TAP_RUN(life);
	TAP_RUN(users);
	return tap_done();
}
