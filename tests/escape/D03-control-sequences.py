# SPDX-License-Identifier: Apache-2.0
"""Bytes that terminals act on, and a check that none is left.

	emit            writes all of them to standard output and some to standard error, in pieces
	                that cut sequences and characters in two (runs inside)
	want            writes what `emit` writes to standard output, in one piece
	check           reads what a terminal got; prints a line `open NAME` for each thing that it
	                would act on, `shut NAME` for the others
"""
import re
import sys

SAMPLES = {
    "osc52-clipboard": b"\x1b]52;c;cHduZWQ=\x07",
    "osc-title": b"\x1b]0;title\x07\x1b]2;title\x1b\\",
    "osc8-link": b"\x1b]8;;http://203.0.113.1/\x1b\\link\x1b]8;;\x1b\\",
    "queries": b"\x1b[c\x1b[>c\x1b[6n\x1b[5n\x1b[21t\x1b[?1$p\x05",
    "dcs": b"\x1bP$q\"p\x1b\\\x1bP+q544e\x1b\\",
    "alternate-screen": b"\x1b[?1049h\x1b[2J\x1b[H",
    "colour": b"\x1b[31mred\x1b[0m",
    "charset": b"\x0e\x0f\x1b(0",
    "c1-eight-bit": b"\x9b31m\x9d0;title\x9c\x90q\x9c",
    "c1-utf8": "\u009b31m\u009d0;title\u009c".encode(),
    "bidi": "abc\u202e\u2066dcb\u2069\u202c\u200f\u061c".encode(),
    "separators": "a\u2028b\u2029c".encode(),
    "bom": "\ufeff".encode(),
    "tags": "\U000e0041\U000e0042\U000e007f".encode(),
    "overprint": b"all tests failed\rall tests passed",
    "backspace": b"bad\b\b\bgood\x7f",
    "bell-nul": b"\x07\x00",
    "invalid-utf8": b"\xff\xfe\xc0\xaf\xed\xa0\x80\xf4\x90\x80\x80\xe2\x82",
    "lone-escape": b"\x1b",
}
# What must not be in what a terminal gets. A carriage return may stand before a newline.
ACTED_ON = {
    "escape": rb"\x1b",
    "c0": rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]",
    "return": rb"\r(?!\n)",
    "c1": rb"(?<![\xc2-\xf4])(?<![\xe0-\xf4][\x80-\xbf])(?<![\xf0-\xf4][\x80-\xbf]{2})[\x80-\x9f]"
          rb"|\xc2[\x80-\x9f]",
    "bidi": "[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]".encode(),
    "bom": "\ufeff".encode(),
    "tags": rb"\xf3\xa0[\x80\x81][\x80-\xbf]",
}


def text():
    lines = [b"plain text, \xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\ttab\n"]
    lines += [b"<" + data + b">\r\n" for data in SAMPLES.values()]
    return b"".join(lines) + SAMPLES["lone-escape"]


def emit():
    data, out, err = text(), sys.stdout.buffer, sys.stderr.buffer
    for start in range(0, len(data), 3):
        out.write(data[start:start + 3])
        out.flush()
    err.write(SAMPLES["osc-title"] + SAMPLES["c1-eight-bit"] + b"\n")


def check():
    data = sys.stdin.buffer.read()
    try:
        data.decode("utf-8")
        print("shut invalid-utf8")
    except UnicodeDecodeError as error:
        print("open invalid-utf8", error.start)
    for name, pattern in ACTED_ON.items():
        if name == "bidi":
            found = re.search(pattern.decode(), data.decode("utf-8", "replace"))
        else:
            found = re.search(pattern, data)
        print("open" if found else "shut", name, repr(found[0]) if found else "")
    for word in (text().split(b"\n")[0], b"all tests failed", b"cHduZWQ="):
        print("shown" if word in data else "lost", word.decode("utf-8"))


def want():
    sys.stdout.buffer.write(text())


{"emit": emit, "want": want, "check": check}[sys.argv[1]]()
