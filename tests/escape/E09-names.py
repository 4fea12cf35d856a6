# SPDX-License-Identifier: Apache-2.0
"""Makes odd, deep or many names below the current directory and prints `made`."""
import os
import sys

ODD = [b"new\nline", b"-rf", b"--", b"n" * 255, b"\xff\xfe\x80", b"back\\slash", b" ", b"\t",
       b"...", b"quote\"'", b"$(id)", b"\x1b[2Jclear", b"Case", b"case", "é".encode(),
       "é".encode(), "‮rtl".encode(), b"\x01\x7f", b"a%00b", b"{\"path\": 1}", b"\xed\xa0\x80"]


def odd():
    for name in ODD:
        with open(name, "wb") as f:
            f.write(name)


def deep(levels):
    """Nested directories whose whole path is far longer than any buffer."""
    here = os.open(".", os.O_RDONLY)
    os.mkdir("deep")
    os.chdir("deep")
    for _ in range(levels):
        os.mkdir("d" * 200)
        os.chdir("d" * 200)
    open("end", "w").close()
    os.fchdir(here)


def many(count):
    os.mkdir("many")
    for i in range(count):
        os.close(os.open(f"many/{i}", os.O_CREAT | os.O_WRONLY))


{"odd": odd, "deep": lambda: deep(3000), "many": lambda: many(50000)}[sys.argv[1]]()
print("made")
