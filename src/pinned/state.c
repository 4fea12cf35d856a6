/* SPDX-License-Identifier: Apache-2.0 */
#include "pinned/pinned.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "base/sys.h"

static struct pinned_settings settings;
static struct pinned_process *table;
static long pid;
static _Atomic uint64_t slept_ns;	  /* the end of the latest sleep of this process */
static _Atomic unsigned char *same_still; /* a page that is zero again in a child */
static enum { UNKNOWN, PINNED, LEFT_ALONE } mode;
static __thread __attribute__((tls_model("initial-exec"))) struct pinned_thread self;

/* They compare times of files, which are all the same for others, and print none. */
static bool compares_times(void)
{
	static const char *const names[] = {"make", "gmake", "ninja", "samu"};
	char name[16] = {0};

	(void)sys5(SYS_prctl, PR_GET_NAME, name, 0, 0, 0); /* cannot fail */
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		for (size_t k = 0; name[k] == names[i][k]; k++)
			if (!name[k])
				return true;
	return false;
}

static bool read_settings(void)
{
	long fd = sys3(SYS_openat, AT_FDCWD, PINNED_SETTINGS, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	long n = sys3(SYS_read, fd, &settings, sizeof(settings));
	(void)sys1(SYS_close, fd);
	return n == (long)sizeof(settings) && settings.magic == PINNED_MAGIC;
}

static void *map(size_t size, int flags, long fd)
{
	long p = sys6(SYS_mmap, 0, (long)size, PROT_READ | PROT_WRITE, flags, fd, 0);

	return p < 0 && p > -4096 ? NULL : (void *)p;
}

static void map_table(void)
{
	long fd = sys3(SYS_openat, AT_FDCWD, PINNED_TABLE, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return; /* removed: clocks are not carried on then */
	if (sys3(SYS_lseek, fd, 0, 2 /* SEEK_END */) >=
	    (long)(PINNED_PROCESSES * sizeof(struct pinned_process)))
		table = map(PINNED_PROCESSES * sizeof(*table), MAP_SHARED, fd);
	(void)sys1(SYS_close, fd);
}

static struct pinned_process *row(long of)
{
	return table ? &table[(unsigned long)of % PINNED_PROCESSES] : NULL;
}

/* For who starts from here, or waits for us. */
static void publish(const struct pinned_thread *t)
{
	struct pinned_process *own = row(pid);

	if (own && own->now_ns < t->now_ns)
		own->now_ns = t->now_ns;
}

/* A program goes on where its process was, or else the one that started it. */
static void begin_program(void)
{
	struct pinned_process *own, *parent = row(sys0(SYS_getppid));
	uint64_t nth = 0, key = 0;

	pid = sys0(SYS_getpid);
	own = row(pid);

	if (own && !own->now_ns)
		*own = (struct pinned_process){.now_ns = parent ? parent->now_ns : 0};
	if (own) {
		self.now_ns = own->now_ns;
		nth = own->programs++;
		key = own->key;
	}
	self.key = pinned_mix(key ? key : pinned_mix(settings.seed, (uint64_t)pid), nth);
	self.begun = true;
}

static __attribute__((constructor)) void begin(void)
{
	if (mode != UNKNOWN)
		return;
	if (compares_times() || !read_settings()) {
		mode = LEFT_ALONE;
		return;
	}
	map_table();
	same_still = map(4096, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	if (same_still && sys3(SYS_madvise, same_still, 4096, MADV_WIPEONFORK) >= 0)
		*same_still = 1;
	mode = PINNED;
	begin_program();
	pinned_look_at_input();
}

/* Its clock goes on from its parent's, its random numbers may not. They go by how many its parent
 * had made before: which number a process gets depends on the threads that others start
 * meanwhile. */
static void begin_child(void)
{
	struct pinned_process *own;

	pid = sys0(SYS_getpid);
	own = row(pid);
	*same_still = 1;
	self.key = pinned_mix(pinned_mix(settings.seed, self.forks ? ~self.made : (uint64_t)pid),
			      self.key);
	self.used = self.made = self.ports = 0;
	if (own)
		*own = (struct pinned_process){.now_ns = self.now_ns,
					       .key = self.forks ? self.key : 0};
	self.forks = false;
}

void pinned_forks(struct pinned_thread *t, bool begins)
{
	t->made += begins;
	t->forks = begins;
}

struct pinned_thread *pinned_thread(void)
{
	if (mode == UNKNOWN)
		begin();
	if (mode == LEFT_ALONE)
		return NULL;
	if (same_still && !*same_still)
		begin_child();
	if (!self.begun) { /* a thread that was not started by what we stand before */
		self.begun = true;
		self.key = pinned_mix(settings.seed, (uint64_t)sys0(SYS_gettid));
	}
	return &self;
}

const struct pinned_settings *pinned_settings(void)
{
	return &settings;
}

static uint64_t true_ns(void)
{
	struct timespec ts = {0};

	(void)sys2(SYS_clock_gettime, CLOCK_MONOTONIC, &ts); /* cannot fail for this clock */
	return pinned_ns(&ts); /* the sandbox's own starts near zero */
}

uint64_t pinned_tick(struct pinned_thread *t)
{
	uint64_t after = atomic_load_explicit(&slept_ns, memory_order_relaxed), now = true_ns();

	if (t->now_ns < after)
		t->now_ns = after;
	t->now_ns += PINNED_TICK_NS;
	t->cpu_ns += PINNED_TICK_NS;
	if (t->now_ns + PINNED_LAG_NS < now)
		t->now_ns += (now - t->now_ns) / PINNED_LAG_NS * PINNED_LAG_NS;
	publish(t);
	return t->now_ns;
}

void pinned_unlook(struct pinned_thread *t)
{
	if (t->cpu_ns >= PINNED_TICK_NS && t->now_ns >= PINNED_TICK_NS) {
		t->cpu_ns -= PINNED_TICK_NS;
		t->now_ns -= PINNED_TICK_NS;
	}
}

void pinned_reach(struct pinned_thread *t, uint64_t now_ns)
{
	uint64_t before = atomic_load(&slept_ns);

	if (t->now_ns < now_ns)
		t->now_ns = now_ns;
	while (before < t->now_ns && !atomic_compare_exchange_weak(&slept_ns, &before, t->now_ns))
		;
	(void)pinned_tick(t);
}

void pinned_slept(struct pinned_thread *t, uint64_t ns)
{
	pinned_reach(t, t->now_ns + ns);
}

void pinned_take_over(struct pinned_thread *t, int child)
{
	struct pinned_process *gone = row(child);

	if (!gone)
		return;
	if (t->now_ns < gone->now_ns)
		t->now_ns = gone->now_ns;
	*gone = (struct pinned_process){0};
	publish(t);
}

void pinned_child(struct pinned_thread *by, struct pinned_thread *ret)
{
	*ret = (struct pinned_thread){
		.begun = true,
		.now_ns = by->now_ns,
		.key = pinned_mix(by->key, ++by->made),
	};
}

void pinned_begin(const struct pinned_thread *as)
{
	self = *as;
}

void *pinned_behind(const char *name, const char *version)
{
	void *f = version ? dlvsym(RTLD_NEXT, name, version) : NULL;

	return f ? f : dlsym(RTLD_NEXT, name);
}

long pinned_result(long r)
{
	if (r >= 0 || r < -4095)
		return r;
	errno = (int)-r;
	return -1;
}
