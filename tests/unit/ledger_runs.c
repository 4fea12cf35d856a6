/* SPDX-License-Identifier: Apache-2.0 */
/* The events of a run are found by an index, and without it, and whatever became of it. */
#include "ledger/runs.h"

#include "ledger/find.h"
#include "ledger_help.h"

#define EVENTS (2 * RUNS_EVENTS + 300)
#define EACH 64u /* of this many events two are of a run */

static char run[EVENTS / EACH + 1][ID_SIZE];

static void add(int dir, const char *id, const char *phase)
{
	auto_value *v = an_event(id, phase);
	struct chain_place p;
	struct err e = ERR_INIT;

	if (chain_append(dir, v, 0, &p, &e) < 0)
		diag("%s", e.text);
}

/* Run i begins at event i * EACH, and ends 70 events later. */
static int make_chain(void)
{
	struct err e = ERR_INIT;
	int dir = make_dir();

	add(dir, NULL, NULL);
	for (unsigned at = 2; at < EVENTS; at++) {
		unsigned i = at / EACH;

		if (at % EACH == 0 && id_make("run", run[i], &e) >= 0)
			add(dir, run[i], "begin");
		else if (at > 70 && (at - 70) % EACH == 0 && at - 70 >= EACH)
			add(dir, run[(at - 70) / EACH], "end");
		else
			add(dir, NULL, NULL);
	}
	return dir;
}

/* Lines that were looked at; UINT64_MAX where one was told twice or out of order. */
static uint64_t lines(int dir, const char *id)
{
	struct err e = ERR_INIT;
	struct scan_line line;
	auto_scan *s = NULL;
	struct runs way;
	struct event_head head;
	uint64_t n = 0, before = 0;

	if (scan_open(dir, &s, &e) < 0 || runs_open(dir, id, &way, &e) < 0)
		return UINT64_MAX;
	for (; runs_next(&way, s, &line, &e) > 0; n++) {
		if (!event_head(line.text, line.len, &head) || (n && head.at <= before))
			n = UINT64_MAX / 2;
		before = head.at;
	}
	runs_close(&way);
	return n;
}

/* How many of the runs are not found, with both of their events, where they are. */
static unsigned lost(int dir)
{
	unsigned bad = 0;

	for (unsigned i = 1; i < EVENTS / EACH - 1; i += 3) {
		struct err e = ERR_INIT;
		struct find_run f;

		bad += find_run(dir, run[i], &f, &e) != 1 || !f.begin.value || !f.end.value ||
		       f.begin.at != i * EACH || f.end.at != i * EACH + 70;
		find_done(&f);
	}
	return bad;
}

static void cut(int dir, const char *name, off_t size)
{
	auto_close int fd = openat(dir, name, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || ftruncate(fd, size) < 0)
		diag("%s: not cut", name);
}

static void zero(int dir, off_t at, size_t len)
{
	auto_close int fd = openat(dir, RUNS_FILE, O_WRONLY | O_CLOEXEC);
	static const char nothing[4096];

	if (fd < 0 || pwrite(fd, nothing, len, at) != (ssize_t)len)
		diag("not written");
}

/* Random bytes, and lengths that lie. */
static void damaged(int dir)
{
	int bad = 0;
	size_t len = 0;
	auto_free char *good = slurp(dir, RUNS_FILE, &len), *text = malloc(len);

	for (unsigned turn = 0; turn < 40; turn++) {
		struct err e = ERR_INIT;
		struct find_run f;

		memcpy(text, good, len);
		for (unsigned k = 0; k < 8; k++)
			text[(turn * 37 + k * 3) % (turn < 20 ? 24 : len)] ^= (char)(turn * 7 + 1);
		spew(dir, RUNS_FILE, text, len);
		/* It may not be found; it may not be another's. */
		int r = find_run(dir, run[3], &f, &e);
		bad += r < 0 || (r == 1 && f.begin.value && f.begin.at != 3 * EACH);
		find_done(&f);
	}
	is_int(bad, 0, "a damaged index finds no wrong event and stops nobody");
	spew(dir, RUNS_FILE, good, len);
}

static void test_find(void)
{
	static const char nobody[] = "run22222222222222222222222222";
	const off_t block = 24 + 8 * RUNS_EVENTS;
	struct stat st = {0};
	int dir = make_chain();

	is_int(lost(dir), 0, "without an index every run is found");
	is_int((long long)lines(dir, nobody), EVENTS, "by reading everything");
	settled(dir);
	(void)fstatat(dir, RUNS_FILE, &st, 0);
	is_int(st.st_size, 2 * block, "who settles makes one of whole blocks");
	is_int(lost(dir), 0, "with it they are found");
	is_int((long long)lines(dir, nobody), 300, "reading what is behind it and nothing else");
	is_int((long long)lines(dir, run[1]), 302, "and the events of the run");
	is_int((long long)lines(dir, run[RUNS_EVENTS / EACH - 1]), 302, "in two blocks, too");

	damaged(dir);
	cut(dir, RUNS_FILE, 2 * block - 100);
	is_int(lost(dir), 0, "one that was not written whole hides nothing");
	add(dir, NULL, NULL);
	settled(dir);
	is_int((long long)lines(dir, nobody), 301, "and is made whole");
	zero(dir, block, 24);
	is_int(lost(dir), 0, "nor does a head that never came to disk");
	add(dir, NULL, NULL);
	settled(dir);
	is_int((long long)lines(dir, nobody), 302, "it is made again");
	cut(dir, "offsets", 8 * 500);
	is_int(lost(dir), 0, "without offsets they are found");
	is_int((long long)lines(dir, run[1]), EVENTS + 2 - 133, "each told once");
	(void)unlinkat(dir, "tree", 0);
	is_int(lost(dir), 0, "and without the tree");
	drop_dir(dir);
}

int main(void)
{
	TAP_RUN(test_find);
	return tap_done();
}
