#!/usr/bin/python3 -I
# SPDX-License-Identifier: Apache-2.0
"""worker.py NAME STOP CALL...: runs whose right result is known, one after the other until STOP is there; a line each.

A run whose daemon died fails with 125 and says so; anything else is wrong. Not in the shell, which once
said 0 of one that could not have ended so.
"""
import os
import re
import subprocess
import sys

LOST = re.compile(rb"^pinfold: [a-z_.]+: (--daemon: |the daemon|ask the)", re.M)


def one(call, word):
    done = subprocess.run([*call, "sh", "-c", f"echo {word}; exit 3"], capture_output=True)
    if (done.returncode, done.stdout) == (3, f"{word}\n".encode()):
        return "right"
    if done.returncode == 125 and LOST.search(done.stderr):
        return "lost"
    if done.returncode == 137 or b"the guest ended" in done.stderr:
        return "killed"  # its guest was
    return f"wrong: status {done.returncode}, output {done.stdout!r}, {done.stderr!r}"


def main(name, stop, *call):
    count = 0
    while not os.path.exists(stop):
        count += 1
        print(one(call, f"{name}.{count}"), flush=True)


main(*sys.argv[1:])
