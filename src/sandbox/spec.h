/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one sandbox is to be: checked, complete, without policy of who may. The engine fills it,
 * plan.c turns it into steps, spawn.c into processes.
 */
#ifndef SANDBOX_SPEC_H
#define SANDBOX_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "wire/pinned.h"

enum sandbox_level { LEVEL_STRICT, LEVEL_LANDLOCK };
/* Which interpreter that waits. */
enum sandbox_driver { DRIVER_NONE, DRIVER_PYTHON, DRIVER_NODE, DRIVER_R };

#define SANDBOX_UID 1000u		/* PLAN_USER for the guest */
#define SANDBOX_TREE_BYTES (256u << 10) /* room for the skeleton, on top of --disk */
#define SANDBOX_IDS 65536u		/* size of a sandbox's own range of ids */
#define SANDBOX_ID_SIZE 30		/* "sbx" + 26 characters + NUL */

/* Which host ids the sandbox's ids are. */
struct sandbox_ids {
	bool range;	/* a whole range; else one id, the caller's, seen as SANDBOX_UID */
	bool helper;	/* the range is given by newuidmap/newgidmap */
	uid_t uid_base; /* first of the range */
	gid_t gid_base;
	uid_t caller_uid; /* who runs us */
	gid_t caller_gid;
};

struct sandbox_limits {
	uint64_t time_ms;
	uint64_t grace_ms;
	uint64_t cpu_time_ms;
	uint64_t cpus_milli;
	uint64_t memory_bytes;
	uint64_t pids;
	uint64_t disk_bytes;
	uint64_t nofile;
};

/*
 * A workspace's files: numbered directories below one directory of the store, each with the parts
 * of design.md: root, usr, work. Those of `lower` are frozen; what is written goes to `upper`,
 * which has a work directory w.PART beside each part.
 */
#define LAYERS_MAX 15u /* with the upper 16 are mounted */
#define LAYER_ROOT 0x1u
#define LAYER_USR 0x2u
#define LAYER_WORK 0x4u
#define LAYER_IMAGE 0x8u /* its root is an image: it takes the place of the host's /usr and /etc */

struct sandbox_layer {
	uint32_t number;
	uint32_t parts; /* LAYER_*: which parts of it are not empty */
};

struct sandbox_layers {
	uint32_t upper;	  /* 0: an ephemeral run, on an image if there is one in `lower` */
	int fd;		  /* the directory that holds them; borrowed */
	const char *path; /* the same, borrowed */
	uint64_t dev, ino;
	bool attached; /* handed over as a mount descriptor (root) instead of by path */
	unsigned n;
	struct sandbox_layer lower[LAYERS_MAX]; /* the topmost first */
};

/*
 * Packages that were installed once for many sandboxes: layers of the same directory that have only
 * the part usr. They lie on the host's /usr, below whatever the workspace or the command changes
 * there.
 */
#define DEPS_LAYERS_MAX 8u
#define DEPS_GIVEN_MAX 4u
#define SANDBOX_LINKS_MAX 64u
struct sandbox_deps {
	unsigned n;
	uint32_t number[DEPS_LAYERS_MAX]; /* the topmost first */
	/* Paths outside /usr that lead into a layer, below SANDBOX_LINKED: etc/NAME, var/lib/NAME
	 * or opt/NAME. NULL ends them; NULL: none. Borrowed. */
	const char *const *links;
	bool has_node;	     /* /node_modules leads to SANDBOX_NODE_MODULES */
	const char *watched; /* which of their files to watch (guest/seen.c), borrowed */
	size_t watched_len;  /* 0: none */
	/* What the program imports of them (deps/imports.h), borrowed; NULL: nobody knows. */
	const char *modules;
	/* In the daemon: they are a caller's (bundle.h), each by a descriptor of its part usr; or
	 * there is none, and fd[0] is the root of the image in `layers`. */
	bool given, attached;
	bool passed; /* to the daemon: a bundle goes along that somebody else made */
	int fd[DEPS_GIVEN_MAX];
};
#define SANDBOX_NODE_MODULES "/usr/local/lib/pinfold/node_modules"
#define SANDBOX_LINKED "/usr/local/lib/pinfold/tree"

/* For a driver of ours that installs packages of the distribution: what it needs of the host lies
 * below /host, and /etc has nothing of the host's, so that it can be filled and changed.
 * HOST_PACKAGES: what of /etc others see, and dpkg's database. HOST_SOURCES: apt's configuration
 * and lists, too, for who asks an archive; nothing of a package runs there. */
enum sandbox_host { HOST_NONE, HOST_PACKAGES, HOST_SOURCES };

/* Layers at rest, looked at or merged: the command is our own reader, which sees them below /v, and
 * is root there so that no file is hidden from it. */
/* PEEK_COPY: what it makes is reached by another mount, /v/out, so that nothing can be linked. */
enum sandbox_peek { PEEK_NONE, PEEK_LOOK, PEEK_MERGE, PEEK_COPY };

/* The git directory of --dir, where that is a worktree or a submodule. All borrowed. */
struct sandbox_git {
	const char *path; /* NULL: none */
	int fd;
	uint64_t dev, ino;
	const char *inside;	   /* where it is shown: an absolute path, plain */
	const char *link;	   /* a name for /work, as it says itself, or NULL */
	const char *const *hidden; /* as of --dir */
	bool attached;
};

/* Where Debian's Java has its authorities. */
#define SPEC_JAVA_CERTS "etc/ssl/certs/java/cacerts"

/* What a policy lets out: by sockets inside that are the gate's. */
#define SANDBOX_PORTS_MAX 64u
struct sandbox_egress {
	unsigned n_ports; /* 0: no network at all */
	uint16_t ports[SANDBOX_PORTS_MAX];
	int gate;	   /* where they are handed to; borrowed */
	bool is_heard;	   /* the gate tells all that is refused: one run is all there is */
	bool inspects;	   /* connections may be: */
	const char *ca;	   /* the authority that it has to trust for that (PEM) */
	const char *certs; /* the host's authorities, and this one behind them */
	const void *java;  /* the same for Java, as it keeps them; NULL: it is not here */
	size_t java_len;
};

/* What somebody says yes or no to before it happens: a policy has `commands` (guard.h). */
enum sandbox_guard { GUARD_NOTHING, GUARD_PROGRAMS, GUARD_DELETES /* and programs */ };

/* A deterministic run: what its clock shows at first, and since when, by the true one, its files
 * are its own. */
struct sandbox_pinned {
	bool on;
	int64_t start_s;
	uint64_t made_ns;
};

struct sandbox_spec {
	char id[SANDBOX_ID_SIZE];
	enum sandbox_level level;
	enum sandbox_driver driver; /* warm: the command is one; else: the command suits one */
	struct sandbox_ids ids;
	struct sandbox_limits limits;
	bool as_root; /* the command is uid 0 inside */
	bool warm;    /* made before anybody wants it: waits for a claim */
	bool forked;  /* with a driver: it is a fork of the zygote */
	bool zygote;  /* not a sandbox for anybody: where interpreters are forked from */
	bool live;    /* no command of its own: they come later */
	bool leashed; /* ends with the process that made it */
	bool session; /* the command is an interpreter that stays, its standard input the way to it */
	bool as_user; /* for a command in a sandbox with as_root: uid 1000 even so */
	bool pty;
	bool alert_kills, alert_pauses; /* in the daemon: what its first alert does to it */
	bool line;			/* the command is bash and a line (guest/line.c) */
	bool open_stdin;		/* detached: somebody will write to its standard input */
	bool collect;			/* report changed files */
	struct {
		bool given;
		int fd, own; /* a network namespace to be in, and the way back; borrowed */
	} net;		     /* else the guest makes one */
	struct {
		bool given;
		int fd; /* a user namespace with the one id that is the sandbox's user; borrowed */
	} pool;		/* its own is below that one; else below ours */
	bool shared;	/* a sandbox that lives: its commands may signal each other */
	bool prompt;	/* in the daemon: the caller does not wait for the guest's own end */
	bool memory_unheld; /* no cgroup: rlimits are all there is */
	uint16_t rows, cols;
	/* All borrowed. */
	const char *const *metadata; /* of a sandbox that lives: "key=value"; or NULL */
	const char *const *argv;
	const char *const *envp;
	const char *path; /* value of PATH */
	const char *workdir;
	const char *code_name; /* program text goes to /run/code/NAME */
	const char *code;
	size_t code_len;
	/* --dir: the directory as the caller opened it. */
	int dir_fd; /* FD_NONE: none */
	const char *dir_path;
	uint64_t dir_dev, dir_ino;
	const char *const
		*hidden; /* paths in it that are not shown, in the order of a walk, or NULL */
	uid_t dir_uid; /* whose files are shown as the sandbox's own; 0: the directory's owner's */
	gid_t dir_gid;
	struct sandbox_git git;
	bool usr_attached;
	bool on_volume;	   /* the layer is on disk, in a filesystem of its own (volume.h) */
	bool dir_attached; /* handed over as a mount descriptor (root) instead of by path */
	struct sandbox_layers layers;
	struct sandbox_deps deps; /* with these, `layers` says where they are */
	enum sandbox_host host;
	struct sandbox_egress egress;
	struct sandbox_pinned pinned;
	enum sandbox_guard guard;
	bool moves;   /* who renames a directory is helped (move.h): without a guard */
	int guard_fd; /* in the daemon, with a guard: who decides (wire/guard.h); borrowed */
	enum sandbox_peek peek;
	bool bare; /* PEEK_LOOK: only what the layers hold, not what they lie over */
	/* PEEK_LOOK: `lower` of the older of two views. In a workspace: of a view that is shown to
	 * a tool of ours at /v/old.root, n = 0: none. */
	struct sandbox_layers before;
	/* For a tool of ours in a workspace: a directory of the store, at /v/state. */
	struct {
		const char *path; /* NULL: none; borrowed */
		int fd;		  /* borrowed */
		bool attached;
	} state;
	const void *tool; /* a program of ours, put to /run/tool; borrowed */
	size_t tool_len;
	const char *runtime; /* directory of what may be kept for a moment, or NULL; borrowed */
	/* level landlock: a private directory of the host that takes the place of the layer */
	const char *host_home;
};

/* Is what the command changes kept as a layer? */
static inline bool spec_in_workspace(const struct sandbox_spec *spec)
{
	return spec->layers.upper && !spec->peek;
}

/* How many descriptors of a caller's layers there are. */
static inline unsigned spec_given(const struct sandbox_spec *spec)
{
	if (!spec->deps.given)
		return 0;
	return spec->deps.n ? spec->deps.n : spec->layers.n;
}

static inline bool spec_has_deps(const struct sandbox_spec *spec)
{
	return spec->deps.n > 0 && !spec->peek;
}

static inline bool layers_have_image(const struct sandbox_layers *l)
{
	return l->n > 0 && (l->lower[l->n - 1].parts & LAYER_IMAGE); /* it lies lowest */
}

/* Does the command see an image instead of the host's /usr? The reader sees the host's, always. */
static inline bool spec_on_image(const struct sandbox_spec *spec)
{
	return !spec->peek && layers_have_image(&spec->layers);
}

/* Is there something of this part in the layers that are looked at? */
static inline bool spec_sees(const struct sandbox_spec *spec, uint32_t part)
{
	for (unsigned i = 0; i < spec->layers.n; i++)
		if (spec->layers.lower[i].parts & part)
			return true;
	for (unsigned i = 0; i < spec->before.n; i++)
		if (spec->before.lower[i].parts & part)
			return true;
	return false;
}

/* What a program takes for the name of its host. */
static inline const char *spec_hostname(const struct sandbox_spec *spec)
{
	return spec->pinned.on ? PINNED_HOST : spec->id;
}

/* Is the object of pinned/ there for its programs? Those of an image may have another libc. */
static inline bool spec_loads_pinned(const struct sandbox_spec *spec)
{
	return spec->pinned.on && spec->level == LEVEL_STRICT && !spec_on_image(spec) &&
	       !spec->peek && !spec->tool;
}

/* How many of its processes are ours: the guest and, at level landlock, its witness. */
static inline unsigned spec_guests(const struct sandbox_spec *spec)
{
	return spec->level == LEVEL_LANDLOCK ? 2 : 1;
}

#endif
