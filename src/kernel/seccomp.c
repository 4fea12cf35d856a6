/* SPDX-License-Identifier: Apache-2.0 */
/* Access to the tables that tools/gen-seccomp made of seccomp.def for this architecture. */
#include "kernel/seccomp.h"

#include <stddef.h>

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

enum report_kind { REPORT_SYSCALL, REPORT_NETWORK, REPORT_GUARD };

struct seccomp_report {
	int nr;
	enum report_kind kind;
	const char *name;
	const char *hint;
};

#include "seccomp_filters.inc"

/* BPF_MAXINSNS; the kernel refuses longer programs. */
_Static_assert(ARRAY_LEN(seccomp_strict_filter) <= 4096, "filter too long to load");
_Static_assert(ARRAY_LEN(seccomp_landlock_filter) <= 4096, "filter too long to load");
_Static_assert(ARRAY_LEN(seccomp_guard_filter) <= 4096, "filter too long to load");
_Static_assert(ARRAY_LEN(seccomp_guard_delete_filter) <= 4096, "filter too long to load");
_Static_assert(ARRAY_LEN(seccomp_gated_filter) <= 4096, "filter too long to load");
_Static_assert(ARRAY_LEN(seccomp_move_filter) <= 4096, "filter too long to load");
_Static_assert(ARRAY_LEN(seccomp_gated_move_filter) <= 4096, "filter too long to load");

static const struct seccomp_filter strict = {
	seccomp_strict_filter,
	ARRAY_LEN(seccomp_strict_filter),
};

static const struct seccomp_filter landlock = {
	seccomp_landlock_filter,
	ARRAY_LEN(seccomp_landlock_filter),
};

static const struct seccomp_filter guard = {
	seccomp_guard_filter,
	ARRAY_LEN(seccomp_guard_filter),
};

static const struct seccomp_filter guard_delete = {
	seccomp_guard_delete_filter,
	ARRAY_LEN(seccomp_guard_delete_filter),
};

static const struct seccomp_filter gated = {
	seccomp_gated_filter,
	ARRAY_LEN(seccomp_gated_filter),
};

static const struct seccomp_filter move = {
	seccomp_move_filter,
	ARRAY_LEN(seccomp_move_filter),
};

static const struct seccomp_filter gated_move = {
	seccomp_gated_move_filter,
	ARRAY_LEN(seccomp_gated_move_filter),
};

const struct seccomp_filter *seccomp_strict(void)
{
	return &strict;
}

const struct seccomp_filter *seccomp_landlock(void)
{
	return &landlock;
}

const struct seccomp_filter *seccomp_guard(bool deletes)
{
	return deletes ? &guard_delete : &guard;
}

const struct seccomp_filter *seccomp_gated(bool moves)
{
	return moves ? &gated_move : &gated;
}

const struct seccomp_filter *seccomp_move(void)
{
	return &move;
}

static const struct seccomp_report *find(int nr)
{
	for (size_t i = 0; i < ARRAY_LEN(seccomp_reports); i++)
		if (seccomp_reports[i].nr == nr)
			return &seccomp_reports[i];
	return NULL;
}

const char *seccomp_report_name(int nr)
{
	const struct seccomp_report *r = find(nr);

	return r ? r->name : NULL;
}

const char *seccomp_report_hint(int nr)
{
	const struct seccomp_report *r = find(nr);

	return r ? r->hint : NULL;
}

bool seccomp_report_network(int nr)
{
	const struct seccomp_report *r = find(nr);

	return r && r->kind == REPORT_NETWORK;
}

bool seccomp_report_guard(int nr)
{
	const struct seccomp_report *r = find(nr);

	return r && r->kind == REPORT_GUARD;
}
