/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every protection by name. `make DROP=name` builds a pinfold without that one, so that the tests
 * that attack it can be seen to fail (make check-red). Release builds drop nothing; there is no
 * way to drop one at run time.
 *
 * Asked for directly, where it is done: close-fds, notify, nosuid, nodev, private, pivot, session,
 * lifeline, magiclinks, dir-once, scope, kill-all, end-first, files-nofollow, files-type, files-bound,
 * run-asks, guest-files, landlock-quiet (guest/), fork-rights, fork-landlock, fork-fds (forked.c), env,
 * pidfd (spawn.c), journal (journal.c), stdio (engine/start.c), procfs (idmap.c), socket-memory
 * (cgroup_v1.c), zygote-pids (zygote.c), escape, signals, option-end (cmd/), json-escape (json.c), static (Makefile); of
 * sandboxes that live: live-type (engine/ and guest/), live-magiclinks (guest/). Those of the way out:
 * egress/hold.h; of callers, archives, packages and the record: base/hold.h.
 */
#ifndef SANDBOX_HOLD_H
#define SANDBOX_HOLD_H

/* Without no-new-privs the kernel loads neither a filter nor Landlock for who has no right to
 * administer: without it, all three are gone. */
#if defined(DROP_SECCOMP) || defined(DROP_NNP)
#define HOLD_SECCOMP 0
#else
#define HOLD_SECCOMP 1
#endif
#if defined(DROP_LANDLOCK) || defined(DROP_NNP)
#define HOLD_LANDLOCK 0
#else
#define HOLD_LANDLOCK 1
#endif
/* programs and deletions wait for a policy's word */
#ifdef DROP_COMMANDS
#define HOLD_COMMANDS 0
#else
#define HOLD_COMMANDS 1
#endif
/* a network namespace is used again only if nothing was left in it */
#ifdef DROP_NETNS_NEW
#define HOLD_NETNS_NEW 0
#else
#define HOLD_NETNS_NEW 1
#endif
/* nor if its user could have got a descriptor of it out */
#ifdef DROP_NETNS_UNSEEN
#define HOLD_NETNS_UNSEEN 0
#else
#define HOLD_NETNS_UNSEEN 1
#endif
/* who renames a directory and has fewer rights than a command gets no help */
#ifdef DROP_MOVE_RIGHTS
#define HOLD_MOVE_RIGHTS 0
#else
#define HOLD_MOVE_RIGHTS 1
#endif
#ifdef DROP_MOVE_DOMAIN
#define HOLD_MOVE_DOMAIN 0
#else
#define HOLD_MOVE_DOMAIN 1
#endif
/* in an overload who asked last is served first */
#ifdef DROP_QUEUE_YOUNG
#define HOLD_QUEUE_YOUNG 0
#else
#define HOLD_QUEUE_YOUNG 1
#endif
#ifdef DROP_CAPS
#define HOLD_CAPS 0
#else
#define HOLD_CAPS 1
#endif
#ifdef DROP_SECRETS
#define HOLD_SECRETS 0
#else
#define HOLD_SECRETS 1
#endif
#ifdef DROP_MASKS
#define HOLD_MASKS 0
#else
#define HOLD_MASKS 1
#endif
#ifdef DROP_PROC_RO
#define HOLD_PROC_RO 0
#else
#define HOLD_PROC_RO 1
#endif
#ifdef DROP_NNP
#define HOLD_NNP 0
#else
#define HOLD_NNP 1
#endif
#ifdef DROP_DUMPABLE
#define HOLD_DUMPABLE 0
#else
#define HOLD_DUMPABLE 1
#endif
#ifdef DROP_PIDNS
#define HOLD_PIDNS 0
#else
#define HOLD_PIDNS 1
#endif
#ifdef DROP_NETNS
#define HOLD_NETNS 0
#else
#define HOLD_NETNS 1
#endif
#ifdef DROP_LEASH
#define HOLD_LEASH 0
#else
#define HOLD_LEASH 1
#endif
#ifdef DROP_IPCNS
#define HOLD_IPCNS 0
#else
#define HOLD_IPCNS 1
#endif
#ifdef DROP_UTSNS
#define HOLD_UTSNS 0
#else
#define HOLD_UTSNS 1
#endif
#ifdef DROP_CGROUPNS
#define HOLD_CGROUPNS 0
#else
#define HOLD_CGROUPNS 1
#endif
#ifdef DROP_TIMENS
#define HOLD_TIMENS 0
#else
#define HOLD_TIMENS 1
#endif
#ifdef DROP_CGROUP
#define HOLD_CGROUP 0
#else
#define HOLD_CGROUP 1
#endif
#ifdef DROP_IDS
#define HOLD_IDS 0
#else
#define HOLD_IDS 1
#endif
#ifdef DROP_KEYRING
#define HOLD_KEYRING 0
#else
#define HOLD_KEYRING 1
#endif
#ifdef DROP_RLIMITS
#define HOLD_RLIMITS 0
#else
#define HOLD_RLIMITS 1
#endif
#ifdef DROP_DISK
#define HOLD_DISK 0
#else
#define HOLD_DISK 1
#endif
#ifdef DROP_USR_OVERLAY
#define HOLD_USR_OVERLAY 0
#else
#define HOLD_USR_OVERLAY 1
#endif
#ifdef DROP_SEAL
#define HOLD_SEAL 0
#else
#define HOLD_SEAL 1
#endif
#ifdef DROP_TIME
#define HOLD_TIME 0
#else
#define HOLD_TIME 1
#endif
#ifdef DROP_OUTPUT
#define HOLD_OUTPUT 0
#else
#define HOLD_OUTPUT 1
#endif
#ifdef DROP_SYS
#define HOLD_SYS 0
#else
#define HOLD_SYS 1
#endif
#ifdef DROP_DEVPTS
#define HOLD_DEVPTS 0
#else
#define HOLD_DEVPTS 1
#endif
#ifdef DROP_DIR_OVERLAY
#define HOLD_DIR_OVERLAY 0
#else
#define HOLD_DIR_OVERLAY 1
#endif
#ifdef DROP_ETC_LIST
#define HOLD_ETC_LIST 0
#else
#define HOLD_ETC_LIST 1
#endif
#ifdef DROP_ETC_MODE
#define HOLD_ETC_MODE 0
#else
#define HOLD_ETC_MODE 1
#endif
/* what is for the caller's groups alone is not for his sandbox */
#ifdef DROP_GROUPS
#define HOLD_GROUPS 0
#else
#define HOLD_GROUPS 1
#endif
#ifdef DROP_CALLER_ENV
#define HOLD_CALLER_ENV 0
#else
#define HOLD_CALLER_ENV 1
#endif
#ifdef DROP_FILES_BOUND
#define HOLD_FILES_BOUND 0
#else
#define HOLD_FILES_BOUND 1
#endif
#ifdef DROP_GIVE_UP
#define HOLD_GIVE_UP 0
#else
#define HOLD_GIVE_UP 1
#endif
#ifdef DROP_ALERTS
#define HOLD_ALERTS 0
#else
#define HOLD_ALERTS 1
#endif
#ifdef DROP_LOOK_RIGHTS
#define HOLD_LOOK_RIGHTS 0
#else
#define HOLD_LOOK_RIGHTS 1
#endif
#ifdef DROP_CLOCK
#define HOLD_CLOCK 0
#else
#define HOLD_CLOCK 1
#endif

#endif
