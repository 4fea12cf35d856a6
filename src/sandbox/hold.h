/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every protection by name. `make DROP=name` builds a pinfold without that one, so that the tests
 * that attack it can be seen to fail (make check-red). Release builds drop nothing; there is no
 * way to drop one at run time.
 *
 * The guest and the CLI ask for their own directly: close-fds, notify, nosuid, nodev, session,
 * lifeline, magiclinks, files-nofollow, env (spawn.c), escape (cmd/).
 */
#ifndef SANDBOX_HOLD_H
#define SANDBOX_HOLD_H

#ifdef DROP_SECCOMP
#define HOLD_SECCOMP 0
#else
#define HOLD_SECCOMP 1
#endif
#ifdef DROP_LANDLOCK
#define HOLD_LANDLOCK 0
#else
#define HOLD_LANDLOCK 1
#endif
#ifdef DROP_CAPS
#define HOLD_CAPS 0
#else
#define HOLD_CAPS 1
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
#ifdef DROP_PIVOT
#define HOLD_PIVOT 0
#else
#define HOLD_PIVOT 1
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

#endif
