#!/usr/bin/python3 -I
# SPDX-License-Identifier: Apache-2.0
"""race.py swap A B STOP: exchanges two names again and again until the file STOP is there; says how often.
race.py naive FROM TO SECONDS: writes a tree as a program does that trusts paths: looks whether a directory
is one, then uses its path. For comparison with one that does not."""
import ctypes
import os
import sys
import time

RENAME_EXCHANGE = 2
AT_FDCWD = -100


def swap(a, b, stop):
    libc = ctypes.CDLL(None, use_errno=True)
    count = 0
    while count % 64 or not os.path.exists(stop):
        libc.renameat2(AT_FDCWD, os.fsencode(a), AT_FDCWD, os.fsencode(b), RENAME_EXCHANGE)
        count += 1
    print(count)


def naive(source, target, seconds):
    until = time.monotonic() + float(seconds)
    while time.monotonic() < until:
        for at, _, names in os.walk(source):
            to = os.path.join(target, os.path.relpath(at, source))
            try:
                if os.path.islink(to) or not os.path.isdir(to):
                    continue
                for name in names:
                    with open(os.path.join(to, name), "wb") as f:
                        f.write(b"x")
            except OSError:
                pass


if __name__ == "__main__":
    {"swap": swap, "naive": naive}[sys.argv[1]](*sys.argv[2:])
