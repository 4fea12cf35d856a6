/* SPDX-License-Identifier: Apache-2.0 */
/* Changes written to a directory: all, or none; whoever else writes there, and whenever we are
 * killed. */
#include "apply/write.h"

#include <signal.h>
#include <time.h>

#include "apply/beneath.h"
#include "apply/file.h"
#include "tree_help.h"

#define ID 7

static char host[64], stage[64], outside[64];
static int h, o;

static struct apply_set begin(void)
{
	struct apply_set set = {.id = ID};

	set.stage = fresh(stage);
	set.dir = dup(h);
	return set;
}

/* One more change, as it is now to `type` with `text`. */
static void add(struct apply_set *set, const char *path, enum apply_type type, const char *text)
{
	struct err e = ERR_INIT;
	struct apply_item *item = apply_set_add(set, path, &e);
	char name[24];

	(void)beneath_look(set->dir, path, &item->seen, &e);
	item->old = apply_type_of(&item->seen);
	item->old_exec = item->old == APPLY_FILE && (item->seen.st_mode & 0100);
	item->new = type;
	item->mode = 0644;
	snprintf(name, sizeof(name), "n%zu", set->n - 1);
	if (type == APPLY_LINK)
		(void)!symlinkat(text, set->stage, name);
	if (type == APPLY_LINK)
		(void)file_copy_link(set->stage, name, -1, NULL, item->new_hash, &e);
	if (type != APPLY_FILE)
		return;
	put_file(set->stage, name, text);
	int fd = openat(set->stage, name, O_RDONLY | O_CLOEXEC);
	(void)hash_fd(fd, UINT64_MAX, item->new_hash);
	close(fd);
}

static void end(struct apply_set *set)
{
	apply_set_done(set);
	remove_tree(stage);
}

/* A tree as text: "name=content", with links as "name>target"; in the order of the list. */
static char *show(int dir, const char *const *paths, char *buf, size_t size)
{
	size_t n = 0;

	buf[0] = '\0';
	for (; *paths; paths++) {
		char text[256];
		struct stat st;
		ssize_t len = 0;

		if (fstatat(dir, *paths, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (S_ISLNK(st.st_mode)) {
			len = readlinkat(dir, *paths, text, sizeof(text) - 1);
			text[len < 0 ? 0 : len] = '\0';
		} else {
			get_file(dir, *paths, text, sizeof(text));
		}
		n += (size_t)snprintf(buf + n, size - n, "%s%s%s%s ", *paths,
				      S_ISDIR(st.st_mode)   ? "/"
				      : S_ISLNK(st.st_mode) ? ">"
							    : "=",
				      S_ISDIR(st.st_mode) ? "" : text,
				      S_ISREG(st.st_mode) && (st.st_mode & 0100) ? "*" : "");
	}
	return buf;
}

static const char *const all[] = {"a",	    "d", "d/x", "d/y",	 "f",	 "f/in",   "gone",
				  "gone/z", "l", "new", "new/n", "swap", "swap/s", NULL};
static const char before[] = "a=1 d/ d/x=2* d/y=3 f=4 gone/ gone/z=5 l>a swap/ swap/s=6 ";
static const char after[] = "a=one d/ d/x=two* f/ f/in=4 l>d/x new/ new/n=9 swap=6 ";

static void populate(void)
{
	h = fresh(host);
	put_file(h, "a", "1");
	(void)mkdirat(h, "d", 0755);
	put_file(h, "d/x", "2");
	(void)!fchmodat(h, "d/x", 0750, 0);
	put_file(h, "d/y", "3");
	put_file(h, "f", "4");
	(void)mkdirat(h, "gone", 0755);
	put_file(h, "gone/z", "5");
	(void)!symlinkat("a", h, "l");
	(void)mkdirat(h, "swap", 0755);
	put_file(h, "swap/s", "6");
}

static void change(struct apply_set *set)
{
	add(set, "a", APPLY_FILE, "one");
	add(set, "d/x", APPLY_FILE, "two");
	set->items[set->n - 1].new_exec = true;
	add(set, "d/y", APPLY_NONE, NULL);
	add(set, "f", APPLY_DIR, NULL);
	add(set, "f/in", APPLY_FILE, "4");
	add(set, "gone", APPLY_NONE, NULL);
	add(set, "gone/z", APPLY_NONE, NULL);
	add(set, "l", APPLY_LINK, "d/x");
	add(set, "new", APPLY_DIR, NULL);
	add(set, "new/n", APPLY_FILE, "9");
	add(set, "swap", APPLY_FILE, "6");
	add(set, "swap/s", APPLY_NONE, NULL);
}

static void leave(void)
{
	close(h);
	remove_tree(host);
}

static bool is_clean(int dir, const char *path)
{
	struct tree_names names = {0};
	struct err e = ERR_INIT;
	int fd = openat(dir, path, DIR_OPEN);
	bool clean = true;

	(void)tree_names_add(&names, fd, &e);
	for (size_t i = 0; i < names.n; i++)
		clean = clean && strncmp(tree_names_get(&names, i), ".pinfold", 8) != 0;
	tree_names_done(&names);
	close(fd);
	return clean;
}

static void there_and_back(void)
{
	struct err e = ERR_INIT;
	char buf[512];

	populate();
	struct apply_set set = begin();
	change(&set);
	is_str(show(h, all, buf, sizeof(buf)), before, "what is there");
	is_int(apply_save(&set, &e), 0, "it is saved");
	is_int(apply_write(&set, &e), 0, "and written over");
	is_str(show(h, all, buf, sizeof(buf)), after, "all of it");
	struct stat st;
	fstatat(h, "d/x", &st, 0);
	is_int(st.st_mode & 07777, 0750, "with the mode that it had");
	ok(is_clean(h, ".") && is_clean(h, "d"), "no name of ours is left");
	is_int(apply_back(&set, &e), 0, "taken back");
	is_str(show(h, all, buf, sizeof(buf)), before, "all of it");
	fstatat(h, "d/x", &st, 0);
	is_int(st.st_mode & 07777, 0750, "with its mode");
	is_int(apply_back(&set, &e), 0, "and once more");
	is_str(show(h, all, buf, sizeof(buf)), before, "changes nothing");
	end(&set);
	leave();
}

static void modes(void)
{
	struct err e = ERR_INIT;
	struct stat st;

	populate();
	(void)!fchmodat(h, "a", 04644, 0);
	(void)umask(027);
	struct apply_set set = begin();
	add(&set, "a", APPLY_FILE, "1");
	set.items[0].new_exec = true;
	add(&set, "d/x", APPLY_FILE, "2");
	add(&set, "private", APPLY_FILE, "");
	set.items[2].mode = 0600;
	add(&set, "tool", APPLY_FILE, "");
	set.items[3].mode = 07777;
	is_int(apply_save(&set, &e), 0, "saved");
	is_int(apply_write(&set, &e), 0, "written");
	fstatat(h, "a", &st, 0);
	is_int(st.st_mode & 07777, 0755, "what gains an execute bit loses a set-id bit");
	fstatat(h, "d/x", &st, 0);
	is_int(st.st_mode & 07777, 0640, "an execute bit goes");
	fstatat(h, "private", &st, 0);
	is_int(st.st_mode & 07777, 0600, "a new file that is private stays so");
	fstatat(h, "tool", &st, 0);
	is_int(st.st_mode & 07777, 0750, "a new one has what the umask leaves, and no set-id bit");
	is_int(apply_back(&set, &e), 0, "taken back");
	fstatat(h, "a", &st, 0);
	is_int(st.st_mode & 07777, 04644, "what was there is as it was");
	end(&set);
	leave();
}

/* Somebody saves a file between our last look and our write. */
static void editor(void)
{
	struct err e = ERR_INIT;
	char buf[512];

	populate();
	struct apply_set set = begin();
	change(&set);
	put_file(h, "a", "theirs");
	is_int(apply_save(&set, &e) < 0 && e.kind == ERR_CONFLICT, 1, "seen when it is saved");
	end(&set);
	put_file(h, "a", "1");

	set = begin();
	change(&set);
	is_int(apply_save(&set, &e), 0, "saved");
	put_file(h, "d/x", "theirs");
	(void)!fchmodat(h, "d/x", 0750, 0);
	is_int(apply_write(&set, &e) < 0 && e.kind == ERR_CONFLICT, 1, "seen when it is replaced");
	is_str(get_file(h, "d/x", buf, sizeof(buf)), "theirs", "theirs stays");
	is_int(apply_back(&set, &e), 0, "the rest is taken back");
	is_str(show(h, all, buf, sizeof(buf)),
	       "a=1 d/ d/x=theirs* d/y=3 f=4 gone/ gone/z=5 l>a swap/ swap/s=6 ",
	       "and nothing else");
	end(&set);
	put_file(h, "d/x", "2");

	set = begin();
	change(&set);
	(void)apply_save(&set, &e);
	put_file(h, "d/y", "theirs");
	is_int(apply_write(&set, &e) < 0 && e.kind == ERR_CONFLICT, 1, "seen when it is removed");
	is_str(get_file(h, "d/y", buf, sizeof(buf)), "theirs", "theirs stays");
	(void)apply_back(&set, &e);
	end(&set);
	put_file(h, "d/y", "3");

	set = begin();
	change(&set);
	(void)apply_save(&set, &e);
	(void)mkdirat(h, "new", 0755);
	put_file(h, "gone/more", "theirs");
	is_int(apply_write(&set, &e) < 0 && e.kind == ERR_CONFLICT, 1,
	       "a directory that is not empty");
	(void)unlinkat(h, "gone/more", 0);
	is_int(apply_write(&set, &e) < 0, 1, "and one that came");
	(void)apply_back(&set, &e);
	end(&set);
	leave();
}

/* Killed between seeing that what we moved aside is theirs, and moving it back. */
static void killed_with_theirs(void)
{
	struct err e = ERR_INIT;
	char buf[512];

	populate();
	struct apply_set set = begin();
	change(&set);
	(void)apply_save(&set, &e);
	put_file(h, ".pinfold-7-0", "theirs");
	put_file(h, "a", "one");
	put_file(h, "d/.pinfold-7-2", "theirs, too");
	(void)unlinkat(h, "d/y", 0);
	put_file(h, "d/.pinfold-7-1.part", "tw");
	is_int(apply_back(&set, &e), 0, "taken back");
	is_str(show(h, all, buf, sizeof(buf)),
	       "a=theirs d/ d/x=2* d/y=theirs, too f=4 gone/ gone/z=5 l>a swap/ swap/s=6 ",
	       "nothing of theirs is lost");
	ok(is_clean(h, ".") && is_clean(h, "d"), "no name of ours is left");
	end(&set);
	leave();
}

static void killed(void)
{
	struct err e = ERR_INIT;
	char buf[512];
	int whole = 0, none = 0, wrong = 0;

	for (int i = 0; i < 150 && !wrong; i++) {
		struct timespec moment = {.tv_nsec = (i % 50) * 100000};

		populate();
		struct apply_set set = begin();
		change(&set);
		(void)apply_save(&set, &e);
		pid_t pid = fork();
		if (pid == 0)
			_exit(apply_write(&set, &e) < 0);
		(void)nanosleep(&moment, NULL); /* tidy: the moment is the point */
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		(void)show(h, all, buf, sizeof(buf));
		whole += strcmp(buf, after) == 0;
		none += strcmp(buf, before) == 0;
		if (apply_back(&set, &e) < 0 || !is_clean(h, ".") || !is_clean(h, "d") ||
		    strcmp(show(h, all, buf, sizeof(buf)), before) != 0) {
			diag("%d: %s: %s", i, buf, e.text);
			wrong++;
		}
		end(&set);
		leave();
	}
	diag("150 kills: %d before the first change, %d after the last", none, whole);
	is_int(wrong, 0, "after a kill at any moment all is as it was");
}

static void through_links(void)
{
	struct err e = ERR_INIT;
	char buf[64];

	populate();
	o = fresh(outside);
	put_file(o, "x", "kept");
	put_file(o, "y", "kept");
	struct apply_set set = begin();
	change(&set);
	(void)apply_save(&set, &e);
	(void)renameat(h, "d", h, "d.real");
	(void)!symlinkat(outside, h, "d");
	is_int(apply_write(&set, &e) < 0, 1, "a directory that has become a link");
	is_str(get_file(o, "x", buf, sizeof(buf)), "kept", "is not followed to write");
	is_str(get_file(o, "y", buf, sizeof(buf)), "kept", "nor to remove");
	(void)apply_back(&set, &e);
	is_str(get_file(o, "x", buf, sizeof(buf)), "kept", "nor to take back");
	end(&set);
	close(o);
	remove_tree(outside);
	leave();
}

/* Swaps the two without end; with `some` the directory is there for longer than the link, so that
 * some writes get through. */
static pid_t swapping(bool some)
{
	pid_t pid = fork();

	while (pid == 0) {
		(void)renameat2(h, "d", h, "link", RENAME_EXCHANGE);
		if (some)
			(void)renameat2(h, "d", h, "link", RENAME_EXCHANGE);
		for (int i = 0; some && i < 2000; i++)
			(void)getppid();
	}
	return pid;
}

static void end_swapping(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void naive(void)
{
	char path[100];
	struct stat st;

	snprintf(path, sizeof(path), "%s/d", host);
	if (lstat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		return;
	snprintf(path, sizeof(path), "%s/d/x", host);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	(void)!write(fd, "two", 3);
	close(fd);
}

static bool harmed(void)
{
	char buf[64];
	struct tree_names names = {0};
	struct err e = ERR_INIT;

	(void)tree_names_add(&names, o, &e);
	bool more = names.n != 2;
	tree_names_done(&names);
	return more || strcmp(get_file(o, "x", buf, sizeof(buf)), "kept") != 0 ||
	       strcmp(get_file(o, "y", buf, sizeof(buf)), "kept") != 0;
}

static void race(void)
{
	struct err e = ERR_INIT;
	int outs = 0, reds = 0, tries = 0, whole = 0;

	populate();
	o = fresh(outside);
	put_file(o, "x", "kept");
	put_file(o, "y", "kept");
	(void)!symlinkat(outside, h, "link");
	int d = openat(h, "d", DIR_OPEN);
	pid_t pid = swapping(true);
	for (time_t until = time(NULL) + 3; time(NULL) < until; tries++) {
		struct apply_set set = begin();

		put_file(d, "x", "2");
		put_file(d, "y", "3");
		add(&set, "d/x", APPLY_FILE, "two");
		add(&set, "d/y", APPLY_NONE, NULL);
		if (apply_save(&set, &e) >= 0) {
			whole += apply_write(&set, &e) >= 0;
			(void)apply_back(&set, &e);
		}
		outs += harmed();
		end(&set);
	}
	end_swapping(pid);
	pid = swapping(false);
	for (time_t until = time(NULL) + 20; time(NULL) < until && reds < 10;) {
		naive();
		reds += harmed();
		put_file(o, "x", "kept");
	}
	end_swapping(pid);
	diag("%d of %d went well, the naive writer landed outside %d times", whole, tries, reds);
	ok(whole > 0, "into a directory that is swapped for a link all the time");
	ok(reds > 0, "a writer by path lands outside");
	is_int(outs, 0, "ours does not");
	close(d);
	close(o);
	remove_tree(outside);
	leave();
}

int main(void)
{
	TAP_RUN(there_and_back);
	TAP_RUN(modes);
	TAP_RUN(editor);
	TAP_RUN(killed_with_theirs);
	TAP_RUN(killed);
	TAP_RUN(through_links);
	TAP_RUN(race);
	return tap_done();
}
