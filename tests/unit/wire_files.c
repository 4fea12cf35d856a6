/* SPDX-License-Identifier: Apache-2.0 */
/* What is said about files: whole questions and answers, and all that is not. */
#include "wire/files.h"

#include "tap.h"

union question {
	struct files_ask ask;
	char bytes[sizeof(struct files_ask) + 2 * FILES_PATH_SIZE + 16];
};

static uint32_t make(union question *q, enum files_op op, const char *path, const char *path2)
{
	memset(q, 0, sizeof(*q));
	q->ask = (struct files_ask){.magic = FILES_MAGIC,
				    .op = op,
				    .path_len = (uint32_t)strlen(path),
				    .path2_len = (uint32_t)strlen(path2)};
	memcpy(q->bytes + sizeof(q->ask), path, strlen(path) + 1);
	memcpy(q->bytes + sizeof(q->ask) + strlen(path) + 1, path2, strlen(path2) + 1);
	return (uint32_t)(sizeof(q->ask) + strlen(path) + strlen(path2) + 2);
}

static void questions(void)
{
	union question q;
	uint32_t n = make(&q, FILES_MOVE, "/a", "/b/c");

	is_int(files_ask_check(&q.ask, n), 0, "two paths");
	ok(strcmp(files_ask_path(&q.ask), "/a") == 0, "the first");
	ok(strcmp(files_ask_path2(&q.ask), "/b/c") == 0, "the second");
	is_int(files_ask_check(&q.ask, n - 1), -EINVAL, "a byte short");
	is_int(files_ask_check(&q.ask, n + 1), -EINVAL, "a byte long");
	is_int(files_ask_check(&q.ask, 4), -EINVAL, "not even its head");
	q.ask.magic++;
	is_int(files_ask_check(&q.ask, n), -EINVAL, "somebody else's");
	n = make(&q, FILES_MOVE, "/a", "");
	is_int(files_ask_check(&q.ask, n), -EINVAL, "a second path that is missing");
	n = make(&q, FILES_STAT, "/a", "/b");
	is_int(files_ask_check(&q.ask, n), -EINVAL, "one that nobody wants");
	n = make(&q, FILES_SYMLINK, "/a", "../b");
	is_int(files_ask_check(&q.ask, n), 0, "a link's target is any text");
	n = make(&q, FILES_SYMLINK, "/a", "");
	is_int(files_ask_check(&q.ask, n), -EINVAL, "but not none");
	n = make(&q, FILES_STAT, "a", "");
	is_int(files_ask_check(&q.ask, n), -EINVAL, "a relative path");
	n = make(&q, FILES_STAT, "", "");
	is_int(files_ask_check(&q.ask, n), -EINVAL, "no path");
	n = make(&q, FILES_COMMIT, "", "");
	is_int(files_ask_check(&q.ask, n), 0, "none is needed there");
	n = make(&q, FILES_OP_END, "/a", "");
	is_int(files_ask_check(&q.ask, n), -EINVAL, "an op that is not");
	n = make(&q, FILES_STAT, "/abc", "");
	q.bytes[sizeof(q.ask) + 2] = '\0';
	is_int(files_ask_check(&q.ask, n), -EINVAL, "a NUL within");
	n = make(&q, FILES_STAT, "/abc", "");
	q.bytes[sizeof(q.ask) + 4] = 'd';
	is_int(files_ask_check(&q.ask, n), -EINVAL, "no NUL at its end");
	n = make(&q, FILES_STAT, "/abc", "");
	q.ask.path_len = ~0u;
	is_int(files_ask_check(&q.ask, n), -EINVAL, "a length that goes round");
	n = make(&q, FILES_CHMOD, "/abc", "");
	q.ask.mode = 010000;
	is_int(files_ask_check(&q.ask, n), -EINVAL, "a mode that is none");
	n = make(&q, FILES_STAT, "/abc", "");
	q.ask.flags = ~0u;
	is_int(files_ask_check(&q.ask, n), -EINVAL, "flags that are none");
}

static void renames(void)
{
	union question q;
	uint32_t n = make(&q, FILES_RENAME, "/a", "/b");

	is_int(files_ask_check(&q.ask, n), 0, "from the root");
	q.ask.flags = FILES_TO_FD;
	is_int(files_ask_check(&q.ask, n), -EINVAL, "that, and from a descriptor");
	n = make(&q, FILES_RENAME, "a", "../b");
	is_int(files_ask_check(&q.ask, n), -EINVAL, "from nowhere");
	q.ask.flags = FILES_FROM_FD;
	is_int(files_ask_check(&q.ask, n), -EINVAL, "one of them from nowhere");
	q.ask.flags = FILES_FROM_FD | FILES_TO_FD;
	is_int(files_ask_check(&q.ask, n), 0, "both from descriptors");
	n = make(&q, FILES_RENAME, "a", "");
	q.ask.flags = FILES_FROM_FD | FILES_TO_FD;
	is_int(files_ask_check(&q.ask, n), -EINVAL, "to nothing");
	n = make(&q, FILES_MOVE, "/a", "/b");
	q.ask.flags = FILES_FROM_FD;
	is_int(files_ask_check(&q.ask, n), -EINVAL, "a descriptor that nobody wants");
}

static void ports(void)
{
	union question q;
	uint32_t n = make(&q, FILES_CONNECT, "", "");

	is_int(files_ask_check(&q.ask, n), -EINVAL, "no port");
	q.ask.mode = 1;
	is_int(files_ask_check(&q.ask, n), 0, "the first");
	q.ask.mode = 65535;
	is_int(files_ask_check(&q.ask, n), 0, "the last");
	q.ask.mode = 65536;
	is_int(files_ask_check(&q.ask, n), -EINVAL, "one behind it");
	q.ask.mode = 80;
	q.ask.flags = FILES_NEW;
	is_int(files_ask_check(&q.ask, n), -EINVAL, "with flags");
	n = make(&q, FILES_CONNECT, "/a", "");
	q.ask.mode = 80;
	is_int(files_ask_check(&q.ask, n), -EINVAL, "with a path");
	n = make(&q, FILES_SYNC, "", "");
	is_int(files_ask_check(&q.ask, n), 0, "a question to one that watches");
	n = make(&q, FILES_SYNC, "/a", "");
	is_int(files_ask_check(&q.ask, n), -EINVAL, "has no path");
}

static void answers(void)
{
	struct files_answer a = {.magic = FILES_MAGIC, .seq = 7, .len = 10};
	uint32_t n = sizeof(a) + 10;

	is_int(files_answer_check(&a, n, 7), 0, "an answer");
	is_int(files_answer_check(&a, n, 8), -EINVAL, "to another question");
	is_int(files_answer_check(&a, n - 1, 7), -EINVAL, "a byte short");
	is_int(files_answer_check(&a, n + 1, 7), -EINVAL, "a byte long");
	is_int(files_answer_check(&a, 8, 7), -EINVAL, "not even its head");
	a.error = -5;
	is_int(files_answer_check(&a, n, 7), -EINVAL, "an error that is none");
	a.error = 0;
	a.event = FILES_EVENT_END;
	is_int(files_answer_check(&a, n, 7), -EINVAL, "an event that is none");
	a.event = 0;
	a.more = 2;
	is_int(files_answer_check(&a, n, 7), -EINVAL, "more than more");
	a.more = 0;
	a.len = FILES_DATA_MAX + 1;
	is_int(files_answer_check(&a, (uint32_t)sizeof(a) + a.len, 7), -EINVAL, "too much");
}

static char data[4096];

static uint32_t put(uint32_t at, const char *name, uint32_t name_len, uint32_t target_len)
{
	struct files_entry e = {.name_len = name_len, .target_len = target_len};

	memcpy(data + at, &e, sizeof(e));
	memcpy(data + at + sizeof(e), name, strlen(name));
	return at + (uint32_t)(sizeof(e) + strlen(name));
}

static int first(uint32_t len)
{
	struct files_entry e;
	const char *name, *target;
	uint32_t pos = 0;

	return files_entry_next(data, len, &pos, &e, &name, &target);
}

static void entries(void)
{
	static const char *const bad[] = {"", ".", "..", "a/b", "/"};
	struct files_entry e;
	const char *name, *target;
	uint32_t pos = 0, n = put(put(0, "onetwo", 3, 3), "last", 4, 0);

	is_int(files_entry_next(data, n, &pos, &e, &name, &target), 0, "an entry");
	ok(e.name_len == 3 && memcmp(name, "one", 3) == 0, "its name");
	ok(e.target_len == 3 && memcmp(target, "two", 3) == 0, "its target");
	is_int(files_entry_next(data, n, &pos, &e, &name, &target), 0, "the next");
	is_int(pos, n, "is the last");
	is_int(files_entry_next(data, n, &pos, &e, &name, &target), -EINVAL, "there is no more");
	is_int(first(put(0, "abc", 4, 0)), -EINVAL, "a name that goes on");
	is_int(first(put(0, "abc", 2, 2)), -EINVAL, "a target that goes on");
	is_int(first(put(0, "abc", ~0u, 4)), -EINVAL, "lengths that go round");
	is_int(first(put(0, "abc", 3, ~0u)), -EINVAL, "a target's, too");
	is_int(first(10), -EINVAL, "not even its head");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		is_int(first(put(0, bad[i], (uint32_t)strlen(bad[i]), 0)), -EINVAL,
		       "a name that no directory holds");
	n = put(0, "abc", 3, 0);
	data[sizeof(e) + 1] = '\0';
	is_int(first(n), -EINVAL, "a NUL within");
}

int main(void)
{
	TAP_RUN(questions);
	TAP_RUN(renames);
	TAP_RUN(ports);
	TAP_RUN(answers);
	TAP_RUN(entries);
	return tap_done();
}
