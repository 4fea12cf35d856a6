/* SPDX-License-Identifier: Apache-2.0 */
/* libpinfold: what a sandbox may reach, while it runs */
#ifndef PINFOLD_POLICY_H
#define PINFOLD_POLICY_H

#include "pinfold.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A sandbox with a network policy has its way out by a process that holds it: the one that runs it,
 * or made it (pinfold_sandbox_create). These functions reach that process: in this one by itself,
 * in another of the same user by a socket in the data directory.
 */
struct pinfold_policy {
	size_t size;
	const char *const *allow; /* "host[:port]"…, NULL ends them; or NULL */
	const char *text;	  /* of a policy, YAML or JSON (docs/egress.md); or NULL */
	const char *name;	  /* what errors call the text; NULL: "policy" */
	int adds; /* 1: beside what it has, and then without a text; 0: in the place of that */
	int own;  /* 1: the caller's own policy.yaml counts, and so do presets */
};

/* Presets of policies (pip, npm, apt, git) are what their tools' configuration says now, for all
 * policies of this process, also when it cannot read those files any more. Before any thread. */
PINFOLD_API int pinfold_presets_keep(struct pinfold_error *ret_error);

/*
 * Values of secrets for a sandbox that another process makes, which may not open the vault of the
 * data directory: names, and what stands for each inside. Counts a use of each; all or none. A
 * sealed file for who holds its way out, and for nobody to be read on the way; to be closed by the
 * caller.
 */
struct pinfold_secret {
	const char *name, *placeholder;
};
PINFOLD_API int pinfold_secrets_hold(const struct pinfold_secret *list, unsigned n, int *ret_fd,
				     struct pinfold_error *ret_error);
/* Of pinfold_run_options: is asked once, before anything is made; *ret_fd is taken. */
struct pinfold_secrets_from {
	int (*take)(void *arg, const struct pinfold_secret *list, unsigned n, int *ret_fd,
		    struct pinfold_error *ret_error);
	void *arg;
};

/*
 * It holds when this returns: connections that it does not allow are closed then, *ret_closed says
 * how many. The operator's ceiling holds for it, too. A sandbox that was made without a policy has
 * no way out that could be changed: conflict. Of ports that no rule named when it was made,
 * *ret_note, to be freed, says that only the proxy reaches them; NULL: there are none.
 */
PINFOLD_API int pinfold_policy_set(const char *id, const struct pinfold_policy *policy,
				   unsigned *ret_closed, char **ret_note,
				   struct pinfold_error *ret_error);
/* Its rules, ports and what was decided so far, as a JSON document, to be freed. */
PINFOLD_API int pinfold_policy_show(const char *id, char **ret_json,
				    struct pinfold_error *ret_error);

/*
 * What the operator of this host says of HOST[:PORT], whoever asks for it. Where there is no
 * ceiling it is the caller's to decide; what it denies nobody gets. "*.example.org" is held against
 * a name below it.
 */
enum pinfold_ceiling {
	PINFOLD_CEILING_NONE, /* there is none */
	PINFOLD_CEILING_ALLOWS,
	PINFOLD_CEILING_ASKS, /* a person, at each connection */
	PINFOLD_CEILING_DENIES,
};
PINFOLD_API int pinfold_policy_ceiling(const char *item, enum pinfold_ceiling *ret_says,
				       struct pinfold_error *ret_error);

/*
 * What several runs and sandboxes use of the network together: a file, of which each takes part by
 * pinfold_run_options.egress_purse, in this process or another. The sums are bytes both ways,
 * connections and requests of HTTP; they grow for ever. Nothing is let through once as much as
 * `stop` was used.
 */
enum pinfold_purse {
	PINFOLD_PURSE_BYTES,
	PINFOLD_PURSE_CONNECTIONS,
	PINFOLD_PURSE_REQUESTS,
	PINFOLD_PURSE_SUMS
};
/* A name without a slash, in a directory of the caller's own. *ret_fd is to be closed. With make 0
 * it has to be there: not_found. */
PINFOLD_API int pinfold_purse_open(int dir, const char *name, int make, int *ret_fd,
				   struct pinfold_error *ret_error);
PINFOLD_API int pinfold_purse_used(int fd, uint64_t ret_used[PINFOLD_PURSE_SUMS],
				   struct pinfold_error *ret_error);
/* What is left up to there; UINT64_MAX: no limit. And what was used by who could not take part
 * himself. */
PINFOLD_API int pinfold_purse_left(int fd, uint64_t ret_left[PINFOLD_PURSE_SUMS],
				   struct pinfold_error *ret_error);
PINFOLD_API int pinfold_purse_add(int fd, const uint64_t used[PINFOLD_PURSE_SUMS],
				  struct pinfold_error *ret_error);
/* 0: no limit. It holds at once, also for what runs. */
PINFOLD_API int pinfold_purse_stop(int fd, const uint64_t stop[PINFOLD_PURSE_SUMS],
				   struct pinfold_error *ret_error);

/*
 * Sandboxes that live have their way out as long as this process, which made them, does; so who
 * makes one stays. pinfold_policy_held() says how many there are. With pinfold_policy_attend(),
 * before the first is made, he promises to: rules that say ask are then put before a person, else
 * they refuse.
 */
PINFOLD_API unsigned pinfold_policy_held(void);
PINFOLD_API int pinfold_policy_holds(const char *id); /* 1: that one's is ours */
PINFOLD_API void pinfold_policy_attend(void);
/* Look after them: until none is left, or, where stop_fd is no negative number, until it is
 * readable. */
PINFOLD_API int pinfold_policy_stay(int stop_fd, struct pinfold_error *ret_error);

#ifdef __cplusplus
}
#endif

#endif
