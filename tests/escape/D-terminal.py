# SPDX-License-Identifier: Apache-2.0
"""D-terminal.py REPORT COMMAND...: runs a command on a new terminal of its own.

The terminal is the command's controlling one and its three standard descriptors, in raw mode, so
that what comes out is exactly what was written. All of that goes to our standard output. REPORT
gets a line `typed N`: how many bytes are waiting to be read as if somebody had typed them.
"""
import array
import fcntl
import os
import pty
import sys
import termios
import tty


def child(slave):
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    for fd in range(3):
        os.dup2(slave, fd)
    if slave > 2:
        os.close(slave)
    os.execv(sys.argv[2], sys.argv[2:])


def copy(master):
    """Until the last one has closed the terminal: then reading fails with EIO."""
    while True:
        try:
            data = os.read(master, 65536)
        except OSError:
            return
        while data:
            data = data[os.write(1, data):]


def main():
    master, slave = pty.openpty()
    tty.setraw(slave)
    keep = os.dup(slave)
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(master)
        os.close(keep)
        child(slave)
    os.close(slave)
    if os.fork() == 0:
        os.close(writer)
        os.close(keep)
        copy(master)
        os._exit(0)
    os.close(writer)
    os.close(reader)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    count = array.array("i", [0])
    fcntl.ioctl(keep, termios.FIONREAD, count)
    with open(sys.argv[1], "a") as report:
        report.write(f"typed {count[0]}\n")
    os.close(keep)
    os.wait()
    sys.exit(status if status >= 0 else 128 - status)


main()
