#!/usr/bin/python3 -I
# SPDX-License-Identifier: Apache-2.0
"""make-tree.py [root] [much]: in a workspace, makes one of everything that must survive, in ./tree;
with `much` a directory of many in ./many, and a deep one in ./deep."""
import os
import socket
import sys

DEEP, MANY = 3000, 10000
NAMES = [b"new\nline", b"\xff\xfe bad", b"x" * 255, b"-rf", b" ", b"\\", b"a:b,c=d", b"\x01\x7f",
         "é".encode(), b"e\xcc\x81", b"Case", b"case", b"*", b"'\"`$(id)", b"..."]


def write(path, data=b"content\n"):
    with open(path, "wb") as f:
        f.write(data)


def files():
    for i, name in enumerate(NAMES):
        write(name, b"%d\n" % i)
    for mode in (0o000, 0o400, 0o644, 0o711, 0o777):
        write(f"mode{mode:o}")
        os.chmod(f"mode{mode:o}", mode)
    write("one")
    os.link("one", "two")
    os.mkdir("linked")
    os.link("one", "linked/three")
    with open("sparse", "wb") as f:
        f.truncate(64 << 20)
        f.seek(32 << 20)
        f.write(b"island")
    write("empty", b"")
    write("large", os.urandom(1 << 20) * 3)


def others():
    os.symlink("one", "to-one")
    os.symlink("/nowhere/at/all", "dangling")
    os.symlink(b"\xff" * 200, "bad-target")
    os.symlink("loop", "loop")
    os.mkfifo("fifo", 0o640)
    with socket.socket(socket.AF_UNIX) as s:
        s.bind("socket")
    for mode in (0o000, 0o500, 0o700, 0o1777):
        os.mkdir(f"dir{mode:o}")
        write(f"dir{mode:o}/inner")
        os.chmod(f"dir{mode:o}", mode)
    for name in ("one", "linked"):
        os.setxattr(name, "user.note", b"\x00\xffbytes")
        os.setxattr(name, "user.empty", b"")
    os.makedirs("nested/a/b/c")
    write("nested/a/b/c/leaf")


def owners():
    for i, (uid, gid) in enumerate(((0, 0), (33, 44), (1000, 0), (65534, 65534), (0, 1000))):
        write(f"owned{i}")
        os.chown(f"owned{i}", uid, gid)
        os.mkdir(f"owned-dir{i}")
        os.chown(f"owned-dir{i}", uid, gid)
    os.symlink("x", "owned-link")
    os.chown("owned-link", 12, 34, follow_symlinks=False)


def times():
    """Odd instants on everything, directories last."""
    for at, dirs, names in os.walk(b".", topdown=False):
        for i, name in enumerate(sorted(names + dirs)):
            path = os.path.join(at, name)
            if not os.path.islink(path) or i % 2:
                os.utime(path, ns=(10 ** 9, 1234567890123456789 + i * 1000003), follow_symlinks=False)


def much():
    os.mkdir("many")
    for i in range(MANY):
        write(f"many/{i:05d}", b"%d" % i)
    for i in range(DEEP):
        os.mkdir("deep")
        os.chdir("deep")
    write("bottom", b"reached\n")


os.mkdir("tree")
os.chdir("tree")
files()
others()
if "root" in sys.argv:
    owners()
times()
os.chdir("..")
if "much" in sys.argv:
    much()
