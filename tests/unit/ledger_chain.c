/* SPDX-License-Identifier: Apache-2.0 */
/* Events are appended, in order, by anybody; a torn end is cut and recorded. */
#include "ledger/chain.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "ledger_help.h"

static void test_append(void)
{
	struct verify_result v;
	struct chain_place p = {.at = 0};
	struct stat st;
	int dir = make_dir();

	is_int(add_events(dir, 3, 0, &p), 0, "three events");
	is_int((long long)p.at, 3, "behind the one that begins the chain");
	ok(id_is("led", p.chain), "whose id it tells");
	is_str(verdict(dir, NULL, &v), "", "it verifies without a checkpoint");
	is_int((long long)v.signed_events, 0, "and says that nothing is signed");
	settled(dir);
	is_str(verdict(dir, NULL, &v), "", "and with one");
	is_int((long long)v.signed_events, 4, "which covers all");
	ok(fstatat(dir, "key", &st, 0) == 0 && (st.st_mode & 0777) == 0600,
	   "the private key is its owner's alone");
	settled(dir);
	(void)verdict(dir, NULL, &v);
	is_int((long long)v.checkpoints, 1, "nothing new is not signed again");
	(void)add_events(dir, 2, CHAIN_SYNC, &p);
	settled(dir);
	is_str(verdict(dir, NULL, &v), "", "it goes on");
	is_int((long long)v.checkpoints, 2, "with another checkpoint");
	drop_dir(dir);
}

/* verify reads the key without a lock: a checkpoint must not take it away for a moment. */
static void test_key_stays(void)
{
	struct verify_result v;
	struct chain_place p;
	struct stat before, after;
	int dir = make_dir();

	(void)add_events(dir, 1, 0, &p);
	settled(dir);
	(void)fstatat(dir, "key.pem", &before, 0);
	(void)add_events(dir, 1, 0, &p);
	settled(dir);
	(void)fstatat(dir, "key.pem", &after, 0);
	ok(before.st_ino == after.st_ino && before.st_ctim.tv_sec == after.st_ctim.tv_sec &&
		   before.st_ctim.tv_nsec == after.st_ctim.tv_nsec,
	   "a checkpoint does not write the public key again");
	spew(dir, "key.pem", "", 0);
	is_str(verdict(dir, NULL, &v), "key.pem: this is no public key", "an empty one is none");
	(void)add_events(dir, 1, 0, &p);
	settled(dir);
	is_str(verdict(dir, NULL, &v), "", "the next checkpoint puts it back");
	ok(faccessat(dir, "key.pem.next", F_OK, 0) < 0, "and leaves nothing beside it");
	drop_dir(dir);
}

/* Every length that a dying writer could have left. */
static void test_torn(void)
{
	struct verify_result v;
	struct chain_place p;
	int dir = make_dir(), bad = 0, uncounted = 0;
	size_t len = 0;

	(void)add_events(dir, 2, 0, &p);
	settled(dir);
	auto_free char *good = slurp(dir, "events", &len);
	(void)add_events(dir, 1, 0, &p);
	size_t more = 0;
	auto_free char *text = slurp(dir, "events", &more);
	for (size_t n = len + 1; n < more; n++) {
		spew(dir, "events", text, n);
		(void)add_events(dir, 1, 0, &p);
		bad += strcmp(verdict(dir, NULL, &v), "") != 0;
		uncounted += v.cuts != 1 || v.events != 5;
	}
	ok(more > len + 100, "there are enough lengths");
	is_int(bad, 0, "the chain is whole after each");
	is_int(uncounted, 0, "and each cut is an event");
	spew(dir, "events", text, more - 10);
	(void)verdict(dir, NULL, &v);
	ok(v.good && v.torn > 0, "before that, it is told and not repaired");
	drop_dir(dir);
	(void)good;
}

/* Power that failed while pages were on their way leaves zeros. */
static void test_zeros(void)
{
	struct verify_result v;
	struct chain_place p;
	int dir = make_dir();
	size_t len = 0;

	(void)add_events(dir, 2, 0, &p);
	auto_free char *text = slurp(dir, "events", &len);
	memset(text + len, 0, 300);
	text[len + 299] = '\n';
	spew(dir, "events", text, len + 300);
	is_int(add_events(dir, 1, 0, &p), 0, "an event behind zeros");
	is_str(verdict(dir, NULL, &v), "", "the chain is whole");
	is_int((long long)v.cuts, 1, "the cut is on record");
	drop_dir(dir);
}

static void test_segments(void)
{
	struct verify_result v;
	struct chain_place p;
	struct scan *s = NULL;
	struct err e = ERR_INIT;
	int dir = make_dir();

	(void)add_events(dir, 60, CHAIN_SMALL, &p);
	settled(dir);
	(void)add_events(dir, 60, CHAIN_SMALL, &p);
	settled(dir);
	is_str(verdict(dir, NULL, &v), "", "a chain of many files verifies");
	is_int((long long)v.events, 121, "with all events");
	(void)scan_open(dir, &s, &e);
	ok(scan_files(s) > 5, "there are some files");
	scan_close(s);
	drop_dir(dir);
}

static void test_at_once(void)
{
	struct verify_result v;
	struct chain_place p;
	int dir = make_dir();
	pid_t pid[4];

	for (unsigned i = 0; i < 4; i++)
		if ((pid[i] = fork()) == 0)
			_exit(add_events(dir, 50, CHAIN_SMALL, &p) < 0);
	for (unsigned i = 0; i < 4; i++) {
		int status = 1;

		(void)waitpid(pid[i], &status, 0);
		is_int(status, 0, "one of four writers");
	}
	settled(dir);
	is_str(verdict(dir, NULL, &v), "", "one chain comes of it");
	is_int((long long)v.events, 201, "with every event");
	drop_dir(dir);
}

/* A writer that is killed at any moment: what it was told of is there. */
static void test_killed(void)
{
	struct verify_result v;
	struct chain_place p;
	int dir = make_dir(), lost = 0, bad = 0;
	unsigned told = 0;

	(void)add_events(dir, 1, 0, &p);
	for (unsigned turn = 0; turn < 30; turn++) {
		int pipes[2];
		char byte;

		if (pipe2(pipes, O_CLOEXEC) < 0)
			break;
		pid_t pid = fork();
		while (pid == 0)
			if (add_events(dir, 1, CHAIN_SMALL, &p) < 0 || write(pipes[1], "x", 1) != 1)
				_exit(1);
		(void)close(pipes[1]);
		for (unsigned i = 0; i < turn % 7 + 1 && read(pipes[0], &byte, 1) == 1; i++)
			told++;
		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, NULL, 0);
		while (read(pipes[0], &byte, 1) == 1)
			told++;
		(void)close(pipes[0]);
		bad += strcmp(verdict(dir, NULL, &v), "") != 0;
		lost += v.events < told + 2;
	}
	is_int(bad, 0, "the chain is whole after every kill");
	is_int(lost, 0, "and has every event that was acknowledged");
	drop_dir(dir);
}

/* No room: nothing is half there, and the error says what it is about. */
static void test_full(void)
{
	struct verify_result v;
	struct chain_place p;
	struct err e = ERR_INIT;
	int dir = make_dir();

	if (mount("none", place, "tmpfs", 0, "size=64k,mode=0700") < 0) {
		skip("a full disk", "needs root");
		drop_dir(dir);
		return;
	}
	(void)close(dir);
	dir = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = 0;
	for (unsigned i = 0; i < 500 && r >= 0; i++) {
		auto_value *event = an_event(NULL, NULL);

		r = chain_append(dir, event, 0, &p, &e);
	}
	is_int(r, -ENOSPC, "the disk is full");
	has_str(e.text, "the ledger cannot be written", "it says so");
	is_str(e.detail, "ledger", "with a code of its own");
	is_str(verdict(dir, NULL, &v), "", "what is there is whole");
	is_int((long long)v.torn, 0, "and nothing half");
	(void)close(dir);
	(void)umount2(place, MNT_DETACH);
	(void)rmdir(place);
}

static void *write_kept(void *arg)
{
	struct chain_place p;

	return add_events(*(int *)arg, 50, CHAIN_KEEP | CHAIN_SMALL, &p) < 0 ? arg : NULL;
}

/* The file stays open: other processes, threads, children and torn ends are still seen. */
static void test_kept(void)
{
	struct verify_result v;
	struct chain_place p;
	int dir = make_dir(), bad = 0;
	pthread_t thread[3];
	pid_t pid[3];

	bad += add_events(dir, 2, CHAIN_KEEP | CHAIN_SMALL, &p) < 0; /* children begin with it */
	for (unsigned i = 0; i < 3; i++)
		if ((pid[i] = fork()) == 0)
			_exit(add_events(dir, 50, CHAIN_KEEP | CHAIN_SMALL, &p) < 0);
	for (unsigned i = 0; i < 3; i++)
		bad += pthread_create(&thread[i], NULL, write_kept, &dir) != 0;
	for (unsigned i = 0; i < 3; i++) {
		void *failed = NULL;
		int status = 1;

		(void)pthread_join(thread[i], &failed);
		(void)waitpid(pid[i], &status, 0);
		bad += failed != NULL || status != 0;
	}
	is_int(bad, 0, "three processes and three threads");
	is_str(verdict(dir, NULL, &v), "", "one chain comes of it");
	is_int((long long)v.events, 303, "with every event");
	int fd = openat(dir, "events", O_WRONLY | O_APPEND | O_CLOEXEC);
	ok(write(fd, "{\"at\":", 6) == 6, "another writer dies");
	(void)close(fd);
	(void)add_events(dir, 1, CHAIN_KEEP, &p);
	is_str(verdict(dir, NULL, &v), "", "the chain is whole");
	is_int((long long)v.cuts, 1, "the cut is on record");
	drop_dir(dir);
	int other = make_dir();
	(void)add_events(other, 1, CHAIN_KEEP, &p);
	is_int((long long)p.at, 1, "another chain is another file");
	(void)add_events(other, 1, 0, &p); /* lets it go */
	drop_dir(other);
}

int main(void)
{
	TAP_RUN(test_kept);
	TAP_RUN(test_append);
	TAP_RUN(test_key_stays);
	TAP_RUN(test_torn);
	TAP_RUN(test_zeros);
	TAP_RUN(test_segments);
	TAP_RUN(test_at_once);
	TAP_RUN(test_killed);
	TAP_RUN(test_full);
	return tap_done();
}
