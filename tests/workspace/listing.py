#!/usr/bin/python3 -I
# SPDX-License-Identifier: Apache-2.0
"""listing.py [DIR...]: everything about the trees that must not change by itself, a line for each
name, sorted; run inside of a workspace, and by model.py on its own directories. Hard links are told by
the first name of the same file. chain=DIR: how deep DIR is in itself, and what is at its bottom. TIMES, LINKS, OWNERS and BLOCKS set to 0 leave those out."""
import hashlib
import os
import stat
import sys

TIMES, LINKS, OWNERS, BLOCKS = (os.environ.get(name, "1") == "1"
                                for name in ("TIMES", "LINKS", "OWNERS", "BLOCKS"))
KINDS = {stat.S_IFREG: "file", stat.S_IFDIR: "dir", stat.S_IFLNK: "link", stat.S_IFIFO: "fifo",
         stat.S_IFSOCK: "socket", stat.S_IFCHR: "char", stat.S_IFBLK: "block"}


def attempt(what):
    try:
        return what()
    except OSError as e:
        return f"!{e.errno}"


def content(path):
    digest = hashlib.sha256()
    with open(path, "rb") as f:
        while block := f.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def attributes(path):
    names = sorted(os.listxattr(path, follow_symlinks=False))
    return ",".join(f"{n}={os.getxattr(path, n, follow_symlinks=False).hex()}" for n in names
                    if n.startswith("user."))


def line(path, st, first):
    kind = KINDS[stat.S_IFMT(st.st_mode)]
    row = [path.hex() if any(c < 33 or c > 126 for c in path) else path.decode(), kind,
           f"{stat.S_IMODE(st.st_mode):o}"]
    if OWNERS:
        row.append(f"{st.st_uid}:{st.st_gid}")
    if TIMES:
        row.append(f"{st.st_mtime_ns}")
    if kind == "file":
        row += [str(st.st_size), str(attempt(lambda: content(path)))]
        # Holes stay holes: a rough measure, for file systems round in their own way.
        row.append("" if not BLOCKS else "sparse" if st.st_blocks * 512 < st.st_size // 2 - 65536 else "full")
    if kind == "link":
        row.append(os.readlink(path).hex())
    if kind in ("file", "dir"):
        row.append(str(attempt(lambda: attributes(path))))
    if LINKS and kind != "dir" and st.st_nlink > 1:
        row.append("as " + first.setdefault((st.st_dev, st.st_ino), path).hex())
    return " ".join(row)


def walk(top):
    """All names below, without following anything."""
    found, todo = [], [top]
    while todo:
        path = todo.pop()
        found.append(path)
        if stat.S_ISDIR(os.lstat(path).st_mode):
            try:
                todo += [os.path.join(path, n) for n in os.listdir(path)]
            except PermissionError:
                pass
    return sorted(found)


def chain(name):
    """One step at a time: no path is that long."""
    home, n = os.open(".", os.O_RDONLY), 0
    while os.path.isdir(name):
        os.chdir(name)
        n += 1
    row = f"{name} chain {n} " + ",".join(f"{x}={content(x)}" for x in sorted(os.listdir(".")))
    os.fchdir(home)
    return row


def listing(tops):
    first = {}
    return [chain(top[6:]) for top in tops if top.startswith("chain=")] + [line(path, os.lstat(path), first) for top in tops
            if not top.startswith("chain=") for path in walk(os.fsencode(top))]


if __name__ == "__main__":
    print("\n".join(listing(sys.argv[1:] or ["."])))
