/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a policy comes from, on the machine of who starts a run. Reads files; the rest of this half
 * of the room does not.
 *
 *	--allow, --policy	what the caller names
 *	policy.yaml		the user's own, in his configuration directory
 *	pinfold.yaml		of the directory that is shown, once somebody trusted it (trust.h)
 *	ceiling.yaml		the operator's, in /etc/pinfold: nothing goes beyond it
 *
 * The first three are one policy: what any of them allows is allowed, what any denies is denied.
 * $PINFOLD_CEILING names a file that is one more ceiling, so it can only narrow.
 */
#ifndef EGRESS_SOURCE_H
#define EGRESS_SOURCE_H

#include <limits.h>
#include <unistd.h>

#include "egress/policy.h"
#include "egress/yaml.h"

struct policy_sources {
	const char *const *allow; /* ended by NULL; or NULL */
	const char *text;	  /* of a policy, YAML or JSON; or NULL */
	const char *text_name;	  /* what errors call it; NULL: --policy */
	bool with_own;		  /* the user's own counts, and so do presets */
	bool open;		  /* all that the ceiling allows; without one it is refused */
	const char *project; /* directory whose pinfold.yaml counts if it is trusted; or NULL */
	int project_fd;	     /* it, open, and then `project` is its real path; 0: by its name */
};

#define SOURCE_NOTE_SIZE 512

/* *ret is a policy, which may be empty. `note` is a line to be said to the person, or "": that there
 * is a pinfold.yaml which does not count. A file that is there and cannot be read or understood is
 * an error; one that others could have written is, too. */
int policy_gather(const struct policy_sources *s, struct policy **ret, char note[SOURCE_NOTE_SIZE],
		  struct err *e);

/* The operator's ceilings are put over a policy. Returns how many there are. */
int policy_gather_ceilings(struct policy *p, struct err *e);
/* Nothing but the ceilings: what their commands say holds for who has no policy, too. */
int policy_ceilings(struct policy **ret, struct err *e);

/* Of directories on the way to the configuration. In root's lies the ceiling, which everybody
 * reads. */
#define SOURCE_DIR_MODE (geteuid() == 0 ? 0755 : 0700)

/* The configuration directory: /etc/pinfold for root, else below $XDG_CONFIG_HOME or ~/.config;
 * $PINFOLD_CONFIG before all. It need not exist. */
int source_config_dir(char ret[PATH_MAX], struct err *e);

enum source_owner { SOURCE_ANYBODY, SOURCE_SELF, SOURCE_ROOT };

/* A regular file of at most POLICY_FILE_MAX bytes, malloced, with NUL behind. SOURCE_SELF: only we
 * or root can have written it; SOURCE_ROOT: only root. -ENOENT, and no words, where there is
 * none. */
int source_read(int dir, const char *path, enum source_owner owner, char **ret, size_t *ret_len,
		struct err *e);

/* What presets of this host mean. */
extern const struct policy_presets source_presets;

#endif
