#!/usr/bin/python3 -I
# SPDX-License-Identifier: Apache-2.0
"""hasty.py SEED PROGRAM [ARG...]: runs pinfold, and kills what settles behind it, a random moment after it has
begun. Says `killed` on standard error if it came in time; exits as pinfold does."""
import ctypes
import os
import random
import select
import signal
import sys
import time

PR_SET_CHILD_SUBREAPER = 36
MOMENTS = (-4, -0.8)  # powers of ten, in seconds: how long it takes depends on the disk


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as f:
            return [int(word) for word in f.read().split()]
    except OSError:
        return []


def settles(pid, program):
    """A fork of pinfold in a session of its own; a guest is another program."""
    try:
        with open(f"/proc/{pid}/stat") as f:
            fields = f.read().rpartition(")")[2].split()
        return fields[0] != "Z" and int(fields[3]) == pid and os.readlink(f"/proc/{pid}/exe") == program
    except OSError:
        return False


def end(pid, program):
    """It may have finished since it was found, and pinfold, not we, may have reaped it."""
    try:
        held = os.pidfd_open(pid)
    except ProcessLookupError:
        return False
    try:
        if not settles(pid, program):
            return False
        signal.pidfd_send_signal(held, signal.SIGKILL)
        return True
    except ProcessLookupError:
        return False
    finally:
        os.close(held)


def main(seed, *argv):
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    delay = 10 ** random.Random(int(seed)).uniform(*MOMENTS)
    program = os.path.realpath(argv[0])
    pid, status, found = os.posix_spawn(argv[0], argv, os.environ), None, None
    until = time.monotonic() + 20
    while found is None and time.monotonic() < until:
        found = next((p for p in children(pid) + children(os.getpid()) if p != pid and settles(p, program)), None)
        if status is None:
            done, status = os.waitpid(pid, os.WNOHANG)
            status = status if done else None
        elif found is None and not children(os.getpid()):
            break
        if found is None:
            select.select([], [], [], 0.0002)  # others need the processor
    if found is not None:
        select.select([], [], [], delay)
        if end(found, program):
            print("killed", file=sys.stderr)
    if status is None:
        status = os.waitpid(pid, 0)[1]
    while children(os.getpid()):
        os.waitpid(-1, 0)
    return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
