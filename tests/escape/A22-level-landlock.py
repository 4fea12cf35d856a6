# SPDX-License-Identifier: Apache-2.0
"""A22-level-landlock.py FILE DIRECTORY PORT NAME SOCKET PID...: what level landlock must keep shut.

FILE can be read and DIRECTORY be written by the launching user; PORT, NAME (abstract) and SOCKET (a
path) are listened on, PIDs are processes of the same user. One line per door, as in lib/attack.h.
"""
import ctypes
import os
import signal
import socket
import sys

FILE, DIRECTORY, PORT, NAME, SOCKET = sys.argv[1:6]
PIDS = [int(word) for word in sys.argv[6:]]
libc = ctypes.CDLL(None, use_errno=True)


def door(name, act):
    try:
        print("open", name, act())
    except OSError as error:
        print("shut", name, error.strerror)


def call(function, *args):
    result = function(*args)
    if result in (-1, 2**64 - 1):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def read(path):
    with open(path, "rb") as file:
        return file.read(100)


def write(path):
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
    os.unlink(path)


def connect(family, kind, address):
    with socket.socket(family, kind) as s:
        s.connect(address)
        s.send(b"x")


def files():
    door("read", lambda: read(FILE))
    door("read-shadow", lambda: read("/etc/shadow"))
    door("read-proc", lambda: read(f"/proc/{PIDS[0]}/environ"))
    door("read-mem", lambda: read(f"/proc/{PIDS[0]}/mem"))
    door("list", lambda: os.listdir(DIRECTORY))
    door("list-root", lambda: os.listdir("/"))
    door("list-proc", lambda: os.listdir("/proc"))
    door("create", lambda: write(DIRECTORY + "/new"))
    door("create-tmp", lambda: write(f"/tmp/A22-{os.getpid()}"))
    door("create-shm", lambda: write(f"/dev/shm/A22-{os.getpid()}"))
    door("append", lambda: os.close(os.open(FILE, os.O_WRONLY | os.O_APPEND)))
    door("truncate", lambda: os.truncate(FILE, os.stat(FILE).st_size))
    door("link", lambda: os.link(FILE, "link"))
    door("rename", lambda: os.rename(DIRECTORY + "/kept", DIRECTORY + "/moved"))
    door("remove", lambda: os.unlink(DIRECTORY + "/kept"))
    door("execute", lambda: os.posix_spawn(DIRECTORY + "/program", ["program"], {}))


def sockets():
    door("tcp", lambda: connect(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", int(PORT))))
    door("udp", lambda: connect(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", int(PORT))))
    door("abstract", lambda: connect(socket.AF_UNIX, socket.SOCK_STREAM, "\0" + NAME))
    door("path", lambda: connect(socket.AF_UNIX, socket.SOCK_STREAM, SOCKET))


def segment():
    number = call(libc.shmget, 0, 4096, 0o1600)
    call(libc.shmctl, number, 0, None)  # IPC_RMID


def processes():
    for pid in PIDS:
        door("signal", lambda: os.kill(pid, 0))
        door("pidfd", lambda: signal.pidfd_send_signal(os.pidfd_open(pid), 0))
        door("trace", lambda: call(libc.ptrace, 0x4206, pid, 0, 0))  # PTRACE_SEIZE
        door("limits", lambda: call(libc.prlimit, pid, 7, ctypes.byref((ctypes.c_ulong * 2)(
            1 << 20, 1 << 20)), None))
    door("segment", segment)
    door("namespace", lambda: call(libc.unshare, 0x10000000))


files()
sockets()
processes()
with open("own", "w") as own:
    own.write("works own\n")
print(open("own").read(), end="")
