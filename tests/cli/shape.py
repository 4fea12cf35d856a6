#!/usr/bin/python3 -I
# SPDX-License-Identifier: Apache-2.0
"""shape.py FILE: checks that a file holds one result document of a run, with every field of the
contract, each of its type. Prints what is wrong, a line each; ends with 1 when something is."""
import base64
import hashlib
import json
import re
import sys

OPT = type(None)
ID = "[a-z2-7]{26}"
STREAM = {"text": str, "encoding": "utf-8|base64", "bytes": int, "truncated": bool,
          "omitted_bytes": int, "artifact": (str, OPT)}
LIMIT_ROW = {"value": (int, float), "held_by": "cgroup|rlimit|tmpfs|quota|timer|polled|absent"}
SHAPE = {
    "id": "run" + ID, "sandbox": "sbx" + ID, "workspace": (str, OPT), "isolation": "strict|landlock",
    "status": "exited|signaled|timeout|oom|killed|failed",
    "exit_code": (int, OPT), "signal": (int, OPT), "stdout": STREAM, "stderr": STREAM,
    "usage": {"wall_ms": (int, float), "cpu_ms": (int, float), "memory_peak_bytes": int,
              "processes_peak": int, "disk_bytes": int},
    "limits": dict, "limit": (dict, OPT), "denials": list, "files": list, "network": list,
    "error": (dict, OPT), "receipt": (dict, OPT),
}
LIMIT = {"kind": "memory|time|cpu_time|pids|disk|output", "value": int, "unit": str, "hint": ".+"}
DENIAL = {"kind": "network|syscall|path|approval", "what": ".+", "count": int, "hint": ".+"}
FILE = {"path": "/.*", "change": "added|modified|deleted",
        "type": "file|directory|symlink|fifo|socket|other", "size": int, "sha256": (str, OPT)}
NETWORK = {"host": ".+", "port": int, "verdict": "allowed|denied|pending", "rule": (str, OPT),
           "bytes_in": int, "bytes_out": int}
ERROR = {"code": r"(invalid_argument|not_found|conflict|busy|denied|limit_exceeded|timeout|"
                 r"unsupported|unauthenticated|internal)(\.[a-z_]+)?", "message": ".+",
         "remedy": (str, OPT)}
LIMITS = ("time", "cpus", "memory", "pids", "disk", "nofile")
wrong = []


def is_a(value, kinds):
    """A bool is an int to Python, and to nobody else."""
    kinds = kinds if isinstance(kinds, tuple) else (kinds,)
    return bool in kinds if isinstance(value, bool) else isinstance(value, kinds)


def match(where, value, want):
    if isinstance(want, dict):
        if not isinstance(value, dict):
            wrong.append(f"{where} is no object: {value!r}")
            return
        for key, inner in want.items():
            if key in value:
                match(f"{where}.{key}", value[key], inner)
            else:
                wrong.append(f"{where}.{key} is missing")
    elif isinstance(want, str):
        if not isinstance(value, str) or not re.fullmatch(want, value, re.S):
            wrong.append(f"{where} is {value!r}, not {want}")
    elif not is_a(value, want):
        wrong.append(f"{where} is {value!r}, of the wrong type")


def ensure(fact, text):
    if not fact:
        wrong.append(text)


def check_stream(name, s):
    raw = base64.b64decode(s["text"], validate=True) if s["encoding"] == "base64" \
        else s["text"].encode("utf-8")
    ensure(s["bytes"] == len(raw) + s["omitted_bytes"], f"{name}: bytes is not text plus omitted")
    ensure(s["truncated"] == (s["omitted_bytes"] > 0), f"{name}: truncated is not omitted > 0")
    ensure(s["artifact"] is None or s["truncated"], f"{name}: an artifact without truncation")


def check_outcome(d):
    how = (d["exit_code"], d["signal"])
    if d["status"] == "exited":
        ensure(how[0] is not None and how[1] is None, "exited without an exit_code")
    if d["status"] == "signaled":
        ensure(how[0] is None and how[1], "signaled without a signal")
    ensure((d["status"] == "failed") == (d["error"] is not None), "failed is not error")
    kinds = {"timeout": ("time",), "oom": ("memory",)}.get(d["status"])
    ensure(not kinds or (d["limit"] or {}).get("kind") in kinds, f"{d['status']} without a limit")


def check_rows(d):
    for key in LIMITS if d["limits"] or d["status"] != "failed" else ():
        match(f"limits.{key}", d["limits"].get(key), LIMIT_ROW)
    for name, shape in (("denials", DENIAL), ("files", FILE), ("network", NETWORK)):
        for i, row in enumerate(d[name]):
            match(f"{name}[{i}]", row, shape)
    for f in d["files"]:
        if f["sha256"] is not None:
            ensure(re.fullmatch("[0-9a-f]{64}", f["sha256"]), f"{f['path']}: no sha256")
            ensure(f["size"] or f["sha256"] == hashlib.sha256().hexdigest(), "sha256 of nothing")
    for name, shape in (("limit", LIMIT), ("error", ERROR)):
        if d[name] is not None:
            match(name, d[name], shape)
    ensure(len(d["files"]) <= 1000, "more than 1,000 files")


def main():
    text = open(sys.argv[1], "rb").read()
    ensure(text.endswith(b"\n") and text.count(b"\n") == 1, "the document is not one line")
    d = json.loads(text.decode("utf-8", "strict"))
    shape = dict(SHAPE)
    if d.get("status") == "failed":
        # A run that could not start may have no id, no sandbox and no level.
        shape["id"] = shape["sandbox"] = shape["isolation"] = (str, OPT)
    if d.get("workspace") is not None:
        shape["snapshot"] = (int, OPT)
    match("document", d, shape)
    if not wrong:
        check_stream("stdout", d["stdout"])
        check_stream("stderr", d["stderr"])
        check_outcome(d)
        check_rows(d)
    print("\n".join(wrong), end="")
    return 1 if wrong else 0


sys.exit(main())
