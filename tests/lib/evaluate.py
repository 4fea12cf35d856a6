#!/usr/bin/python3 -I
# SPDX-License-Identifier: Apache-2.0
"""evaluate.py: answers expressions over JSON documents until its input ends. A question is a count and as
many fields, each ended by NUL: a kind (`line`: the file is one line; `any`; `split`: write what the command
said into FILE.stdout and FILE.stderr), the file, where to write what goes wrong, the expression, and its
arguments. The answer is `0` or `1` and the value, each ended by NUL.
One process for a whole test: starting an interpreter takes longer than most of what is tested."""
import base64
import hashlib
import json
import re
import sys
import traceback


def raw(stream):
    text = stream["text"]
    if stream["encoding"] == "base64":
        return base64.b64decode(text)
    return text.encode("utf-8", "surrogatepass")


# What an expression may name: `d`, `a`, and of a run's document its output and files.
def names(d, a):
    known = {"d": d, "a": a, "base64": base64, "hashlib": hashlib, "json": json, "re": re}
    if not isinstance(d, dict):
        return known
    if isinstance(d.get("stdout"), dict):
        known["out"], known["err"] = raw(d["stdout"]), raw(d["stderr"])
    if isinstance(d.get("files"), list):
        known["files"] = {f["path"]: f for f in d["files"]}
    known["limit"] = d.get("limit") or {}
    return known


def split(path, d):
    for name in ("stdout", "stderr"):
        with open(path + "." + name, "wb") as f:
            f.write(raw(d.get(name) or {"text": "", "encoding": "utf-8"}))
    return True


def evaluate(kind, path, expression="", *a):
    with open(path, encoding="utf-8") as f:
        text = f.read()
    if kind == "line":
        assert text.count("\n") == 1 and text.endswith("\n"), "not one line"
    d = json.loads(text)
    v = split(path, d) if kind == "split" else eval("(" + expression + ")", names(d, list(a)))
    return v if isinstance(v, str) else json.dumps(v)


def fields(stream):
    field = bytearray()
    while byte := stream.read(1):
        if byte != b"\0":
            field += byte
            continue
        yield field.decode("utf-8", "surrogateescape")
        field.clear()


def main():
    asked = fields(sys.stdin.buffer)
    for count in asked:
        kind, path, log, *rest = [next(asked) for _ in range(int(count))]
        try:
            failed, value = "0", evaluate(kind, path, *rest)
        except Exception:
            failed, value = "1", ""
            with open(log, "a", encoding="utf-8", errors="surrogateescape") as f:
                f.write("%r\n%s" % (rest, traceback.format_exc()))
        answer = (failed + "\0" + value + "\0").encode("utf-8", "surrogateescape")
        sys.stdout.buffer.write(answer)
        sys.stdout.buffer.flush()


main()
