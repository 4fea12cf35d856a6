/* SPDX-License-Identifier: Apache-2.0 */
/* Quotas with clocks of our own: periods, clocks that go back, the minute, the file, threads. */
#include "api/api.h"
#include "api/quota_int.h"

#include <fcntl.h>
#include <pinfold/pinfold.h>
#include <pthread.h>

#include "base/fd.h"
#include "tap.h"

#define DAY 86400ull
#define NOON (20000 * DAY + DAY / 2)

static uint64_t wall = NOON, mono = 5000000;
static char place[64];
static int dir = FD_NONE;
static struct err e;

static uint64_t wall_s(void)
{
	return wall;
}

static uint64_t now_ms(void)
{
	return mono;
}

static void write_file(const char *name, const char *text)
{
	auto_close int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	ok(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text), name);
}

static struct quotas *begin(const char *tenants)
{
	struct quotas *q = NULL;

	if (dir < 0) { /* else it goes on where the last one was */
		(void)snprintf(place, sizeof(place), "/tmp/pinfold-quota.XXXXXX");
		ok(mkdtemp(place), "a directory");
		dir = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	write_file("tenants", tenants);
	e = (struct err)ERR_INIT;
	if (quotas_new(dir, dir, &q, &e) < 0)
		return NULL;
	q->wall_s = wall_s;
	q->now_ms = now_ms;
	return q;
}

static void end(struct quotas *q)
{
	quotas_free(q);
	(void)unlinkat(dir, "tenants", 0);
	(void)unlinkat(dir, "usage", 0);
	fd_close(&dir);
	(void)rmdir(place);
}

static int start(struct quotas *q, const char *tenant)
{
	e = (struct err)ERR_INIT;
	return quota_start(q, tenant, &e);
}

/* A run that took so much processor time. */
static int use(struct quotas *q, const char *tenant, uint64_t cpu_ms)
{
	struct quota_need need = {.memory = 1 << 20, .cancel_fd = FD_NONE};
	struct lease *l = NULL;

	e = (struct err)ERR_INIT;
	int r = quota_take(q, tenant, &need, &l, &e);
	lease_end(q, l, cpu_ms * 1000);
	return r;
}

static void periods(void)
{
	struct quotas *q = begin("one cpu=10/86400\n* cpu=1/3600\n");

	is_int(use(q, "one", 9999), 0, "nearly all");
	is_int(use(q, "one", 5000), 0, "who has some left may begin");
	ok(use(q, "one", 1) < 0, "then it is used up");
	is_str(e.detail, "cpu_seconds", "which is said");
	is_int(e.retry_ms, (long long)DAY / 2 * 1000, "until midnight");
	ok(start(q, "one") < 0, "nothing starts");
	is_int(use(q, "two", 1000), 0, "another has his own");
	ok(use(q, "two", 1000) < 0, "which is that of all others");
	wall = NOON + DAY / 2 - 1;
	ok(use(q, "one", 1) < 0, "a second before midnight");
	wall++;
	is_int(use(q, "one", 10000), 0, "at midnight it begins anew");
	ok(use(q, "one", 1) < 0, "once");
	wall -= 5;
	ok(use(q, "one", 1) < 0, "a clock that goes back gives nothing");
	wall += 5;
	ok(use(q, "one", 1) < 0, "nor when midnight comes again");
	wall += 400 * DAY;
	is_int(use(q, "one", 10000), 0, "a clock that was wrong");
	wall -= 400 * DAY;
	ok(use(q, "one", 1) < 0, "and was set right");
	wall += DAY;
	is_int(use(q, "one", 1), 0, "does not hold the count for a year");
	end(q);
}

static void budget(void)
{
	struct quotas *q = begin("one budget=10/3600\n");
	struct quota_need need = {.memory = 2ull << 30, .cancel_fd = FD_NONE};
	struct lease *l = NULL;

	is_int(quota_take(q, "one", &need, &l, &e), 0, "two GiB");
	mono += 3000;
	lease_end(q, l, 1000000);
	ok(q->users->units > 6.99 && q->users->units < 7.01,
	   "for three seconds, and one of the processor");
	is_int(quota_take(q, "one", &need, &l, &e), 0, "again");
	mono += 1600;
	lease_end(q, l, 0);
	ok(quota_is_over(q, "one", &e), "over");
	is_str(e.detail, "budget", "by its name");
	end(q);
}

static void minute(void)
{
	struct quotas *q = begin("one runs=3\n");

	for (int i = 0; i < 3; i++) {
		is_int(start(q, "one"), 0, "one of three");
		mono += 10000;
	}
	ok(start(q, "one") < 0, "a fourth");
	is_str(e.detail, "runs_per_minute", "by its name");
	is_int(e.retry_ms, 31000, "half a minute, and the second that is not over");
	mono += 30999;
	ok(start(q, "one") < 0, "not before");
	mono += 1;
	is_int(start(q, "one"), 0, "then one");
	ok(start(q, "one") < 0, "and no more");
	mono += 120000;
	for (int i = 0; i < 3; i++)
		is_int(start(q, "one"), 0, "all are forgotten after a while");
	ok(start(q, "one") < 0, "but no more than three at once");
	end(q);
}

static void *many(void *arg)
{
	struct quotas *q = arg;
	struct quota_need need = {.memory = 1 << 20, .cancel_fd = FD_NONE};
	struct lease *l = NULL;
	struct err mine = ERR_INIT;
	intptr_t most = 0;

	for (int i = 0; i < 2000; i++)
		if (quota_take(q, "one", &need, &l, &mine) == 0 && l) {
			most = (intptr_t)q->users->live > most ? (intptr_t)q->users->live : most;
			lease_end(q, l, 0);
		}
	return (void *)most;
}

static void threads(void)
{
	struct quotas *q = begin("one live=3\n");
	pthread_t t[8];
	intptr_t most = 0;

	(void)setenv("PINFOLD_SOCKET", "/nowhere", 1);
	for (int i = 0; i < 8; i++)
		(void)pthread_create(&t[i], NULL, many, q);
	for (int i = 0; i < 8; i++) {
		void *got = NULL;

		(void)pthread_join(t[i], &got);
		most = (intptr_t)got > most ? (intptr_t)got : most;
	}
	ok(most <= 3, "never more than three");
	is_int((long long)q->users->live, 0, "none is left");
	end(q);
}

static void restarted(void)
{
	struct quotas *q = begin("one cpu=10/86400 runs=2\n");
	struct quota_need need = {.memory = 1 << 20, .cancel_fd = FD_NONE};
	struct lease *l = NULL;

	(void)use(q, "one", 4000);
	(void)start(q, "one");
	is_int(quota_take(q, "one", &need, &l, &e), 0, "a sandbox");
	lease_keep(q, l, "sbxaaaaaaaaaaaaaaaaaaaaaaaaaa");
	lease_count(q, l, 500);
	is_int(quota_save(q), 0, "saved");
	quotas_free(q);
	q = begin("one cpu=10/86400 runs=2\n");
	ok(q, "read");
	is_int((long long)q->users->cpu_ms, 4500, "with what was used");
	is_int((long long)q->users->live, 1, "and what lives");
	is_int((long long)q->leases->cpu_ms, 500, "of which so much was counted");
	struct pinfold_sandbox_info info = {
		.status = "running", .cpu_ms = 700, .memory_limit = 1 << 20};
	memcpy(info.id, "sbxaaaaaaaaaaaaaaaaaaaaaaaaaa", 30);
	mono += 1000;
	quota_compare(q, &info, 1, mono);
	is_int((long long)q->users->cpu_ms, 4700, "what it used since is counted, and no more");
	is_int((long long)q->users->memory, 1 << 20, "and its memory is known again");
	quota_compare(q, NULL, 0, UINT64_MAX);
	is_int((long long)q->users->live, 0, "one that is gone is forgotten");
	is_int((long long)q->users->memory, 0, "with its memory");
	end(q);
}

/* What a gate does: it adds, as far as it may. */
static uint64_t spend(const char *tenant, uint64_t bytes)
{
	const uint64_t sums[PINFOLD_PURSE_SUMS] = {bytes, 1, 2};
	uint64_t left[PINFOLD_PURSE_SUMS] = {0};
	struct pinfold_error failure;
	char name[32];
	int fd = FD_NONE;

	(void)snprintf(name, sizeof(name), "purse-%s", tenant);
	ok(pinfold_purse_open(dir, name, 1, &fd, &failure) == 0, "a purse");
	ok(pinfold_purse_add(fd, sums, &failure) == 0, "that is spent from");
	ok(pinfold_purse_left(fd, left, &failure) == 0, "has a rest");
	fd_close(&fd);
	return left[PINFOLD_PURSE_BYTES];
}

/* May something be started that reaches the network? */
static int reach(struct quotas *q, const char *tenant)
{
	struct api api = {.state = dir, .quotas = q};
	const char *const hosts[] = {"a.test", NULL};
	struct pinfold_run_options o = PINFOLD_RUN_OPTIONS_INIT;
	int fd = 0, none = 1;

	e = (struct err)ERR_INIT;
	ok(quota_purse(&api, tenant, &o, &none, &e) == 0 && none == 0,
	   "what reaches nothing is not counted, and not refused");
	o.allow = hosts;
	int r = quota_purse(&api, tenant, &o, &fd, &e);
	ok((r < 0) == (fd == 0), "a purse, or an error");
	if (fd)
		(void)close(fd);
	return r;
}

static void network(void)
{
	wall = NOON;
	struct quotas *q = begin("one egress-bytes=1000/3600\n");

	ok(reach(q, "one") == 0, "nothing is used yet");
	is_int((long long)spend("one", 600), 400, "what is left of the quota");
	ok(reach(q, "one") == 0, "there is some left");
	is_int((long long)spend("one", 600), 0, "nothing is left");
	ok(reach(q, "one") < 0, "then nobody starts");
	is_str(e.detail, "egress_bytes", "and is told which");
	has_str(e.text, "used up its egress_bytes of 1000", "in words");
	ok(e.retry_ms > 0 && e.retry_ms <= 3600000, "and when");
	ok(reach(q, "two") == 0, "another tenant is another");
	ok(spend("two", 5000) == UINT64_MAX, "and has no limit");
	quotas_free(q);
	q = begin("one egress-bytes=1000/3600\n");
	ok(reach(q, "one") < 0, "who comes after us knows it");
	write_file("tenants", "one egress-bytes=2000/3600 egress-requests=9/3600\n");
	ok(reach(q, "one") == 0, "a higher quota counts at once");
	is_int((long long)spend("one", 0), 800, "for what runs, too");
	wall += 3600;
	ok(reach(q, "one") == 0, "a new period");
	is_int((long long)spend("one", 100), 1900, "has all of it again");
	(void)spend("one", 0);
	(void)spend("one", 0);
	(void)spend("one", 0);
	(void)spend("one", 0);
	ok(reach(q, "one") < 0, "ten requests are more than nine");
	is_str(e.detail, "egress_requests", "which is said");
	write_file("purse-one", "short");
	ok(reach(q, "one") < 0 && e.kind == ERR_INTERNAL,
	   "a purse that is damaged lets nobody start");
	(void)unlinkat(dir, "purse-one", 0);
	ok(reach(q, "one") == 0, "without the file nothing counts as used");
	(void)unlinkat(dir, "purse-one", 0);
	(void)unlinkat(dir, "purse-two", 0);
	end(q);
}

static void damaged(void)
{
	static const char *const bad[] = {"tenant one\n", "nonsense\n",
					  "tenant ../x 1 2 3 4 5 6 7 8 9\n",
					  "tenant one 1 2 nan 4 5 6 7 8 9\n", "sandbox sbx 1\n"};
	static const char *const worse[] = {"one live=\n",   "one live=-1\n", "one live=0\n",
					    "one cpu=5\n",   "one cpu=5/0\n", "one what=5\n",
					    "../x live=1\n", "one live=1x\n"};

	for (unsigned i = 0; i < 5; i++) {
		struct quotas *q = begin("");

		quotas_free(q);
		write_file("usage", bad[i]);
		ok(!begin(""), "a file of usage that is damaged is refused");
		has_str(e.text, "damaged", "by name");
		(void)unlinkat(dir, "usage", 0);
	}
	struct quotas *q = begin("");
	for (unsigned i = 0; i < 8; i++) {
		write_file("tenants", worse[i]);
		ok(start(q, "two") < 0, "quotas that are damaged let nobody start");
	}
	end(q);
}

int main(void)
{
	TAP_RUN(periods);
	TAP_RUN(budget);
	TAP_RUN(minute);
	TAP_RUN(threads);
	TAP_RUN(restarted);
	TAP_RUN(network);
	TAP_RUN(damaged);
	return tap_done();
}
