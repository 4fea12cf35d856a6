/* SPDX-License-Identifier: Apache-2.0 */
/* Quotas, inside: quota.c decides, quota_watch.c looks and ends, quota_file.c keeps. */
#ifndef API_QUOTA_INT_H
#define API_QUOTA_INT_H

#include <pthread.h>

#include "api/quota.h"

#define USERS_MAX 4096u /* tenants that we know something of */
#define WINDOW_S 61u	/* a minute, and the second that is not over yet */
#define GIB (1024.0 * 1024 * 1024)

struct lease {
	struct use *use;
	char sandbox[32]; /* "" as long as it is not known */
	bool box;	  /* lives by itself */
	uint64_t memory, disk;
	uint64_t cpu_ms;     /* counted so far */
	uint64_t counted_at; /* up to when its memory was, loop_now_ms() */
	uint64_t since_ms;   /* when it got its sandbox, the same clock */
	int cancel_fd;
	struct lease *prev, *next;
};

/* One tenant. */
struct use {
	char name[TENANT_SIZE];
	uint64_t live, memory, disk;
	uint64_t cpu_ms, cpu_since_s; /* in the period that began then */
	double units;
	uint64_t units_since_s;
	uint64_t cpu_all_ms, units_all_ms, runs_all; /* since ever */
	struct {
		uint64_t all;	 /* of his purse, when it was last looked at */
		uint64_t before; /* that much of it before the period that began then */
		uint64_t since_s;
	} egress[PINFOLD_PURSE_SUMS];
	uint64_t refused[QUOTAS], stopped;
	uint32_t runs[WINDOW_S]; /* by second */
	uint64_t runs_at_s;	 /* the newest of them, monotonic */
	struct use *next;
};

struct quotas {
	int state; /* borrowed */
	struct tenants *tenants;
	pthread_mutex_t lock, looking;
	pthread_cond_t more;
	pthread_t thread;
	bool has_thread;
	bool yielded; /* the file is another's */
	bool idle;    /* under lock: the thread waits for the first lease */
	/* under lock */
	struct use *users;
	unsigned n_users;
	struct lease *leases;
	bool dirty, stop;
	/* Tests have clocks of their own. */
	uint64_t (*wall_s)(void);
	uint64_t (*now_ms)(void);
};

/* With the lock. */
struct use *use_find(struct quotas *q, const char *tenant, bool make);
void lease_count(struct quotas *q, struct lease *l, uint64_t cpu_ms);
void lease_unlink(struct quotas *q, struct lease *l); /* frees it */
struct lease *lease_add(struct quotas *q, struct use *u, uint64_t memory, uint64_t disk);
/* Is one of the two used up? QUOTAS: none. */
enum quota use_over(struct quotas *q, struct use *u, const struct tenant *limits,
		    uint64_t *ret_wait_s);

/* A period is over, and nothing is used of the next. */
bool quota_turn(uint64_t now_s, uint64_t period_s, uint64_t *since_s);
void count_refusal(struct use *u, const struct err *e);
int quota_refuse(const struct use *u, enum quota which, uint64_t limit, uint64_t retry_ms,
		 struct err *e);
/* quota_purse.c: what his purse has, and how far it may go; QUOTAS, or which is used up. */
enum quota purse_look(struct quotas *q, struct use *u, const struct tenant *limits,
		      uint64_t *ret_wait_s);
void purses_look(struct quotas *q); /* of all who have something running */

/* quota_watch.c: what lives, as the daemon has it; blocks. */
void quota_look(struct quotas *q);
/* What a list of the daemon's says: with the lock. `at` is when it was asked for. */
struct pinfold_sandbox_info;
void quota_compare(struct quotas *q, const struct pinfold_sandbox_info *list, size_t n,
		   uint64_t at);

/* quota_file.c */
int quota_load(struct quotas *q, struct err *e);
int quota_save(struct quotas *q);

#endif
