#!/usr/bin/python3 -I
# SPDX-License-Identifier: Apache-2.0
"""terminal.py STEP... -- COMMAND [ARG...]: runs a command on a terminal of 40 rows and 100 columns.

Steps, in order: `send:TEXT` types (backslash escapes are understood), `expect:REGEX` waits until
the output behind the last match matches, `resize:ROWSxCOLS`. Then the output is read to its end.
Prints all output; ends like the command, or with 99 after 200 seconds.
"""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time

DEADLINE = time.monotonic() + 200 # less than a call may take


def resize(fd, rows, cols):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))


def read(fd):
    """More output; b"" at its end."""
    left = DEADLINE - time.monotonic()
    if left <= 0 or not select.select([fd], [], [], left)[0]:
        raise TimeoutError("no end of the output, or not what was expected")
    try:
        return os.read(fd, 65536)
    except OSError:
        return b""


def expect(fd, seen, at, pattern):
    while True:
        match = re.compile(pattern.encode(), re.S).search(seen, at)
        if match:
            return match.end()
        data = read(fd)
        if not data:
            raise EOFError(f"the output ended before {pattern}")
        seen += data


def play(fd, steps, seen):
    at = 0
    for step in steps:
        word, _, text = step.partition(":")
        if word == "send":
            os.write(fd, text.encode().decode("unicode_escape").encode("latin-1"))
        elif word == "expect":
            at = expect(fd, seen, at, text)
        elif word == "resize":
            resize(fd, *map(int, text.split("x")))
        else:
            raise ValueError(f"no such step: {step}")
    while data := read(fd):
        seen += data


def main():
    end = sys.argv.index("--")
    ready, go = os.pipe()
    pid, fd = pty.fork()
    if pid == 0:
        os.read(ready, 1)
        for signo in (signal.SIGINT, signal.SIGQUIT, signal.SIGPIPE):
            signal.signal(signo, signal.SIG_DFL)
        os.execvp(sys.argv[end + 1], sys.argv[end + 1:])
    resize(fd, 40, 100)
    os.write(go, b".")
    seen, status = bytearray(), 0
    try:
        play(fd, sys.argv[1:end], seen)
    except (EOFError, TimeoutError) as e:
        print(f"terminal.py: {e}", file=sys.stderr)
        status = 99
    os.close(fd)
    sys.stdout.buffer.write(seen)
    if status and time.monotonic() >= DEADLINE:
        os.kill(pid, signal.SIGTERM)
    got = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return status or (got if got >= 0 else 128 - got)


sys.exit(main())
