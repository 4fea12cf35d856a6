/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One side of a session is played by this test, badly: cut off anywhere, with damaged bytes, or
 * with messages that are well-formed and lie. The other must refuse, say so, and leave its tree
 * alone.
 */
#include <poll.h>
#include <sys/resource.h>

#include "sync/buf.h"
#include "sync/pack.h"
#include "sync_trees.h"

enum { HELLO = 1, MANIFEST, BLOCK, WANT, PACK, COMMIT, OK, ERROR };

static const uint8_t none[HASH_BYTES];

/* What a side of ours says, all at once; what it hears is dropped, or kept in `heard`. */
struct script {
	struct buf say;
	struct buf heard;
	size_t hold; /* what comes behind is said after COMMIT was heard; 0: all at once */
	int idle_ms; /* how long the other side waits for it; 0: long */
	int sock;
};

static bool heard_commit(const struct script *s)
{
	const uint8_t *d = s->heard.data;
	bool found = false;

	for (size_t at = 0; at + 8 <= s->heard.len && !found;) {
		found = d[at + 4] == COMMIT;
		at += 8 + (d[at] | (size_t)d[at + 1] << 8 | (size_t)d[at + 2] << 16);
	}
	return found;
}

static void *play(void *arg)
{
	struct script *s = arg;
	size_t at = 0;
	uint8_t buffer[65536];
	bool open = true;

	if (s->say.len == 0)
		(void)shutdown(s->sock, SHUT_WR);
	while (open) {
		size_t end =
			s->hold && s->hold < s->say.len && !heard_commit(s) ? s->hold : s->say.len;
		struct pollfd p = {.fd = s->sock,
				   .events = (short)(POLLIN | (at < end ? POLLOUT : 0))};

		(void)poll(&p, 1, -1);
		if (p.revents & POLLIN) {
			ssize_t n = recv(s->sock, buffer, sizeof(buffer), 0);

			open = n > 0;
			if (n > 0)
				buf_add(&s->heard, buffer, (size_t)n);
		} else if (p.revents & POLLOUT) {
			ssize_t n = send(s->sock, s->say.data + at, end - at,
					 MSG_NOSIGNAL | MSG_DONTWAIT);

			open = n >= 0 || errno == EAGAIN;
			at += n > 0 ? (size_t)n : 0;
			/* All is said: an end of file, but the other side may still answer. */
			if (at == s->say.len)
				(void)shutdown(s->sock, SHUT_WR);
		} else {
			open = false;
		}
	}
	close(s->sock);
	return NULL;
}

static void script_init(struct script *s)
{
	s->hold = 0;
	s->idle_ms = 0;
	buf_init(&s->say, 64 << 20);
	buf_init(&s->heard, 64 << 20);
}

static void script_done(struct script *s)
{
	buf_done(&s->say);
	buf_done(&s->heard);
}

static void message(struct script *s, int type, const void *body, size_t len)
{
	buf_u32(&s->say, (uint32_t)len);
	buf_u32(&s->say, (uint32_t)type);
	buf_add(&s->say, body, len);
}

static void hello(struct script *s, const uint8_t last[HASH_BYTES])
{
	struct buf b;

	buf_init(&b, 100);
	buf_add(&b, "PFSY\001\0\0\0", 8);
	buf_add(&b, last, HASH_BYTES);
	message(s, HELLO, b.data, b.len);
	buf_done(&b);
}

/* A real receiver against a script. */
static int against_sender(const struct trees *t, struct script *script, struct half *h)
{
	struct session s;
	pthread_t thread;
	int pair[2];

	session_init(&s, t);
	*h = s.receiver;
	(void)socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair);
	script->sock = pair[0];
	h->sock = pair[1];
	pthread_create(&thread, NULL, play, script);
	receive_half(h);
	pthread_join(thread, NULL);
	return h->result;
}

static int against_receiver(const struct trees *t, struct script *script, struct half *h)
{
	struct session s;
	pthread_t thread;
	int pair[2];

	session_init(&s, t);
	*h = s.sender;
	h->send.idle_ms = script->idle_ms ? script->idle_ms : h->send.idle_ms;
	(void)socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair);
	script->sock = pair[0];
	h->sock = pair[1];
	pthread_create(&thread, NULL, play, script);
	send_half(h);
	pthread_join(thread, NULL);
	return h->result;
}

static bool is_empty(int dir)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *all = fdopendir(fd);
	unsigned n = 0;

	while (readdir(all))
		n++;
	closedir(all);
	return n == 2;
}

static void pressed(struct buf *to, const void *data, size_t len)
{
	auto_pack struct pack *p = NULL;
	struct err e = ERR_INIT;

	(void)pack_new(1, &p, &e);
	(void)pack_press(p, data, len, to, &e);
}

/* HELLO, and a manifest with these bytes under its right name. */
static void manifest(struct script *s, const struct buf *tree)
{
	struct buf b;
	uint8_t name[HASH_BYTES];

	buf_init(&b, 8 << 20);
	hello(s, none);
	hash_bytes(tree->data, tree->len, name);
	buf_u8(&b, 'W');
	buf_u64(&b, tree->len);
	buf_add(&b, name, HASH_BYTES);
	buf_add(&b, none, HASH_BYTES);
	message(s, MANIFEST, b.data, b.len);
	b.len = 0;
	buf_u32(&b, (uint32_t)tree->len);
	pressed(&b, tree->data, tree->len);
	message(s, BLOCK, b.data, b.len);
	buf_done(&b);
}

static void commit(struct script *s, const struct buf *tree)
{
	uint8_t name[HASH_BYTES];

	hash_bytes(tree->data, tree->len, name);
	message(s, COMMIT, name, HASH_BYTES);
}

static void pack_of(struct script *s, uint32_t n, uint32_t said, const void *data, size_t len)
{
	struct buf b;

	buf_init(&b, 8 << 20);
	buf_u32(&b, n);
	buf_u32(&b, said);
	pressed(&b, data, len);
	message(s, PACK, b.data, b.len);
	buf_done(&b);
}

static void begin(struct buf *tree, unsigned n)
{
	buf_init(tree, 1 << 20);
	buf_add(tree, "PFM1W", 5);
	buf_varint(tree, n);
}

/* An entry whose path shares nothing with the one before. */
static void path_of(struct buf *tree, size_t kept, const char *more, int kind, unsigned mode)
{
	buf_varint(tree, kept);
	buf_varint(tree, strlen(more));
	buf_add(tree, more, strlen(more));
	buf_u8(tree, (uint8_t)kind);
	buf_varint(tree, mode);
}

static void file_of(struct buf *tree, uint64_t size, const void *data, size_t len)
{
	uint8_t hash[HASH_BYTES];

	hash_bytes(data, len, hash);
	buf_varint(tree, 0);
	buf_varint(tree, 0);
	buf_varint(tree, size);
	buf_add(tree, hash, HASH_BYTES);
}

static void refused(const struct trees *t, struct script *s, enum err_kind kind, const char *what)
{
	struct half h;
	int r = against_sender(t, s, &h);

	if (!ok(r < 0 && h.e.kind == kind && is_empty(t->to), what) || getenv("VERBOSE"))
		diag("%d %s: %s", r, err_code(h.e.kind), h.e.text);
	script_done(s);
}

static void lying_paths(void)
{
	static const struct {
		const char *path;
		int kind;
		unsigned mode;
	} cases[] = {
		{"../evil", 1, 0644}, {"/tmp/pinfold-evil", 1, 0644},
		{"..", 2, 0755},      {"a/../../evil", 1, 0644},
		{"", 1, 0644},	      {"evil", 1, 04755},
		{"evil", 2, 02755},   {"evil", 0, 0644},
		{"evil", 7, 0644},    {"b/evil", 1, 0644},
	};
	struct trees t;

	trees_open(&t);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct script s;
		struct buf tree;
		char name[80];

		script_init(&s);
		begin(&tree, 1);
		path_of(&tree, 0, cases[i].path, cases[i].kind, cases[i].mode);
		if (cases[i].kind == 1)
			file_of(&tree, 4, "evil", 4);
		manifest(&s, &tree);
		pack_of(&s, 1, 4, "evil", 4);
		commit(&s, &tree);
		snprintf(name, sizeof(name), "\"%s\", kind %d, mode %o, is refused", cases[i].path,
			 cases[i].kind, cases[i].mode);
		refused(&t, &s, ERR_INVALID, name);
		buf_done(&tree);
	}
	ok(faccessat(t.top, "evil", F_OK, 0) < 0 && access("/tmp/pinfold-evil", F_OK) < 0,
	   "nothing is outside");
	trees_close(&t);
}

static void link_to(struct buf *tree, size_t kept, const char *path, const char *target)
{
	path_of(tree, kept, path, 3, 0777);
	buf_varint(tree, strlen(target));
	buf_add(tree, target, strlen(target));
}

static void lying_links(void)
{
	struct trees t;
	struct script s;
	struct buf tree;

	trees_open(&t);
	script_init(&s);
	begin(&tree, 2);
	link_to(&tree, 0, "out", "..");
	path_of(&tree, 3, "/evil", 1, 0644);
	file_of(&tree, 4, "evil", 4);
	manifest(&s, &tree);
	pack_of(&s, 1, 4, "evil", 4);
	commit(&s, &tree);
	refused(&t, &s, ERR_INVALID, "a file below a link");
	buf_done(&tree);

	script_init(&s);
	begin(&tree, 1);
	link_to(&tree, 0, "out", "/etc");
	manifest(&s, &tree);
	commit(&s, &tree);
	refused(&t, &s, ERR_DENIED, "a link that leads out");
	buf_done(&tree);
	trees_close(&t);
}

static const char text[] = "some text that is sent";

static void one_file(struct buf *tree)
{
	begin(tree, 1);
	path_of(tree, 0, "file", 1, 0644);
	file_of(tree, sizeof(text), text, sizeof(text));
}

static void lying_packs(void)
{
	struct trees t;
	struct script s;
	struct buf tree, b;
	char *zeros = calloc(1, 4 << 20);
	char other[sizeof(text)];

	memcpy(other, text, sizeof(text));
	other[3] ^= 1;
	trees_open(&t);
	one_file(&tree);
	for (int i = 0; i < 7; i++) {
		static const char *const names[] = {"a chunk with another hash",
						    "a pack that says less than is due",
						    "a pack that is longer inside",
						    "a pack that is shorter inside",
						    "a bomb",
						    "more chunks than were asked for",
						    "a pack that is none"};

		script_init(&s);
		manifest(&s, &tree);
		switch (i) {
		case 0: pack_of(&s, 1, sizeof(text), other, sizeof(text)); break;
		case 1: pack_of(&s, 1, 4, text, 4); break;
		case 2: pack_of(&s, 1, sizeof(text), zeros, sizeof(text) + 1); break;
		case 3: pack_of(&s, 1, sizeof(text), text, sizeof(text) - 1); break;
		case 4: pack_of(&s, 1, sizeof(text), zeros, 4 << 20); break;
		case 5: pack_of(&s, 2, 2 * sizeof(text), zeros, 2 * sizeof(text)); break;
		case 6:
			buf_init(&b, 100);
			buf_u32(&b, 1);
			buf_u32(&b, sizeof(text));
			buf_add(&b, text, sizeof(text));
			message(&s, PACK, b.data, b.len);
			buf_done(&b);
		}
		commit(&s, &tree);
		refused(&t, &s, ERR_INVALID, names[i]);
	}
	ok(is_empty(t.parts), "none of it was kept");
	script_init(&s);
	manifest(&s, &tree);
	pack_of(&s, 1, sizeof(text), text, sizeof(text));
	message(&s, COMMIT, none, HASH_BYTES);
	refused(&t, &s, ERR_INVALID, "a commit of something else");
	script_init(&s);
	manifest(&s, &tree);
	pack_of(&s, 1, sizeof(text), text, sizeof(text));
	pack_of(&s, 1, sizeof(text), text, sizeof(text));
	refused(&t, &s, ERR_INVALID, "a pack too many");
	buf_done(&tree);
	free(zeros);
	trees_close(&t);
}

/* Chunks that fit their hashes, in a file that does not fit its own. */
static void lying_whole(void)
{
	struct trees t;
	struct script s;
	struct buf tree;
	uint8_t *data = malloc(2 << 20), hash[HASH_BYTES];

	trees_open(&t);
	script_init(&s);
	memset(data, 'a', 1 << 20);
	memset(data + (1 << 20), 'b', 1 << 20);
	begin(&tree, 2);
	path_of(&tree, 0, "file", 1, 0644);
	file_of(&tree, 2 << 20, "wrong", 5);
	buf_varint(&tree, 2);
	for (int i = 0; i < 2; i++) {
		hash_bytes(data + ((size_t)i << 20), 1 << 20, hash);
		buf_varint(&tree, 1 << 20);
		buf_add(&tree, hash, HASH_BYTES);
	}
	path_of(&tree, 0, "g", 1, 0644);
	file_of(&tree, sizeof(text), text, sizeof(text));
	manifest(&s, &tree);
	pack_of(&s, 2, 2 << 20, data, 2 << 20);
	pack_of(&s, 1, sizeof(text), text, sizeof(text));
	commit(&s, &tree);
	refused(&t, &s, ERR_INVALID, "a whole that is not the sum of its parts");
	buf_done(&tree);
	free(data);
	trees_close(&t);
}

static void lying_sizes(void)
{
	struct trees t;
	struct script s;
	struct buf b, tree;

	trees_open(&t);
	buf_init(&b, 1 << 20);
	one_file(&tree);
	script_init(&s);
	hello(&s, none);
	buf_u32(&s.say, UINT32_MAX);
	buf_u32(&s.say, MANIFEST);
	refused(&t, &s, ERR_INVALID, "a message of 4 GB");

	script_init(&s);
	hello(&s, none);
	buf_u8(&b, 'W');
	buf_u64(&b, UINT64_MAX);
	buf_add(&b, none, HASH_BYTES);
	buf_add(&b, none, HASH_BYTES);
	message(&s, MANIFEST, b.data, b.len);
	refused(&t, &s, ERR_LIMIT, "a manifest without end");

	script_init(&s);
	hello(&s, none);
	b.len = 1;
	buf_u64(&b, 100);
	buf_add(&b, none, HASH_BYTES);
	buf_add(&b, none, HASH_BYTES);
	message(&s, MANIFEST, b.data, b.len);
	for (int i = 0; i < 100; i++)
		message(&s, BLOCK, "\0\0\0\0", 4);
	refused(&t, &s, ERR_INVALID, "blocks without end and without content");

	script_init(&s);
	hello(&s, none);
	b.len = 0;
	buf_u8(&b, 'D');
	buf_u64(&b, 100);
	buf_add(&b, none, HASH_BYTES);
	buf_add(&b, text, 22);
	buf_add(&b, none, HASH_BYTES - 22);
	message(&s, MANIFEST, b.data, b.len);
	refused(&t, &s, ERR_INVALID, "a difference to what was never sent");

	script_init(&s);
	message(&s, HELLO, "PFSY\002\0\0\0aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 40);
	refused(&t, &s, ERR_UNSUPPORTED, "a version that is not ours");

	script_init(&s);
	message(&s, COMMIT, none, HASH_BYTES);
	refused(&t, &s, ERR_INVALID, "a commit before all else");

	script_init(&s);
	message(&s, ERROR, "\001\0no \033[31mred\n", 13);
	refused(&t, &s, ERR_INVALID, "an error");
	buf_done(&b);
	buf_done(&tree);
	trees_close(&t);
}

/* What an honest sender says to an honest receiver, as a script. */
static void record(struct trees *t, struct script *s)
{
	struct session all;
	int up[2], down[2];
	pthread_t a, b;
	uint8_t buffer[65536];

	session_init(&all, t);
	script_init(s);
	(void)socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, up);
	(void)socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, down);
	all.sender.sock = up[0];
	all.receiver.sock = down[0];
	pthread_create(&a, NULL, send_half, &all.sender);
	pthread_create(&b, NULL, receive_half, &all.receiver);
	struct pollfd p[2] = {{.fd = up[1], .events = POLLIN}, {.fd = down[1], .events = POLLIN}};
	while (p[0].fd >= 0 || p[1].fd >= 0) {
		(void)poll(p, 2, -1);
		for (int i = 0; i < 2; i++) {
			if (!p[i].revents)
				continue;
			ssize_t n = recv(p[i].fd, buffer, sizeof(buffer), 0);
			if (n <= 0) {
				p[i].fd = -1;
				(void)shutdown(i ? up[1] : down[1], SHUT_WR);
				continue;
			}
			if (i == 0)
				buf_add(&s->say, buffer, (size_t)n);
			else
				buf_add(&s->heard, buffer, (size_t)n);
			(void)fd_write_all(i ? up[1] : down[1], buffer, (size_t)n);
		}
	}
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	close(up[1]);
	close(down[1]);
	ok(all.sender.result == 0 && all.receiver.result == 0 && same_trees(t),
	   "an honest session");
}

static void empty_dir(int dir)
{
	struct err e = ERR_INIT;

	(void)sync_forget_partial(dir, &e); /* empties any directory */
}

static void small_tree(const struct trees *t)
{
	(void)mkdirat(t->from, "d", 0755);
	put(t->from, "d/one", "one and some more of it, so that there is something to press");
	put(t->from, "two", "two");
	put_link(t->from, "link", "d/one");
}

/* The receiver hears a prefix of an honest sender, of every length. */
static void cut_sender(void)
{
	struct trees t;
	struct script all;
	unsigned changed = 0, taken = 0;

	trees_open(&t);
	small_tree(&t);
	record(&t, &all);
	for (size_t len = 0; len < all.say.len; len++) {
		struct script s;
		struct half h;

		empty_dir(t.to);
		empty_dir(t.b);
		script_init(&s);
		buf_add(&s.say, all.say.data, len);
		taken += against_sender(&t, &s, &h) == 0;
		changed += !is_empty(t.to);
		script_done(&s);
	}
	diag("%zu bytes", all.say.len);
	is_int((int)taken, 0, "a sender that is cut off anywhere is not believed");
	is_int((int)changed, 0, "and nothing has changed");
	script_done(&all);
	trees_close(&t);
}

static void damaged_sender(void)
{
	struct trees t;
	struct script all;
	unsigned changed = 0, taken = 0, wrong = 0;

	trees_open(&t);
	small_tree(&t);
	record(&t, &all);
	for (int i = 0; i < 3000; i++) {
		struct script s;
		struct half h;

		empty_dir(t.to);
		empty_dir(t.b);
		empty_dir(t.parts);
		script_init(&s);
		buf_add(&s.say, all.say.data, all.say.len);
		s.say.data[trees_random((uint32_t)s.say.len)] ^= (uint8_t)(1u << trees_random(8));
		if (against_sender(&t, &s, &h) < 0) {
			changed += !is_empty(t.to);
		} else {
			taken++;
			wrong += !same_trees(&t);
		}
		script_done(&s);
	}
	diag("%u of 3000 damaged sessions were good all the same", taken);
	is_int((int)changed, 0, "damage changes nothing");
	is_int((int)wrong, 0, "or does no harm");
	script_done(&all);
	trees_close(&t);
}

/* A receiver that lies: the sender fails, and is still there. */
static void lying_receiver(void)
{
	static const struct {
		const char *name, *want;
		size_t len;
		enum err_kind kind;
	} cases[] = {
		{"asks for more than there is", "\001\000\011", 3, ERR_INVALID},
		{"asks far beyond", "\001\377\377\377\377\017\001", 7, ERR_INVALID},
		{"asks for nothing, often", "\002\000\000\000\000", 5, ERR_INVALID},
		{"says that there is more than comes", "\002\000\001", 3, ERR_INVALID},
		{"says more than it announced", "\001\000\001\000\001", 5, ERR_INVALID},
		{"asks twice in a row", "\002\000\001\000\001", 5, ERR_INVALID},
		{"says nothing at all", "", 0, ERR_INVALID},
	};
	struct trees t;
	struct script s;
	struct half h;

	trees_open(&t);
	small_tree(&t);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		script_init(&s);
		hello(&s, none);
		message(&s, WANT, cases[i].want, cases[i].len);
		message(&s, OK, "", 0);
		int r = against_receiver(&t, &s, &h);
		if (!ok(r < 0 && h.e.kind == cases[i].kind, cases[i].name))
			diag("%d: %s", r, h.e.text);
		script_done(&s);
	}
	script_init(&s);
	hello(&s, none);
	message(&s, OK, "", 0);
	ok(against_receiver(&t, &s, &h) < 0, "says OK at once");
	script_done(&s);
	script_init(&s);
	hello(&s, none);
	message(&s, ERROR, "\005\0\033[2J\033]0;x\007 bad\n", 17);
	ok(against_receiver(&t, &s, &h) < 0 && !strchr(h.e.text, '\033') &&
		   !strchr(h.e.text, '\n') && strstr(h.e.text, "bad"),
	   "its last words cannot talk to a terminal");
	script_done(&s);
	script_init(&s);
	hello(&s, (const uint8_t *)"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
	message(&s, WANT, "\0", 1);
	message(&s, OK, "", 0);
	ok(against_receiver(&t, &s, &h) == 0 && !h.stats.is_delta,
	   "one that names what was never sent gets all");
	script_done(&s);
	trees_close(&t);
}

static void cut_receiver(void)
{
	struct trees t;
	struct script all;
	unsigned taken = 0;

	trees_open(&t);
	small_tree(&t);
	record(&t, &all);
	for (size_t len = 0; len <= all.heard.len; len++) {
		struct script s;
		struct half h;

		script_init(&s);
		buf_add(&s.say, all.heard.data, len);
		s.hold = all.heard.len - 8;
		taken += against_receiver(&t, &s, &h) == 0;
		script_done(&s);
	}
	is_int((int)taken, 1,
	       "a receiver that is cut off anywhere is not believed, a whole one is");
	script_done(&all);
	trees_close(&t);
}

static void damaged_receiver(void)
{
	struct trees t;
	struct script all;
	unsigned taken = 0, silent = 0;

	trees_open(&t);
	small_tree(&t);
	record(&t, &all);
	for (int i = 0; i < 1000; i++) {
		struct script s;
		struct half h;

		script_init(&s);
		buf_add(&s.say, all.heard.data, all.heard.len);
		s.say.data[trees_random((uint32_t)s.say.len)] ^= (uint8_t)(1u << trees_random(8));
		s.hold = all.heard.len - 8;
		s.idle_ms = 50; /* where it waits for what never comes */
		taken += against_receiver(&t, &s, &h) == 0;
		silent += h.result < 0 && h.e.kind == ERR_TIMEOUT;
		script_done(&s);
	}
	diag("%u of 1000 damaged answers were good all the same", taken);
	ok(taken > 0 && taken < 900, "damaged answers are noticed, and the sender lives");
	ok(silent > 0, "and does not wait for ever for the rest of one");
	script_done(&all);
	trees_close(&t);
}

/* At every boundary between messages, and in the middle of each: the next session goes on. */
static void resumed(void)
{
	struct trees t;
	struct script all;
	unsigned bad = 0, sessions = 0, went_on = 0;
	size_t at = 0;

	trees_open(&t);
	small_tree(&t);
	put_noise(t.from, "big", 9 << 20, 5);
	for (int i = 0; i < 12; i++) {
		char name[16];

		snprintf(name, sizeof(name), "m%d", i);
		put_noise(t.from, name, 700000, 100 + (uint64_t)i);
	}
	settle();
	record(&t, &all);
	while (at + 8 <= all.say.len) {
		size_t len = 8 + (all.say.data[at] | (size_t)all.say.data[at + 1] << 8 |
				  (size_t)all.say.data[at + 2] << 16);

		for (int half = 0; half < 2; half++) {
			struct script s;
			struct session next;
			struct half h;

			empty_dir(t.to);
			empty_dir(t.b);
			empty_dir(t.parts);
			script_init(&s);
			buf_add(&s.say, all.say.data, half ? at + len / 2 : at);
			bad += against_sender(&t, &s, &h) == 0 || !is_empty(t.to);
			bad += push(&t, &next) != 0 || !same_trees(&t) || !is_empty(t.parts);
			went_on += next.receiver.stats.chunks_found > 0;
			bad += next.receiver.stats.chunks_found + next.receiver.stats.chunks_sent !=
			       next.receiver.stats.chunks_need;
			sessions++;
			script_done(&s);
		}
		at += len;
	}
	diag("%u sessions, %u of them with something to go on from", sessions, went_on);
	is_int((int)bad, 0, "whenever it is cut off, the next session ends it");
	ok(went_on >= 5, "and does not send twice what has arrived");
	script_done(&all);
	trees_close(&t);
}

/* What an interrupted session kept was changed meanwhile. */
static void spoiled_parts(void)
{
	struct trees t;
	struct script all, s;
	struct session next;
	struct half h;
	char outside[128];
	struct dirent *d;

	trees_open(&t);
	small_tree(&t);
	put_noise(t.from, "big", 3 << 20, 5);
	settle();
	record(&t, &all);
	empty_dir(t.to);
	empty_dir(t.b);
	script_init(&s);
	buf_add(&s.say, all.say.data, all.say.len - 40); /* without COMMIT */
	(void)against_sender(&t, &s, &h);
	script_done(&s);
	ok(!is_empty(t.parts), "something is kept");
	put(t.top, "outside", "outside");
	snprintf(outside, sizeof(outside), "%s/outside", t.path);
	DIR *all_parts = fdopendir(openat(t.parts, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	for (int i = 0; (d = readdir(all_parts)); i++) {
		if (d->d_name[0] == '.')
			continue;
		int fd = openat(t.parts, d->d_name, O_WRONLY | O_CLOEXEC);
		(void)!pwrite(fd, "spoiled", 7, 0);
		close(fd);
		if (i % 2) {
			(void)unlinkat(t.parts, d->d_name, 0);
			put_link(t.parts, d->d_name, outside);
		}
	}
	closedir(all_parts);
	(void)mkdirat(t.parts, "junk", 0700);
	put(t.parts, "junk/junk", "junk");
	is_int(push(&t, &next), 0, "the next session");
	ok(same_trees(&t), "does not fall for what was changed");
	describe(t.top, "outside", outside, sizeof(outside));
	ok(strstr(outside, " 7 ") != NULL, "nor write through a link");
	ok(is_empty(t.parts), "and leaves nothing");
	script_done(&all);
	trees_close(&t);
}

/* The tree itself is full of traps. */
static void traps(void)
{
	struct trees t;
	struct session s;
	char now[300];

	trees_open(&t);
	small_tree(&t);
	put(t.from, "d/two", "two");
	is_int(push(&t, &s), 0, "a first push");
	int outside = subdir(t.top, "outside");
	put(outside, "one", "precious");
	put(outside, "two", "precious");
	empty_dir(t.to);
	put_link(t.to, "d", "../outside");
	put_link(t.to, "two", "../outside/two");
	put(t.from, "d/one", "changed");
	(void)unlinkat(t.from, "d/two", 0);
	is_int(push(&t, &s), 0, "where a directory was is a link to elsewhere");
	ok(same_trees(&t), "the tree is right");
	describe(outside, "one", now, sizeof(now));
	ok(strstr(now, " 8 ") != NULL, "nothing is written elsewhere");
	ok(faccessat(outside, "two", F_OK, 0) == 0, "and nothing removed");
	(void)mkdirat(t.from, "d/deep", 0755);
	put(t.from, "d/deep/one", "one");
	is_int(push(&t, &s), 0, "a directory in it");
	int deep = subdir(outside, "deep");
	put(deep, "one", "precious");
	put(deep, "two", "precious");
	put(t.from, "d/deep/one", "changed");
	empty_dir(t.to);
	put_link(t.to, "d", "../outside");
	is_int(push(&t, &s), 0, "with the link above it");
	describe(deep, "one", now, sizeof(now));
	ok(same_trees(&t) && strstr(now, " 8 "), "nothing is written elsewhere");
	close(deep);
	(void)unlinkat(t.from, "d/deep/one", 0);
	empty_dir(t.to);
	put_link(t.to, "d", "../outside");
	is_int(push(&t, &s), 0, "something goes that was below it");
	ok(same_trees(&t) && faccessat(outside, "deep/one", F_OK, 0) == 0,
	   "nothing is removed elsewhere");
	empty_dir(t.to);
	put_link(t.to, "trap", "../outside");
	session_init(&s, &t);
	s.receiver.receive.mirror = true;
	is_int(session_run(&s), 0, "a mirror");
	ok(same_trees(&t) && faccessat(outside, "one", F_OK, 0) == 0,
	   "removes a link and not what it leads to");
	close(outside);
	trees_close(&t);
}

static void no_room(void)
{
	struct rlimit small = {1 << 20, 1 << 20};
	struct sigaction ignore = {.sa_handler = SIG_IGN};
	struct trees t;
	struct session s;

	trees_open(&t);
	small_tree(&t);
	put_noise(t.from, "big", 3 << 20, 5);
	(void)sigaction(SIGXFSZ, &ignore, NULL);
	(void)setrlimit(RLIMIT_FSIZE, &small);
	ok(push(&t, &s) != 0, "no room for what arrives");
	ok(is_empty(t.to), "nothing has changed");
	ok(strstr(s.sender.e.text, "File too large") != NULL, "and the sender knows why");
	trees_close(&t);
}

/* A receiver that gives up in the middle, and neither reads on nor closes. */
static void deaf(void)
{
	struct trees t;
	struct session s;
	struct script script;
	pthread_t thread;
	uint8_t buffer[100];
	int pair[2];

	trees_open(&t);
	put_noise(t.from, "big", 30 << 20, 5);
	session_init(&s, &t);
	(void)socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair);
	s.sender.sock = pair[0];
	s.sender.send.idle_ms = 0;
	script_init(&script);
	hello(&script, none);
	/* The number of chunks is not known here: one is enough to be sent for a while, 100 of them
	 * fill the socket. */
	message(&script, WANT, "\001\000\100", 3);
	pthread_create(&thread, NULL, send_half, &s.sender);
	(void)fd_write_all(pair[1], script.say.data, script.say.len);
	for (unsigned got = 0; got < 1000;) {
		ssize_t n = recv(pair[1], buffer, sizeof(buffer), 0);

		got += n > 0 ? (unsigned)n : 1000;
	}
	script.say.len = 0;
	message(&script, ERROR, "\005\0no more room", 14);
	(void)fd_write_all(pair[1], script.say.data, script.say.len);
	pthread_join(thread, NULL);
	ok(s.sender.result < 0 && strstr(s.sender.e.text, "no more room"),
	   "a sender hears what is said while it sends");
	close(pair[1]);
	script_done(&script);
	trees_close(&t);
}

/* The sender's file changes after it was scanned: by a progress call that comes between packs. */
static int changing_dir;

static void change_big(void *context, const struct sync_progress *now)
{
	(void)context;
	(void)now;
	int fd = openat(changing_dir, "z", O_WRONLY | O_CLOEXEC);
	(void)!pwrite(fd, "changed", 7, 0);
	close(fd);
}

static void changing(void)
{
	struct trees t;
	struct session s;

	trees_open(&t);
	small_tree(&t);
	put_noise(t.from, "a", 4 << 20, 5);
	put_noise(t.from, "z", 1 << 20, 6);
	settle();
	session_init(&s, &t);
	changing_dir = t.from;
	s.sender.send.progress = change_big;
	ok(session_run(&s) != 0 && s.sender.e.kind == ERR_BUSY, "a file changes while it is sent");
	ok(is_empty(t.to), "nothing has changed");
	is_int(push(&t, &s), 0, "the next time");
	ok(same_trees(&t) && s.receiver.stats.chunks_found > 5, "goes on from there");
	trees_close(&t);
}

int main(void)
{
	TAP_RUN(lying_paths);
	TAP_RUN(lying_links);
	TAP_RUN(lying_packs);
	TAP_RUN(lying_whole);
	TAP_RUN(lying_sizes);
	TAP_RUN(cut_sender);
	TAP_RUN(damaged_sender);
	TAP_RUN(lying_receiver);
	TAP_RUN(cut_receiver);
	TAP_RUN(damaged_receiver);
	TAP_RUN(resumed);
	TAP_RUN(spoiled_parts);
	TAP_RUN(traps);
	TAP_RUN(no_room);
	TAP_RUN(changing);
	TAP_RUN(deaf);
	return tap_done();
}
