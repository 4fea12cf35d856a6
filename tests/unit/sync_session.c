/* SPDX-License-Identifier: Apache-2.0 */
/* Synchronisation between two honest sides: what arrives, what is sent, what is left alone. */
#include "sync_trees.h"

static void fill(const struct trees *t)
{
	static const char *const names[] = {"new\nline", "\xff\xfe", "-rf", " ", "a.txt", "\\"};
	char big[300];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		put(t->from, names[i], names[i]);
	memset(big, 'n', 255);
	big[255] = 0;
	put(t->from, big, "a long name");
	(void)mkdirat(t->from, "a", 0750);
	(void)mkdirat(t->from, "a/b", 0755);
	(void)mkdirat(t->from, "a/empty", 0755);
	(void)mkdirat(t->from, ".git", 0755);
	put(t->from, ".git/HEAD", "ref: refs/heads/main\n");
	put(t->from, "a/empty.txt", "");
	put(t->from, "a/b/twin", "the same content");
	put(t->from, "a/b/twin2", "the same content");
	put(t->from, "a/run", "#!/bin/sh\n");
	put_mode(t->from, "a/run", 0755);
	put_link(t->from, "a/link", "b/twin");
	put_link(t->from, "a/up", "../a.txt");
	put_link(t->from, "dangling", "nowhere");
	put_noise(t->from, "whole", 1 << 20, 1);
	put_noise(t->from, "large", (5 << 20) + 7, 2);
	put_noise(t->from, "large2", (5 << 20) + 7, 2);
	put_noise(t->from, "a/medium", 300000, 3);
	settle();
}

static void first_and_again(void)
{
	struct trees t;
	struct session s;

	trees_open(&t);
	fill(&t);
	is_int(push(&t, &s), 0, "a first push");
	ok(same_trees(&t), "all is there, with modes and times");
	ok(s.sender.stats.wire_out == s.receiver.stats.wire_in, "both count the same bytes");
	is_int((int)s.receiver.stats.chunks_sent, (int)s.receiver.stats.chunks_need,
	       "all chunks were sent");
	is_int(push(&t, &s), 0, "a second one");
	is_int((int)s.sender.stats.files_read, 0, "reads no file");
	is_int((int)s.receiver.stats.files_made, 0, "writes none");
	ok(s.sender.stats.is_delta && s.sender.stats.wire_out < 400, "and sends next to nothing");
	put(t.from, "a.txt", "changed");
	is_int(push(&t, &s), 0, "one file changes");
	ok(same_trees(&t), "and changes there");
	is_int((int)s.receiver.stats.files_made, 1, "and no other");
	ok(s.sender.stats.is_delta && s.sender.stats.wire_out < 600, "for few bytes");
	trees_close(&t);
}

static void only_what_changed(void)
{
	struct stat before, after;
	struct trees t;
	struct session s;

	trees_open(&t);
	fill(&t);
	is_int(push(&t, &s), 0, "a first push");
	(void)fstatat(t.to, "large2", &before, 0);
	int fd = openat(t.from, "large", O_WRONLY | O_CLOEXEC);
	(void)!pwrite(fd, "x", 1, 3 << 20);
	close(fd);
	is_int(push(&t, &s), 0, "a byte of a large file changes");
	ok(same_trees(&t), "and changes there");
	ok(s.receiver.stats.chunks_sent <= 2 && s.receiver.stats.chunks_found >= 10,
	   "one chunk or two are sent, the others found");
	(void)fstatat(t.to, "large2", &after, 0);
	ok(before.st_ino == after.st_ino && before.st_ctim.tv_nsec == after.st_ctim.tv_nsec,
	   "its neighbour is not touched");
	(void)renameat(t.from, "a", t.from, "z");
	(void)renameat(t.from, "large", t.from, "moved");
	is_int(push(&t, &s), 0, "things are moved");
	ok(same_trees(&t), "and move there");
	is_int((int)s.receiver.stats.chunks_sent, 0, "without being sent");
	put_mode(t.from, "moved", 0600);
	struct timespec times[2] = {{.tv_sec = 1}, {.tv_sec = -5, .tv_nsec = 7}};
	(void)utimensat(t.from, "whole", times, 0);
	is_int(push(&t, &s), 0, "a mode and a time change");
	ok(same_trees(&t), "and change there");
	is_int((int)s.receiver.stats.files_made, 0, "without a file being written");
	trees_close(&t);
}

static void what_goes(void)
{
	char text[300];
	struct trees t;
	struct session s;

	trees_open(&t);
	fill(&t);
	is_int(push(&t, &s), 0, "a first push");
	put(t.to, "a/b/own", "made here");
	put(t.to, "own", "made here, too");
	(void)unlinkat(t.from, "a/b/twin", 0);
	(void)unlinkat(t.from, "a/b/twin2", 0);
	(void)unlinkat(t.from, "a/link", 0);
	(void)unlinkat(t.from, "a/b", AT_REMOVEDIR);
	(void)unlinkat(t.from, "a/empty", AT_REMOVEDIR);
	is_int(push(&t, &s), 0, "files and directories go");
	describe(t.to, "a/b/twin", text, sizeof(text));
	is_str(text, "", "and are gone there");
	describe(t.to, "a/empty", text, sizeof(text));
	is_str(text, "", "directories too");
	ok(faccessat(t.to, "a/b/own", F_OK, 0) == 0 && faccessat(t.to, "own", F_OK, 0) == 0,
	   "what was made there stays");
	session_init(&s, &t);
	s.receiver.receive.mirror = true;
	is_int(session_run(&s), 0, "a mirror");
	ok(same_trees(&t), "has nothing else");
	trees_close(&t);
}

/* Under that name: a file with this text, a link to it, a directory, a pipe or nothing (-). */
static void put_kind(int dir, const char *name, char kind, const char *text)
{
	(void)unlinkat(dir, name, 0);
	(void)unlinkat(dir, name, AT_REMOVEDIR);
	if (kind == 'f')
		put(dir, name, text);
	else if (kind == 'l')
		(void)!symlinkat(text, dir, name);
	else if (kind == 'd')
		(void)mkdirat(dir, name, 0755);
	else if (kind == 'p')
		(void)mkfifoat(dir, name, 0600);
}

static void changed_there(void)
{
	struct trees t;
	struct session s;

	trees_open(&t);
	fill(&t);
	is_int(push(&t, &s), 0, "a first push");
	put(t.to, "a.txt", "A.TXT"); /* of the same size */
	(void)unlinkat(t.to, "a/run", 0);
	put_mode(t.to, "whole", 0666);
	(void)unlinkat(t.to, "a/link", 0);
	put(t.to, "a/link", "no link any more");
	(void)unlinkat(t.to, ".git/HEAD", 0);
	(void)unlinkat(t.to, ".git", AT_REMOVEDIR);
	put(t.to, ".git", "no directory any more");
	session_init(&s, &t);
	s.receiver.receive.keep_changed = true;
	ok(session_run(&s) != 0 && s.receiver.e.kind == ERR_CONFLICT,
	   "changes there are a conflict, where that is asked for");
	is_int(push(&t, &s), 0, "else");
	ok(same_trees(&t), "all is as it was");
	ok(s.receiver.stats.files_made == 4, "and only that was written");
	trees_close(&t);
}

/* What the receiver put in the place of what came, or where something is to come, is its own: of
 * another kind than what is to be there, too. */
static void kept_there(void)
{
	static const struct {
		const char *path;
		char was, now, here; /* f, l or d; -: nothing; here: f, l or p */
	} cases[] = {
		{"a", 'f', 'l', 'f'}, {"b", '-', 'l', 'f'}, {"c", '-', 'd', 'f'},
		{"d", 'f', 'f', 'l'}, {"e", 'l', 'l', 'f'}, {"f", 'l', 'l', 'l'},
		{"g", 'l', '-', 'f'}, {"h", 'f', '-', 'l'}, {"i", 'l', 'd', 'f'},
		{"j", 'f', 'd', 'l'}, {"k", '-', 'f', 'l'}, {"l", 'l', 'f', 'l'},
		{"m", '-', 'f', 'p'}, {"n", 'l', '-', 'l'},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *path = cases[i].path;
		char what[80], to[16] = "";
		struct trees t;
		struct session s;
		struct stat st;

		snprintf(what, sizeof(what), "%c that became %c, and %c here", cases[i].was,
			 cases[i].now, cases[i].here);
		trees_open(&t);
		put(t.from, "other", "other");
		put_kind(t.from, path, cases[i].was, "came");
		(void)push(&t, &s);
		put_kind(t.from, path, cases[i].now, "comes");
		put_kind(t.to, path, cases[i].here, "mine");
		session_init(&s, &t);
		s.receiver.receive.keep_changed = true;
		ok(session_run(&s) != 0 && s.receiver.e.kind == ERR_CONFLICT, what);
		(void)fstatat(t.to, path, &st, AT_SYMLINK_NOFOLLOW);
		ok(cases[i].here == 'f'	  ? S_ISREG(st.st_mode) && st.st_size == 4
		   : cases[i].here == 'l' ? readlinkat(t.to, path, to, sizeof(to)) == 4 &&
						    memcmp(to, "mine", 4) == 0
					  : S_ISFIFO(st.st_mode),
		   "is kept");
		session_init(&s, &t);
		ok(session_run(&s) == 0 && same_trees(&t), "and not, where that is not asked for");
		put_kind(t.to, path, '-', "");
		session_init(&s, &t);
		s.receiver.receive.keep_changed = true;
		ok(session_run(&s) == 0 && same_trees(&t),
		   "what is as it came, or gone, is no conflict");
		trees_close(&t);
	}
}

/* A session was cut off when it had written: what it left is no change of the receiver's. */
static void cut_off(void)
{
	struct trees t;
	struct session s;

	trees_open(&t);
	put(t.from, "a", "one");
	(void)!symlinkat("one", t.from, "l");
	(void)push(&t, &s);
	(void)!linkat(t.b, "index", t.b, "before", 0);
	put(t.from, "a", "two!");
	put(t.from, "new", "two!");
	put_kind(t.from, "l", 'l', "two");
	(void)push(&t, &s);
	ok(renameat(t.b, "index", t.b, "next") == 0 && renameat(t.b, "before", t.b, "index") == 0,
	   "it did not get to remember that");
	put(t.from, "a", "three");
	put(t.from, "new", "three");
	put_kind(t.from, "l", 'l', "three");
	session_init(&s, &t);
	s.receiver.receive.keep_changed = true;
	ok(session_run(&s) != 0 && s.receiver.e.kind == ERR_CONFLICT, "of others it is one");
	session_init(&s, &t);
	s.receiver.receive.on_host = s.receiver.receive.keep_changed = true;
	is_int(session_run(&s), 0, "the next one finds no conflict");
	ok(same_trees(&t) && faccessat(t.b, "next", F_OK, 0) < 0, "and writes all");
	put(t.to, "a", "mine");
	put(t.from, "a", "four");
	session_init(&s, &t);
	s.receiver.receive.on_host = s.receiver.receive.keep_changed = true;
	ok(session_run(&s) != 0 && s.receiver.e.kind == ERR_CONFLICT, "but what is one");
	trees_close(&t);
}

/* What came as a file, and is as it came, becomes something else. */
static void other_kinds(void)
{
	static const char kinds[] = "fld-";

	for (unsigned i = 0; i < 16; i++) {
		char was = kinds[i / 4], now = kinds[i % 4], what[40];
		struct trees t;
		struct session s;

		trees_open(&t);
		put(t.from, "other", "other");
		put_kind(t.from, "x", was, "came");
		(void)push(&t, &s);
		put_kind(t.from, "x", now, "comes");
		session_init(&s, &t);
		s.receiver.receive.keep_changed = true;
		snprintf(what, sizeof(what), "%c becomes %c", was, now);
		ok(session_run(&s) == 0 && same_trees(&t), what);
		trees_close(&t);
	}
}

static void gone_there(void)
{
	struct trees t;
	struct session s;

	trees_open(&t);
	fill(&t);
	is_int(push(&t, &s), 0, "a first push");
	(void)unlinkat(t.from, "a/run", 0);
	(void)unlinkat(t.from, "a.txt", 0);
	put(t.to, "a.txt", "my own changes");
	session_init(&s, &t);
	s.receiver.receive.keep_changed = true;
	ok(session_run(&s) != 0 && s.receiver.e.kind == ERR_CONFLICT,
	   "what changed here does not go with what is gone there");
	ok(faccessat(t.to, "a/run", F_OK, 0) == 0, "nothing has changed");
	put(t.to, "a.txt", "a.txt");
	session_init(&s, &t);
	s.receiver.receive.keep_changed = true;
	is_int(session_run(&s), 0, "what is as it was");
	ok(same_trees(&t), "goes");
	trees_close(&t);
}

static void holes(void)
{
	struct trees t;
	struct session s;
	struct stat st = {0};

	trees_open(&t);
	int fd = openat(t.from, "sparse", O_CREAT | O_RDWR | O_CLOEXEC, 0644);
	(void)!ftruncate(fd, 200 << 20);
	(void)!pwrite(fd, "in the middle", 13, 100 << 20);
	close(fd);
	is_int(push(&t, &s), 0, "a file that is mostly holes");
	ok(same_trees(&t), "arrives");
	(void)fstatat(t.to, "sparse", &st, 0);
	ok(st.st_blocks * 512 < 8 << 20 && s.sender.stats.wire_out < 100000, "and stays small");
	trees_close(&t);
}

static unsigned progressed;

static void count_progress(void *context, const struct sync_progress *now)
{
	(void)context;
	progressed += now->bytes_done <= now->bytes_total && now->bytes_total > 0;
}

static void told(void)
{
	struct trees t;
	struct session s;

	trees_open(&t);
	fill(&t);
	session_init(&s, &t);
	s.receiver.receive.progress = count_progress;
	is_int(session_run(&s), 0, "a push with someone who watches");
	ok(progressed >= 2, "who is told how far it is");
	trees_close(&t);
}

static void kinds_change(void)
{
	struct trees t;
	struct session s;

	trees_open(&t);
	fill(&t);
	is_int(push(&t, &s), 0, "a first push");
	(void)unlinkat(t.from, "a/b/twin", 0);
	(void)unlinkat(t.from, "a/b/twin2", 0);
	(void)unlinkat(t.from, "a/b", AT_REMOVEDIR);
	put(t.from, "a/b", "a file now");
	(void)unlinkat(t.from, "whole", 0);
	(void)mkdirat(t.from, "whole", 0700);
	put(t.from, "whole/x", "x");
	(void)unlinkat(t.from, "a/empty", AT_REMOVEDIR);
	put_link(t.from, "a/empty", "run");
	put(t.to, "a/b/own", "made here");
	ok(push(&t, &s) != 0 && s.receiver.e.kind == ERR_CONFLICT,
	   "a file does not take the place of a directory with other files");
	ok(faccessat(t.to, "a/b/own", F_OK, 0) == 0 && faccessat(t.to, "a/b/twin", F_OK, 0) == 0,
	   "and nothing has changed");
	(void)unlinkat(t.to, "a/b/own", 0);
	is_int(push(&t, &s), 0, "without those it does");
	ok(same_trees(&t), "and directories and links take the place of files");
	trees_close(&t);
}

static void locked(void)
{
	struct trees t;
	struct session s;

	if (geteuid() == 0 && (setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534)))
		return;
	trees_open(&t);
	(void)mkdirat(t.from, "shut", 0755);
	put(t.from, "shut/one", "one");
	put(t.from, "write-only", "x");
	put_mode(t.from, "shut", 0555);
	is_int(push(&t, &s), 0, "a directory that nobody may write to");
	ok(same_trees(&t), "is made");
	put_mode(t.from, "shut", 0755);
	put(t.from, "shut/one", "another");
	put(t.from, "shut/two", "two");
	put_mode(t.from, "shut", 0555);
	is_int(push(&t, &s), 0, "and changed");
	ok(same_trees(&t), "and is as it was again");
	put_mode(t.from, "shut", 0755);
	(void)unlinkat(t.from, "shut/one", 0);
	put_mode(t.from, "shut", 0555);
	is_int(push(&t, &s), 0, "a file in it goes");
	ok(same_trees(&t), "there, too");
	put_mode(t.from, "shut", 0755);
	put_mode(t.to, "shut", 0755);
	trees_close(&t);
}

static bool in_from(void *context, const uint8_t hash[HASH_BYTES], uint32_t len, int *ret_fd,
		    uint64_t *ret_offset)
{
	static int fd = -1;
	const struct trees *t = context;

	(void)hash;
	if (fd >= 0)
		close(fd);
	fd = -1;
	if (len == 0) /* the test is over */
		return false;
	/* It says so of everything, and is right about one file alone. */
	fd = openat(t->from, "whole", O_RDONLY | O_CLOEXEC);
	*ret_fd = fd;
	*ret_offset = 0;
	return true;
}

static void looked_up(void)
{
	struct trees t;
	struct session s;
	int none = 0;
	uint64_t at = 0;

	trees_open(&t);
	fill(&t);
	session_init(&s, &t);
	s.receiver.receive.lookup = in_from;
	s.receiver.receive.context = &t;
	is_int(session_run(&s), 0, "a push with something to look things up in");
	ok(same_trees(&t), "all is there");
	is_int((int)s.receiver.stats.chunks_found, 1, "what was found counts when its hash fits");
	(void)in_from(&t, NULL, 0, &none, &at);
	trees_close(&t);
}

static void other_file_system(void)
{
	char path[] = "/dev/shm/pinfold-sync-XXXXXX";
	struct trees t;
	struct session s;
	struct stat a, b;

	trees_open(&t);
	fill(&t);
	int parts = mkdtemp(path) ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	session_init(&s, &t);
	s.receiver.receive.partial_fd = parts;
	s.receiver.receive.durable = true;
	is_int(session_run(&s), 0, "what arrives is kept on another file system");
	if (fstat(parts, &a) == 0 && fstat(t.to, &b) == 0)
		diag("devices %lx and %lx", (long)a.st_dev, (long)b.st_dev);
	ok(same_trees(&t), "all is there");
	close(parts);
	ok(rmdir(path) == 0, "nothing is left of it");
	session_init(&s, &t);
	s.receiver.receive.partial_fd = FD_NONE;
	put(t.from, "a.txt", "once more");
	is_int(session_run(&s), 0, "and in the state's own");
	ok(same_trees(&t), "all is there");
	trees_close(&t);
}

static void left_out(void)
{
	struct trees t;
	struct session s;
	char text[300];

	trees_open(&t);
	fill(&t);
	put(t.from, ".gitignore", "*.o\n/a/b/\n");
	put(t.from, ".pinfoldignore", "!keep.o\nwhole\n");
	put(t.from, "x.o", "object");
	put(t.from, "keep.o", "object");
	(void)mkfifoat(t.from, "fifo", 0600);
	put_link(t.from, "out", "/etc/passwd");
	session_init(&s, &t);
	ok(session_run(&s) != 0 && s.receiver.e.kind == ERR_DENIED,
	   "a link that leads out is refused");
	is_int((int)lacking(t.to, t.from, ""), 0, "and nothing has changed");
	describe(t.to, "a.txt", text, sizeof(text));
	is_str(text, "", "nothing at all");
	session_init(&s, &t);
	s.sender.send.skip_links_out = true;
	s.sender.send.skip_git = true;
	is_int(session_run(&s), 0, "it is left out where that is asked for");
	is_int((int)s.sender.stats.links_out, 1, "and counted");
	is_int((int)s.sender.stats.skipped, 1, "as is a FIFO");
	describe(t.to, "x.o", text, sizeof(text));
	is_str(text, "", "what rules name is left out");
	ok(faccessat(t.to, "keep.o", F_OK, 0) == 0, "what others name again is not");
	ok(faccessat(t.to, "whole", F_OK, 0) < 0 && faccessat(t.to, "a/b", F_OK, 0) < 0, "really");
	ok(faccessat(t.to, ".git", F_OK, 0) < 0, "nor is .git sent, when told so");
	session_init(&s, &t);
	s.receiver.receive.keep_links_out = true;
	is_int(session_run(&s), 0, "the receiver may take links that lead out");
	describe(t.to, "out", text, sizeof(text));
	is_str(text, "link /etc/passwd", "as they are");
	trees_close(&t);
}

/* A tree and random changes on both sides, and a plain comparison. */
static void change(int dir)
{
	char name[32], other[32];

	snprintf(name, sizeof(name), "d%u/f%u", trees_random(3), trees_random(8));
	snprintf(other, sizeof(other), "d%u/f%u", trees_random(3), trees_random(8));
	(void)mkdirat(dir, "d0", 0755);
	(void)mkdirat(dir, "d1", 0700);
	(void)mkdirat(dir, "d2", 0755);
	switch (trees_random(8)) {
	case 0: (void)unlinkat(dir, name, 0); break;
	case 1: (void)renameat(dir, name, dir, other); break;
	case 2: put_noise(dir, name, 1500000 + trees_random(1000000), trees_random(3)); break;
	case 3:
		(void)unlinkat(dir, name, 0);
		if (faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
			put_link(dir, name, "f0");
		break;
	case 4:
		if (faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			put_mode(dir, name, trees_random(2) ? 0644 : 0755);
		break;
	case 5:
		(void)unlinkat(dir, name, 0);
		(void)unlinkat(dir, name, AT_REMOVEDIR);
		(void)mkdirat(dir, name, 0755);
		break;
	default: put_noise(dir, name, trees_random(5000), trees_random(5));
	}
}

static void at_random(void)
{
	struct trees t;
	struct session s;
	unsigned wrong = 0, deltas = 0;

	trees_open(&t);
	for (int i = 0; i < 60 && !wrong; i++) {
		for (uint32_t n = trees_random(12); n > 0; n--)
			change(t.from);
		for (uint32_t n = trees_random(4); n > 0; n--)
			change(t.to);
		session_init(&s, &t);
		s.receiver.receive.mirror = true;
		s.sender.send.state_fd = trees_random(6) ? t.a : FD_NONE;
		wrong += session_run(&s) != 0 || !same_trees(&t);
		deltas += s.sender.stats.is_delta;
		if (wrong)
			diag("round %d", i);
	}
	diag("%u of the manifests were differences", deltas);
	is_int((int)wrong, 0, "random changes on both sides, and a mirror of one");
	trees_close(&t);
}

int main(void)
{
	TAP_RUN(first_and_again);
	TAP_RUN(only_what_changed);
	TAP_RUN(what_goes);
	TAP_RUN(changed_there);
	TAP_RUN(kept_there);
	TAP_RUN(cut_off);
	TAP_RUN(other_kinds);
	TAP_RUN(gone_there);
	TAP_RUN(holes);
	TAP_RUN(told);
	TAP_RUN(kinds_change);
	TAP_RUN(locked);
	TAP_RUN(looked_up);
	TAP_RUN(other_file_system);
	TAP_RUN(left_out);
	TAP_RUN(at_random);
	return tap_done();
}
