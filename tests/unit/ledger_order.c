/* SPDX-License-Identifier: Apache-2.0 */
/*
 * L07: events are ordered by their place in the chain, whatever the clock says and whoever writes.
 * L04: what could not be written is told by the next event that can be. L05: the notary leaves
 * nothing behind.
 */
#include <inttypes.h>
#include <sys/syscall.h>
#include <time.h>

#include "ledger/find.h"
#include "ledger/notary.h"
#include "ledger_help.h"

static int64_t clock_offset_s;

/* The clock of this program: somebody sets it. */
int clock_gettime(clockid_t id, struct timespec *ts)
{
	int r = (int)syscall(SYS_clock_gettime, id, ts);

	if (id == CLOCK_REALTIME)
		ts->tv_sec += clock_offset_s;
	return r;
}

static void add_run(int dir, char run[ID_SIZE])
{
	struct chain_place p;
	struct err e = ERR_INIT;

	(void)id_make("run", run, &e);
	auto_value *a = an_event(run, "begin"), *b = an_event(run, "end");
	(void)chain_append(dir, a, 0, &p, &e);
	(void)chain_append(dir, b, 0, &p, &e);
}

/* How many say that the clock is behind, as long as all that are do and name the latest time
 * before. */
static unsigned says_behind(int dir)
{
	auto_scan *s = NULL;
	struct scan_line line;
	struct err e = ERR_INIT;
	char latest[32] = "";
	unsigned n = 0;

	if (scan_open(dir, &s, &e) < 0)
		return 0;
	while (scan_next(s, &line, &e) > 0) {
		const char *at = find_time(line.text, line.len);
		const char *said = event_latest(line.text, line.len);

		if (!at || !!said != (memcmp(at, latest, 24) < 0) ||
		    (said && memcmp(said, latest, 24) != 0))
			return 0;
		n += said != NULL;
		if (!said)
			memcpy(latest, at, 24);
	}
	return n;
}

/* Events in their order: how many, until one is not at its place. *ret_back: how often time went
 * back. */
static uint64_t in_order(int dir, unsigned *ret_back)
{
	auto_scan *s = NULL;
	struct scan_line line;
	struct err e = ERR_INIT;
	char last[32] = "";
	uint64_t n = 0;

	*ret_back = 0;
	if (scan_open(dir, &s, &e) < 0)
		return 0;
	while (scan_next(s, &line, &e) > 0) {
		const char *at = find_time(line.text, line.len);
		struct event_head head;

		if (!event_head(line.text, line.len, &head) || head.at != n || !at)
			return 0;
		*ret_back += memcmp(at, last, 24) < 0;
		memcpy(last, at, 24);
		n++;
	}
	return n;
}

static bool is_whole(int dir)
{
	struct verify_ask ask = {.key = NULL};
	struct verify_result v;
	struct err e = ERR_INIT;

	settled(dir);
	return verify_chain(dir, &ask, &v, &e) == 0 && v.good;
}

static bool is_found(int dir, const char *run)
{
	struct find_run f;
	struct err e = ERR_INIT;
	bool found = find_run(dir, run, &f, &e) == 1 && f.begin.value && f.end.value;

	find_done(&f);
	return found;
}

/* Since an instant: how many events there are, and how many are found by halving. */
static bool finds_since(int dir, const char *instant)
{
	unsigned n[2] = {0, 0};

	for (unsigned i = 0; i < 2; i++) {
		auto_scan *s = NULL;
		struct scan_line line;
		struct err e = ERR_INIT;

		if (scan_open(dir, &s, &e) < 0 || (i && find_seek(s, instant, &e) < 0))
			return false;
		while (scan_next(s, &line, &e) > 0)
			n[i] += memcmp(find_time(line.text, line.len), instant, 24) >= 0;
	}
	return n[0] == n[1];
}

/* Whoever asks for events since an instant gets all of them, also those of a time when the clock
 * was wrong. */
static void test_since(void)
{
	static const int64_t offsets[] = {0, 86400, 0, 3600, -86400};
	char(*instant)[32] = calloc(5, sizeof(*instant));
	int dir = make_dir();
	struct chain_place p;
	unsigned found = 0;

	for (unsigned i = 0; i < 5; i++) {
		struct timespec ts;
		struct tm tm;

		clock_offset_s = offsets[i];
		(void)clock_gettime(CLOCK_REALTIME, &ts);
		(void)strftime(instant[i], 32, "%Y-%m-%dT%H:%M:%S.000Z", gmtime_r(&ts.tv_sec, &tm));
		(void)add_events(dir, 600, 0, &p); /* more than is read without halving */
	}
	for (unsigned i = 0; i < 5; i++)
		found += finds_since(dir, instant[i]);
	is_int(found, 5, "all events since an instant are found");
	free(instant);
	drop_dir(dir);
}

static void test_clock(void)
{
	static const int64_t offsets[] = {0, 3600, -86400, 60, -7200};
	char run[5][ID_SIZE];
	int dir = make_dir();
	struct chain_place p;
	unsigned back = 0, found = 0;

	for (unsigned i = 0; i < 5; i++) {
		clock_offset_s = offsets[i];
		add_run(dir, run[i]);
		(void)add_events(dir, 300, 0, &p);
	}
	is_int((long long)in_order(dir, &back), 1 + 5 * 302, "events have their places");
	is_int(back, 2, "though the clock went back twice");
	is_int(says_behind(dir), 3 * 302, "each that is behind says so, and none else");
	for (unsigned i = 0; i < 5; i++)
		found += is_found(dir, run[i]);
	is_int(found, 5, "every run is found");
	ok(is_whole(dir), "and the chain is good");
	drop_dir(dir);
}

#define WRITERS 4
#define EACH 100u

static void test_writers(void)
{
	int dir = make_dir();
	struct chain_place p;
	unsigned back = 0;

	(void)add_events(dir, 1, 0, &p);
	for (int i = 0; i < WRITERS; i++)
		if (fork() == 0) {
			clock_offset_s = -1000 * i;
			_exit(add_events(dir, EACH, 0, &p) < 0);
		}
	for (int i = 0; i < WRITERS; i++)
		(void)wait(NULL);
	is_int((long long)in_order(dir, &back), 2 + WRITERS * EACH,
	       "several that write at once, each with a clock of its own");
	ok(is_whole(dir), "make one chain");
	drop_dir(dir);
}

/* A directory where `events` should be cannot be opened by anybody. */
static void test_gap(void)
{
	int dir = make_dir();
	struct chain_place p;
	struct err e = ERR_INIT;
	unsigned back = 0;
	size_t len = 0;

	(void)add_events(dir, 3, 0, &p);
	(void)renameat(dir, "events", dir, "aside");
	(void)mkdirat(dir, "events", 0700);
	for (int i = 0; i < 3; i++) {
		auto_value *v = an_event(NULL, NULL);

		e = (struct err)ERR_INIT;
		ok(chain_append(dir, v, 0, &p, &e) < 0, "what cannot be written");
	}
	is_str(e.detail, "ledger", "is said");
	(void)unlinkat(dir, "events", AT_REMOVEDIR);
	(void)renameat(dir, "aside", dir, "events");
	(void)add_events(dir, 2, 0, &p);
	is_int((long long)in_order(dir, &back), 4 + 1 + 2, "one event is more than was written");
	auto_close int fd = openat(dir, "events", O_RDONLY | O_CLOEXEC);
	auto_free char *text = calloc(1, 1u << 16);
	(void)fd_read_max(fd, text, 65535, &len);
	ok(strstr(text, "\"data\":{\"events\":3,\"since\":\"20"), "it says how many are missing");
	ok(strstr(text, "\"kind\":\"ledger.gap\""), "by a kind of its own");
	ok(is_whole(dir), "and the chain is good");
	drop_dir(dir);
}

/* Is it anywhere in what a process may write to? -1: nobody may look. */
static int remembers(pid_t pid, const uint8_t *what, size_t len)
{
	char path[64], line[256];
	int found = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	auto_close int mem = open(path, O_RDONLY | O_CLOEXEC);
	(void)snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	FILE *maps = fopen(path, "re");
	if (mem < 0 || !maps) {
		if (maps)
			(void)fclose(maps);
		return -1;
	}
	while (fgets(line, sizeof(line), maps)) {
		uint64_t from = 0, to = 0;
		char w = 0;

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*c%c", &from, &to, &w) != 3 || w != 'w')
			continue;
		auto_free char *all = malloc(to - from);
		ssize_t n = all ? pread(mem, all, to - from, (off_t)from) : 0;
		found += n > 0 && memmem(all, (size_t)n, what, len) != NULL;
	}
	(void)fclose(maps);
	return found;
}

static void test_notary(void)
{
	auto_notary n = NOTARY_INIT;
	int dir = make_dir();
	struct public_key key;
	struct signature sig;
	struct chain_place p;
	struct err e = ERR_INIT;
	char path[64], limits[4096] = "";
	uint8_t seed[32] = {0};
	size_t len = 0;

	(void)add_events(dir, 1, 0, &p);
	auto_close int file = openat(dir, "key", O_RDONLY | O_CLOEXEC);
	(void)fd_read_max(file, seed, sizeof(seed), &len);
	is_int(notary_start(&n, dir, &e), 0, "a notary");
	is_int(notary_sign(&n, "text", 4, &sig, &key, &e), 0, "signs");
	(void)snprintf(path, sizeof(path), "/proc/%d/limits", (int)n.pid);
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	(void)fd_read_max(fd, limits, sizeof(limits) - 1, &len);
	const char *core = strstr(limits, "Max core file size");
	ok(core && strncmp(core + 26, "0  ", 3) == 0, "it leaves no core");
	int found = remembers(n.pid, seed, sizeof(seed));
	/* Who is not root may not even look. */
	ok(geteuid() == 0 ? found == 0 : found < 0,
	   "and has forgotten the key, or nobody may look");
	drop_dir(dir);
}

int main(void)
{
	TAP_RUN(test_clock);
	TAP_RUN(test_since);
	TAP_RUN(test_writers);
	TAP_RUN(test_gap);
	TAP_RUN(test_notary);
	return tap_done();
}
