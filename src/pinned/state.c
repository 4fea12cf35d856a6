/* SPDX-License-Identifier: Apache-2.0 */
#include "pinned/pinned.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "base/sys.h"

#define TURN_NS (NS_PER_S / 10) /* the longest that the kernel gives */
#define UNSEEN_MAX 1000u
#define POLL_LOOKS 2u
#define YIELDS 8u
#define SAME_FUNCTION 1024u

static struct pinned_settings settings;
static struct pinned_table *table;
static long pid;
static uint64_t n_rung;
static _Atomic uint64_t slept_ns;	  /* the end of the latest sleep of this process */
static _Atomic unsigned char *same_still; /* a page that is zero again in a child */
static enum { UNKNOWN, PINNED, LEFT_ALONE } mode;
static __thread __attribute__((tls_model("initial-exec"))) struct pinned_thread self;

/* Who runs next is less of a chance when nobody is interrupted for somebody that has just been
 * woken, and seldom at all. Children have it from us. */
static void take_long_turns(void)
{
	const struct { /* libc's header and the kernel's do not go together */
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
	} attr = {.size = sizeof(attr), .policy = SCHED_BATCH, .runtime = TURN_NS};

	(void)sys3(SYS_sched_setattr, 0, &attr, 0); /* where not, it is chance */
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
	if (sys3(SYS_lseek, fd, 0, 2 /* SEEK_END */) >= (long)sizeof(*table))
		table = map(sizeof(*table), MAP_SHARED, fd);
	(void)sys1(SYS_close, fd);
}

static struct pinned_process *row(long of)
{
	return table ? &table->processes[(unsigned long)of % PINNED_PROCESSES] : NULL;
}

/* For who starts from here, or waits for us. */
static void publish(const struct pinned_thread *t)
{
	struct pinned_process *own = row(pid);

	if (own && own->now_ns < t->now_ns)
		own->now_ns = t->now_ns;
}

static uint64_t mix_text(uint64_t key, const char *text, long n)
{
	for (long i = 0; i < n; i++)
		key = (key ^ (unsigned char)text[i]) * 0x100000001b3u;
	return key;
}

/* Who was started by something that we do not stand before (vfork, posix_spawn, make) goes by its
 * words, its directory and how many like it there were. Its number would depend on what else is
 * started at the time. */
static uint64_t key_by_command(void)
{
	char text[4096];
	uint64_t key = mix_text(settings.seed, text, sys2(SYS_getcwd, text, sizeof(text)));
	long fd = sys3(SYS_openat, AT_FDCWD, "/proc/self/cmdline", O_RDONLY | O_CLOEXEC);

	if (fd >= 0) {
		key = mix_text(key, text, sys3(SYS_read, fd, text, sizeof(text)));
		(void)sys1(SYS_close, fd);
	}
	key = pinned_mix(settings.seed, key);
	return table ? pinned_mix(key, __atomic_fetch_add(&table->commands[key % PINNED_COMMANDS],
							  1, __ATOMIC_RELAXED))
		     : key;
}

/* The command itself; PID 1 is none of ours. */
static bool is_first(void)
{
	return sys0(SYS_getppid) == 1;
}

static uint64_t first_key(void)
{
	return is_first() ? pinned_mix(settings.seed, (uint64_t)pid) : key_by_command();
}

/* A program goes on where its process was, or else the one that started it. */
static void begin_program(void)
{
	struct pinned_process *own, *parent = row(sys0(SYS_getppid));
	uint64_t nth = 0, key = 0;

	pid = sys0(SYS_getpid);
	own = row(pid);

	if (own && !own->now_ns && !own->key)
		*own = (struct pinned_process){.now_ns = parent ? parent->now_ns : 0};
	if (own) {
		self.now_ns = own->now_ns;
		nth = own->programs++;
		key = own->key;
	}
	self.key = pinned_mix(key ? key : first_key(), nth);
	self.begun = true;
}

/* What the kernel gives each program, and some take for a seed. Its own canary is made by now. */
static void pin_gift(void)
{
	uint64_t *gift = (uint64_t *)getauxval(AT_RANDOM);

	for (unsigned i = 0; gift && i < 2; i++)
		gift[i] = pinned_mix(~self.key, i);
}

static __attribute__((constructor)) void begin(void)
{
	if (mode != UNKNOWN)
		return;
	if (pinned_special()->compares_times || !read_settings()) {
		mode = LEFT_ALONE;
		return;
	}
	map_table();
	same_still = map(4096, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	if (same_still && sys3(SYS_madvise, same_still, 4096, MADV_WIPEONFORK) >= 0)
		*same_still = 1;
	mode = PINNED;
	begin_program();
	pin_gift();
	if (is_first())
		take_long_turns();
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
	pinned_no_alarm(); /* those are not inherited */
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

void pinned_executes(void)
{
	struct pinned_thread *t = pinned_thread();
	long as = t ? sys0(SYS_getpid) : pid;
	struct pinned_process *own = row(as);

	if (!t || as == pid || !own || own->key)
		return; /* no child, or it tries once more */
	*own = (struct pinned_process){
		.now_ns = t->now_ns,
		.key = pinned_mix(pinned_mix(settings.seed, ~++t->made), t->key),
	};
}

void pinned_spawned(long child)
{
	struct pinned_thread *t = pinned_thread();
	struct pinned_process *own = row(child);
	uint64_t none = 0;

	if (t && own) /* it may have begun: then from where we are still */
		(void)__atomic_compare_exchange_n(&own->now_ns, &none, t->now_ns, false,
						  __ATOMIC_RELAXED, __ATOMIC_RELAXED);
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

struct pinned_table *pinned_table(void)
{
	return table;
}

uint64_t pinned_latest(const struct pinned_thread *t)
{
	uint64_t after = atomic_load_explicit(&slept_ns, memory_order_relaxed);

	return t->now_ns < after ? after : t->now_ns;
}

uint64_t pinned_true_ns(void)
{
	struct timespec ts = {0};

	(void)sys2(SYS_clock_gettime, CLOCK_MONOTONIC, &ts); /* cannot fail for this clock */
	return pinned_ns(&ts); /* the sandbox's own starts near zero */
}

void pinned_glance(struct pinned_thread *t)
{
	uint64_t after = atomic_load_explicit(&slept_ns, memory_order_relaxed);
	uint64_t rung = pinned_rung();

	if (t->now_ns < after)
		t->now_ns = after;
	if (t->now_ns < rung)
		t->now_ns = rung;
	n_rung += rung > 0;
	publish(t);
}

static void catch_up(struct pinned_thread *t)
{
	uint64_t now = pinned_true_ns();

	if (t->now_ns + PINNED_LAG_NS >= now || ++t->late < PINNED_LATE)
		return;
	t->late = 0;
	t->now_ns += (now - t->now_ns) / PINNED_LAG_NS * PINNED_LAG_NS;
}

uint64_t pinned_tick(struct pinned_thread *t)
{
	t->was_free = t->has_waited && ++t->unseen <= UNSEEN_MAX;
	t->has_waited = false;
	pinned_glance(t);
	catch_up(t);
	if (!t->was_free) {
		t->now_ns += PINNED_TICK_NS;
		t->cpu_ns += PINNED_TICK_NS;
		t->looks++;
		publish(t);
	}
	return t->now_ns;
}

void pinned_look_from(struct pinned_thread *t, uintptr_t site)
{
	uint64_t before = t->now_ns, alarms = n_rung;

	(void)pinned_tick(t);
	t->site = site;
	t->skipped_ns = alarms == n_rung ? t->now_ns - before : 0;
	t->skipped_ns -= t->skipped_ns && !t->was_free ? PINNED_TICK_NS : 0;
}

void pinned_locks(uintptr_t site)
{
	struct pinned_thread *t = pinned_special()->is_asyncio ? pinned_thread() : NULL;

	if (!t || site + SAME_FUNCTION < t->site || t->site + SAME_FUNCTION < site)
		return;
	t->site = 0;
	t->looks -= t->looks > 0 && !t->was_free;
	pinned_unlook(t);
	t->now_ns -= t->skipped_ns; /* nor did it see how late it is for others */
}

void pinned_unlook(struct pinned_thread *t)
{
	t->late -= t->late > 0;
	if (t->was_free) {
		t->has_waited = true;
	} else if (t->cpu_ns >= PINNED_TICK_NS && t->now_ns >= PINNED_TICK_NS) {
		t->cpu_ns -= PINNED_TICK_NS;
		t->now_ns -= PINNED_TICK_NS;
	}
}

/* How often a loop turns before all that it waits for has come is chance: it may wake for each, or
 * once for several. So its own looks take no time. But who waits by turning has to get on. */
void pinned_waits(struct pinned_thread *t, int ms)
{
	const struct pinned_special *s = pinned_special();
	unsigned looks = s->is_uv ? ms != 0 : s->is_asyncio ? (ms >= 0) + (ms > 0) : 0;

	for (unsigned i = 0; i < looks && ++t->unseen <= UNSEEN_MAX; i++)
		pinned_unlook(t);
}

void pinned_let_go(void)
{
	for (unsigned i = 0; pinned_special()->is_uv && i < YIELDS; i++)
		(void)sys0(SYS_sched_yield); /* cannot fail */
}

void pinned_waited(struct pinned_thread *t, int ms)
{
	const struct pinned_special *s = pinned_special();

	t->has_waited = (s->is_uv && ms != 0) || s->is_asyncio;
}

/* How often subprocess.communicate() turns is chance, too: the ends of two pipes come at once, or one
 * by one. With a time limit it looks twice before each wait and once behind it. */
void pinned_polls(struct pinned_thread *t, bool is_limited)
{
	unsigned looks = pinned_special()->is_asyncio && is_limited ? POLL_LOOKS : 0;

	for (; looks > 0 && t->looks > 0 && ++t->unseen <= UNSEEN_MAX; looks--) {
		pinned_unlook(t);
		t->looks--;
	}
}

void pinned_polled(struct pinned_thread *t, bool is_limited, bool is_now)
{
	const struct pinned_special *s = pinned_special();

	t->has_waited = (s->is_uv && !is_now) || (s->is_asyncio && is_limited);
	t->looks = 0;
}

void pinned_reach(struct pinned_thread *t, uint64_t now_ns)
{
	uint64_t before = atomic_load(&slept_ns);

	t->has_waited = false;
	t->unseen = 0;
	if (t->now_ns < now_ns)
		t->now_ns = now_ns;
	while (before < t->now_ns && !atomic_compare_exchange_weak(&slept_ns, &before, t->now_ns))
		;
	(void)pinned_tick(t);
	t->looks = 0;
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
