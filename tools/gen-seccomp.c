/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the seccomp filters of seccomp.def for one architecture and writes them as C.
 *
 *	gen-seccomp x86_64|aarch64 > seccomp_filters.inc
 *
 * libseccomp knows names and numbers, and is the second opinion: it compiles the same table, and
 * the build stops unless both programs agree on every number. It does not make the bytes:
 * - it tests an argument once per rule and knows no order of rules, so "every ioctl but these"
 *   cannot be said in a list of what is allowed;
 * - a test for each number makes three times the instructions of a tree over ranges, and loading
 *   (check, translation, JIT, the kernel's table of what is always allowed) costs about half a
 *   microsecond for each of them, at every start of a sandbox.
 *
 * A program is: a test of the architecture (any other ABI gets ENOSYS), a tree over ranges of
 * numbers (x32 numbers lie above all of ours), the argument tests of a few calls, and at the very
 * end one return for each verdict, to which everything else jumps. Numbers whose path ends in
 * "allow" without a look at arguments are never filtered again: the kernel finds them at load.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_vlan.h>
#include <linux/netlink.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <sched.h>
#include <seccomp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../src/kernel/seccomp.h"

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define NR_MAX 1024u /* numbers above get the default */
#define TESTS 3
#define INSNS_MAX 600u
#define LABELS_MAX 600u
#define CALLS_MAX 600u
#define RUNS_MAX 200u
#define CHAIN_MAX 3u
#define COST_MAX 10000u

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

/* The table */

enum test_op { TEST_ANY, TEST_EQ, TEST_BITS };

struct test {
	enum test_op op;
	uint32_t offset; /* of the 32-bit word in struct seccomp_data */
	uint32_t mask;
	uint32_t value;
};

struct row {
	const char *call;  /* NULL: LEVEL */
	const char *level; /* of which name */
	struct test test[TESTS];
	uint32_t verdict; /* SECCOMP_RET_* */
};

#define LOW(arg) (uint32_t)(offsetof(struct seccomp_data, args) + 8u * (arg))
#define ANY                                                                                        \
	{                                                                                          \
		TEST_ANY, 0, 0, 0                                                                  \
	}
#define EQ(arg, value)                                                                             \
	{                                                                                          \
		TEST_EQ, LOW(arg), ~0u, (uint32_t)(value)                                          \
	}
#define HIGH(arg, value)                                                                           \
	{                                                                                          \
		TEST_EQ, LOW(arg) + 4, ~0u, (uint32_t)(value)                                      \
	}
#define MASKED(arg, mask, value)                                                                   \
	{                                                                                          \
		TEST_EQ, LOW(arg), (uint32_t)(mask), (uint32_t)(value)                             \
	}
#define BITS(arg, mask)                                                                            \
	{                                                                                          \
		TEST_BITS, LOW(arg), ~0u, (uint32_t)(mask)                                         \
	}

#define PASS SECCOMP_RET_ALLOW
#define ASK SECCOMP_RET_USER_NOTIF
#define FAIL(num) (SECCOMP_RET_ERRNO | (uint32_t)(num))
#define PLAIN(call, verdict) {#call, NULL, {ANY, ANY, ANY}, verdict},

static const struct row rows[] = {
#define ALLOW(call) PLAIN(call, PASS)
#define NOSYS(call) PLAIN(call, FAIL(ENOSYS))
#define DENY(call) PLAIN(call, FAIL(EPERM))
#define NOOP(call) PLAIN(call, FAIL(0))
#define NOTIFY(call) PLAIN(call, ASK)
#define IF(call, t1, t2, t3, verdict) {#call, NULL, {t1, t2, t3}, verdict},
#define ELSE(call, verdict) PLAIN(call, verdict)
#define LEVEL(name) {NULL, #name, {ANY, ANY, ANY}, 0},
#include "../src/kernel/seccomp.def"
};

static const struct hint {
	const char *call;
	const char *kind;
	const char *text;
} hints[] = {
#define SYSCALL "REPORT_SYSCALL"
#define NETWORK "REPORT_NETWORK"
#define GUARD "REPORT_GUARD"
#define HINT(call, kind, text) {#call, kind, text},
#include "../src/kernel/seccomp.def"
};

static const struct number {
	const char *call;
	int nr;
} numbers[] = {
#define NUMBER(call, number) {#call, number},
#include "../src/kernel/seccomp.def"
};

static const struct arch {
	const char *name;
	uint32_t token; /* libseccomp uses the kernel's AUDIT_ARCH_* values */
} archs[] = {
	{"x86_64", SCMP_ARCH_X86_64},
	{"aarch64", SCMP_ARCH_AARCH64},
};

/* The rows of one call, the last of which holds always. */
struct call {
	const char *name;
	int nr; /* < 0: not on this architecture */
	const struct row *rows;
	unsigned count;
};

struct level {
	const char *name;
	const struct arch *arch;
	struct call calls[CALLS_MAX];
	unsigned count;
};

/* The program: jumps name labels until all positions are known. */

struct insn {
	uint16_t code;
	uint32_t k;
	unsigned yes, no; /* labels of a conditional jump */
};

struct label {
	unsigned pos;
	unsigned uses;
};

struct split {
	bool known;
	unsigned cost; /* in instructions */
	unsigned mid;
};

struct prog {
	const struct level *level;
	struct insn insn[INSNS_MAX];
	unsigned len;
	struct label label[LABELS_MAX];
	unsigned labels;
	uint32_t verdict[32]; /* each with the label of its return instruction */
	unsigned verdict_label[32];
	unsigned verdicts;
	const struct call *block[NR_MAX]; /* calls with tests, by number */
	unsigned block_label[NR_MAX];
	unsigned run_start[RUNS_MAX]; /* ranges of numbers that go to the same label */
	unsigned run_label[RUNS_MAX];
	unsigned runs;
	struct split plan[RUNS_MAX][RUNS_MAX + 1]; /* how the tree over ranges i to j begins */
	struct sock_filter code[INSNS_MAX];
};

static void compile(struct prog *p, const struct level *level, bool stub);
static void check_with_libseccomp(const struct level *level);
static void print_filter(const struct prog *p);
static void print_reports(const struct level *level);
static void level_init(struct level *level, const struct arch *arch, const char *name);

__attribute__((noreturn, format(printf, 1, 2))) static void die(const char *fmt, ...)
{
	va_list ap;

	fputs("gen-seccomp: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"strict", "landlock", "guard",     "guard_delete",
					    "gated",  "move",	  "gated_move"};
	static struct level level;
	static struct prog prog;
	const struct arch *arch = NULL;

	for (size_t i = 0; i < ARRAY_LEN(archs); i++)
		if (argc == 2 && strcmp(argv[1], archs[i].name) == 0)
			arch = &archs[i];
	if (!arch)
		die("usage: gen-seccomp x86_64|aarch64");
	printf("/* Made by tools/gen-seccomp of src/kernel/seccomp.def for %s. */\n", arch->name);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		level_init(&level, arch, names[i]);
		check_with_libseccomp(&level);
		compile(&prog, &level, false);
		print_filter(&prog);
	}
	print_reports(&level);
	if (fflush(stdout) != 0 || ferror(stdout))
		die("write: %s", strerror(errno));
	return 0;
}

/* From rows to calls */

static int resolve(const struct arch *arch, const char *name)
{
	int known = seccomp_syscall_resolve_name_arch(arch->token, name);

	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		if (strcmp(numbers[i].call, name) != 0)
			continue;
		if (known >= 0 && known != numbers[i].nr)
			die("%s is %d, not %d", name, known, numbers[i].nr);
		return numbers[i].nr;
	}
	if (known == __NR_SCMP_ERROR)
		die("no architecture has a system call %s", name);
	return known; /* libseccomp has negative numbers for the calls of other architectures */
}

static struct call *find_call(struct level *level, const char *name)
{
	for (unsigned i = 0; i < level->count; i++)
		if (strcmp(level->calls[i].name, name) == 0)
			return &level->calls[i];
	return NULL;
}

static void add_call(struct level *level, const struct row *row, unsigned count, bool replace)
{
	struct call *call = find_call(level, row->call);

	if (row[count - 1].test[0].op != TEST_ANY)
		die("%s: the last row must hold always", row->call);
	for (unsigned i = 0; i + 1 < count; i++)
		if (row[i].test[0].op == TEST_ANY)
			die("%s: rows after one that holds always", row->call);
	if (!!call != replace)
		die("%s: %s", row->call, call ? "listed twice" : "not in the list above");
	if (!call) {
		if (level->count == CALLS_MAX)
			die("more than %u calls", CALLS_MAX);
		call = &level->calls[level->count++];
	}
	*call = (struct call){row->call, resolve(level->arch, row->call), row, count};
	if (call->nr >= (int)NR_MAX)
		die("%s: number %d", row->call, call->nr);
}

static void level_init(struct level *level, const struct arch *arch, const char *name)
{
	bool replace = false, is_ours = true;

	level->name = name;
	level->arch = arch;
	level->count = 0;
	for (size_t i = 0, next; i < ARRAY_LEN(rows); i = next) {
		next = i + 1;
		if (!rows[i].call) {
			replace = true;
			is_ours = strcmp(name, rows[i].level) == 0;
			continue;
		}
		while (next < ARRAY_LEN(rows) && rows[next].call &&
		       strcmp(rows[next].call, rows[i].call) == 0)
			next++;
		if (is_ours)
			add_call(level, &rows[i], (unsigned)(next - i), replace);
	}
}

/* From calls to instructions */

static unsigned label_new(struct prog *p)
{
	if (p->labels == LABELS_MAX)
		die("more than %u labels", LABELS_MAX);
	p->label[p->labels] = (struct label){0, 0};
	return p->labels++;
}

static void place(struct prog *p, unsigned label)
{
	p->label[label].pos = p->len;
}

static void emit(struct prog *p, unsigned code, uint32_t k)
{
	if (p->len == INSNS_MAX)
		die("more than %u instructions", INSNS_MAX);
	p->insn[p->len++] = (struct insn){(uint16_t)code, k, 0, 0};
}

static void emit_jump(struct prog *p, unsigned op, uint32_t k, unsigned yes, unsigned no)
{
	emit(p, BPF_JMP | op | BPF_K, k);
	p->insn[p->len - 1].yes = yes;
	p->insn[p->len - 1].no = no;
	p->label[yes].uses++;
	p->label[no].uses++;
}

static unsigned verdict_label(struct prog *p, uint32_t verdict)
{
	for (unsigned i = 0; i < p->verdicts; i++)
		if (p->verdict[i] == verdict)
			return p->verdict_label[i];
	if (p->verdicts == ARRAY_LEN(p->verdict))
		die("too many verdicts");
	p->verdict[p->verdicts] = verdict;
	p->verdict_label[p->verdicts] = label_new(p);
	return p->verdict_label[p->verdicts++];
}

static void load(struct prog *p, const struct test *now, const struct test *want)
{
	if (now && now->offset == want->offset && now->mask == want->mask)
		return;
	if (!now || now->offset != want->offset || now->mask != ~0u)
		emit(p, BPF_LD | BPF_W | BPF_ABS, want->offset);
	if (want->mask != ~0u)
		emit(p, BPF_ALU | BPF_AND | BPF_K, want->mask);
}

static bool same_test(const struct test *a, const struct test *b)
{
	return a->op == b->op && a->offset == b->offset && a->mask == b->mask &&
	       a->value == b->value;
}

/*
 * Rows that agree in their tests before `depth`; the first has one at `depth`. `now` says what the
 * accumulator holds, `otherwise` where to go when no row holds.
 */
static void emit_rows(struct prog *p, const struct row *row, unsigned count, unsigned depth,
		      const struct test *now, unsigned otherwise)
{
	const struct test *test = &row[0].test[depth];
	unsigned group = 1;

	while (group < count && same_test(test, &row[group].test[depth]))
		group++;
	bool inner = depth + 1 < TESTS && row[0].test[depth + 1].op != TEST_ANY;
	bool rest = group < count && row[group].test[depth].op != TEST_ANY;
	unsigned yes = inner ? label_new(p) : verdict_label(p, row[0].verdict);
	unsigned no = rest ? label_new(p) : otherwise;

	if (!rest && group < count)
		no = verdict_label(p, row[group].verdict);
	load(p, now, test);
	emit_jump(p, test->op == TEST_BITS ? BPF_JSET : BPF_JEQ, test->value, yes, no);
	if (inner) {
		place(p, yes);
		emit_rows(p, row, group, depth + 1, test, no);
	}
	if (rest) {
		place(p, no);
		/* Rows of the group that fell through came here with another word loaded. */
		now = p->label[no].uses == 1 ? test : NULL;
		emit_rows(p, row + group, count - group, depth, now, otherwise);
	}
}

static void emit_blocks(struct prog *p, bool stub)
{
	for (unsigned nr = 0; nr < NR_MAX; nr++) {
		const struct call *call = p->block[nr];

		if (!call)
			continue;
		place(p, p->block_label[nr]);
		if (stub)
			emit(p, BPF_RET | BPF_K, SECCOMP_RET_TRACE | nr);
		else
			emit_rows(p, call->rows, call->count, 0, NULL, UINT32_MAX);
	}
}

static void find_runs(struct prog *p)
{
	static unsigned goes[NR_MAX];
	unsigned none = verdict_label(p, FAIL(ENOSYS));

	for (unsigned nr = 0; nr < NR_MAX; nr++)
		goes[nr] = none;
	for (unsigned i = 0; i < p->level->count; i++) {
		const struct call *call = &p->level->calls[i];

		if (call->nr < 0)
			continue;
		if (call->count == 1) {
			goes[call->nr] = verdict_label(p, call->rows[0].verdict);
			continue;
		}
		p->block[call->nr] = call;
		goes[call->nr] = p->block_label[call->nr] = label_new(p);
	}
	for (unsigned nr = 0; nr < NR_MAX; nr++) {
		if (nr > 0 && goes[nr] == goes[nr - 1])
			continue;
		if (p->runs == RUNS_MAX)
			die("more than %u ranges", RUNS_MAX);
		p->run_start[p->runs] = nr;
		p->run_label[p->runs++] = goes[nr];
	}
}

/* Tests for numbers that interrupt the first range one by one. */
static unsigned chain_cost(const struct prog *p, unsigned lo, unsigned hi)
{
	unsigned cost = 0;

	for (unsigned i = lo + 1; i < hi; i++) {
		if (p->run_label[i] == p->run_label[lo])
			continue;
		if (i + 1 == p->runs || p->run_start[i + 1] != p->run_start[i] + 1)
			return COST_MAX;
		cost++;
	}
	return cost <= CHAIN_MAX ? cost : COST_MAX;
}

/*
 * The fewest tests for ranges lo to hi, and where to split them; a split at lo is a chain. Splits
 * stay in the middle third, so that the tree stays flat.
 */
static unsigned plan_tree(struct prog *p, unsigned lo, unsigned hi)
{
	struct split *plan = &p->plan[lo][hi];
	unsigned margin = hi - lo < 6 ? 1 : (hi - lo) / 3;

	if (plan->known)
		return plan->cost;
	*plan = (struct split){true, chain_cost(p, lo, hi), lo};
	for (unsigned mid = lo + margin; hi - lo > 1 && mid <= hi - margin; mid++) {
		unsigned cost = 1 + plan_tree(p, lo, mid) + plan_tree(p, mid, hi);

		if (cost < plan->cost)
			*plan = (struct split){true, cost, mid};
	}
	return plan->cost;
}

static void emit_chain(struct prog *p, unsigned lo, unsigned hi)
{
	unsigned left = p->plan[lo][hi].cost;

	for (unsigned i = lo + 1; i < hi; i++) {
		if (p->run_label[i] == p->run_label[lo])
			continue;
		unsigned no = --left > 0 ? label_new(p) : p->run_label[lo];

		emit_jump(p, BPF_JEQ, p->run_start[i], p->run_label[i], no);
		if (left > 0)
			place(p, no);
	}
}

static void emit_tree(struct prog *p, unsigned lo, unsigned hi)
{
	unsigned mid = p->plan[lo][hi].mid;

	if (mid == lo) {
		emit_chain(p, lo, hi);
		return;
	}
	unsigned left = mid - lo == 1 ? p->run_label[lo] : label_new(p);
	unsigned right = hi - mid == 1 ? p->run_label[mid] : label_new(p);

	emit_jump(p, BPF_JGE, p->run_start[mid], right, left);
	if (mid - lo > 1) {
		place(p, left);
		emit_tree(p, lo, mid);
	}
	if (hi - mid > 1) {
		place(p, right);
		emit_tree(p, mid, hi);
	}
}

static uint8_t distance(const struct prog *p, unsigned from, unsigned label)
{
	unsigned pos = p->label[label].pos;

	/* The field has 8 bits. A longer program needs a second copy of its returns half way. */
	if (pos <= from || pos - from - 1 > UINT8_MAX)
		die("level %s: a jump from %u to %u", p->level->name, from, pos);
	return (uint8_t)(pos - from - 1);
}

static void assemble(struct prog *p)
{
	for (unsigned i = 0; i < p->len; i++) {
		const struct insn *in = &p->insn[i];

		p->code[i] = (struct sock_filter){in->code, 0, 0, in->k};
		if (BPF_CLASS(in->code) != BPF_JMP)
			continue;
		p->code[i].jt = distance(p, i, in->yes);
		p->code[i].jf = distance(p, i, in->no);
	}
}

/* stub: calls with tests return TRACE with their number, for the comparison with libseccomp. */
static void compile(struct prog *p, const struct level *level, bool stub)
{
	memset(p, 0, sizeof(*p));
	p->level = level;
	find_runs(p);

	unsigned native = label_new(p);

	emit(p, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
	emit_jump(p, BPF_JEQ, level->arch->token, native, verdict_label(p, FAIL(ENOSYS)));
	place(p, native);
	emit(p, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	(void)plan_tree(p, 0, p->runs); /* the result is in the plan */
	emit_tree(p, 0, p->runs);
	emit_blocks(p, stub);
	for (unsigned i = 0; i < p->verdicts; i++) {
		place(p, p->verdict_label[i]);
		emit(p, BPF_RET | BPF_K, p->verdict[i]);
	}
	assemble(p);
}

/* The second opinion */

static uint32_t evaluate(const struct sock_filter *code, unsigned len, uint32_t arch, uint32_t nr)
{
	uint32_t acc = 0;

	for (unsigned pc = 0; pc < len; pc++) {
		const struct sock_filter *f = &code[pc];
		bool holds = false;

		switch (f->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			acc = f->k == offsetof(struct seccomp_data, arch) ? arch : nr;
			continue;
		case BPF_RET | BPF_K: return f->k;
		case BPF_JMP | BPF_JA: pc += f->k; continue;
		case BPF_JMP | BPF_JEQ | BPF_K: holds = acc == f->k; break;
		case BPF_JMP | BPF_JGE | BPF_K: holds = acc >= f->k; break;
		case BPF_JMP | BPF_JGT | BPF_K: holds = acc > f->k; break;
		default: die("instruction %#x", f->code);
		}
		pc += holds ? f->jt : f->jf;
	}
	die("a program runs off its end");
}

/* The kernel of the build machine need not know notifications, so they are TRACE here as well. */
static uint32_t stand_in(const struct call *call)
{
	if (call->count > 1)
		return SCMP_ACT_TRACE((unsigned)call->nr);
	if (call->rows[0].verdict == ASK)
		return SCMP_ACT_TRACE(NR_MAX);
	return call->rows[0].verdict;
}

/*
 * libseccomp takes numbers of the build machine and translates by name. Names that it does not know
 * can therefore be checked only when building for the machine itself.
 */
static bool add_rule(scmp_filter_ctx ctx, const struct call *call, bool native)
{
	int nr = native ? call->nr : seccomp_syscall_resolve_name(call->name);

	if (nr == __NR_SCMP_ERROR)
		return false;
	/* A rule that repeats the default is an error. */
	if (stand_in(call) == FAIL(ENOSYS))
		return true;
	int r = seccomp_rule_add(ctx, stand_in(call), nr, 0);

	if (r < 0)
		die("libseccomp refuses %s: %s", call->name, strerror(-r));
	return true;
}

static unsigned reference(const struct level *level, struct sock_filter *code, unsigned max,
			  bool *unknown)
{
	scmp_filter_ctx ctx = seccomp_init(FAIL(ENOSYS));
	bool native = level->arch->token == seccomp_arch_native();
	int fd = memfd_create("filter", MFD_CLOEXEC);

	if (!ctx || fd < 0)
		die("libseccomp or memfd_create: %s", strerror(errno));
	if (seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, FAIL(ENOSYS)) < 0)
		die("libseccomp takes no action for other architectures");
	if (!native && (seccomp_arch_remove(ctx, SCMP_ARCH_NATIVE) < 0 ||
			seccomp_arch_add(ctx, level->arch->token) < 0))
		die("libseccomp does not know %s", level->arch->name);
	for (unsigned i = 0; i < level->count; i++)
		if (level->calls[i].nr >= 0 && !add_rule(ctx, &level->calls[i], native))
			unknown[level->calls[i].nr] = true;
	if (seccomp_export_bpf(ctx, fd) < 0)
		die("libseccomp cannot export");
	ssize_t size = pread(fd, code, max * sizeof(*code), 0);

	if (size <= 0)
		die("read the filter back: %s", strerror(errno));
	close(fd);
	seccomp_release(ctx);
	return (unsigned)((size_t)size / sizeof(*code));
}

static void check_with_libseccomp(const struct level *level)
{
	static const uint32_t parts[] = {0, 0x40000000, 0x80000000, 0xfffffc00};
	static struct sock_filter theirs[BPF_MAXINSNS];
	static struct prog ours;
	bool unknown[NR_MAX] = {false};
	unsigned len = reference(level, theirs, ARRAY_LEN(theirs), unknown);
	uint32_t abi = level->arch->token;

	compile(&ours, level, true);
	for (unsigned i = 0; i < ours.len; i++)
		if (ours.code[i].code == (BPF_RET | BPF_K) && ours.code[i].k == ASK)
			ours.code[i].k = SECCOMP_RET_TRACE | NR_MAX;
	for (size_t part = 0; part < ARRAY_LEN(parts); part++) {
		for (uint32_t n = 0; n < NR_MAX; n++) {
			uint32_t nr = parts[part] + n;
			uint32_t a = evaluate(ours.code, ours.len, abi, nr);
			uint32_t b = evaluate(theirs, len, abi, nr);

			if (a != b && !(part == 0 && unknown[n]))
				die("%s, number %#x: %#x and %#x", level->name, nr, a, b);
			if (evaluate(ours.code, ours.len, ~abi, nr) != FAIL(ENOSYS))
				die("%s, number %#x: open in another ABI", level->name, nr);
		}
	}
}

/* Output */

static void print_filter(const struct prog *p)
{
	printf("\nstatic const struct sock_filter seccomp_%s_filter[] = {\n", p->level->name);
	for (unsigned i = 0; i < p->len; i++)
		printf("\t{0x%02x, %u, %u, 0x%08x},\n", p->code[i].code, p->code[i].jt,
		       p->code[i].jf, p->code[i].k);
	puts("};");
}

static bool asks(const char *call)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (rows[i].call && strcmp(rows[i].call, call) == 0 && rows[i].verdict == ASK)
			return true;
	return false;
}

static bool has_hint(const char *call)
{
	for (size_t i = 0; i < ARRAY_LEN(hints); i++)
		if (strcmp(hints[i].call, call) == 0)
			return true;
	return false;
}

static void print_reports(const struct level *level)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (rows[i].call && rows[i].verdict == ASK && !has_hint(rows[i].call))
			die("%s: asks without a hint", rows[i].call);
	puts("\nstatic const struct seccomp_report seccomp_reports[] = {");
	for (size_t i = 0; i < ARRAY_LEN(hints); i++) {
		int nr = resolve(level->arch, hints[i].call);

		if (!asks(hints[i].call))
			die("%s: a hint, but never asks", hints[i].call);
		if (nr >= 0)
			printf("\t{%d, %s, \"%s\",\n\t \"%s\"},\n", nr, hints[i].kind,
			       hints[i].call, hints[i].text);
	}
	puts("};");
}
