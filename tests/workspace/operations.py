#!/usr/bin/python3 -I
# SPDX-License-Identifier: Apache-2.0
"""operations.py JSON: does small things to the files below the working directory. Run inside of a
workspace, and by model.py on its own directories; what cannot be done is left undone, in both."""
import json
import os
import shutil
import sys


def write(path, text):
    with open(path, "w") as f:
        f.write(text)


def append(path, text):
    with open(path, "a") as f:
        f.write(text)


def remove(path):
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    else:
        os.unlink(path)


def anew(path):
    """The directory that overlayfs calls opaque."""
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
        os.mkdir(path)


def chmod(path, mode):
    if not os.path.islink(path):
        os.chmod(path, mode | (0o700 if os.path.isdir(path) else 0o600))


def attribute(path, text):
    if not os.path.islink(path):
        os.setxattr(path, "user.test", text.encode())


DO = {"write": write, "append": append, "mkdir": os.mkdir, "remove": remove, "anew": anew, "move": os.rename,
      "symlink": lambda path, to: os.symlink(to, path), "chmod": chmod,
      "link": lambda path, to: os.link(path, to, follow_symlinks=False),
      "truncate": os.truncate, "attribute": attribute}


def apply(operations):
    for name, *args in operations:
        try:
            DO[name](*args)
        except (OSError, shutil.Error):
            pass


if __name__ == "__main__":
    os.umask(0o022)
    apply(json.loads(sys.argv[1]))
