# SPDX-License-Identifier: Apache-2.0
"""Runs: what is asked for, what comes back, how wrong requests are refused."""
import base64
import json
import os
import shutil
import socket
import tempfile
import threading
import time

from api import (BEST, MIB, SOCKET, Api, check, memory, raw, refused, run_tests, same, test,
                 wait_until)

api = Api()


def out(run, stream="stdout"):
    s = run[stream]
    return base64.b64decode(s["text"]) if s["encoding"] == "base64" else s["text"].encode()


def processes(mark):
    """Of the host, with this word in their command line."""
    found = []
    for pid in os.listdir("/proc"):
        try:
            with open("/proc/%s/cmdline" % pid, "rb") as f:
                if mark.encode() in f.read() and int(pid) != os.getpid():
                    found.append(pid)
        except (OSError, ValueError):
            pass
    return found


@test
def commands():
    r = api.run(command="echo $((6*7)) | tr 4 X; echo $BASH_VERSION | head -c1 >&2")
    same("a line is for bash", (r.status, out(r.json)), (200, b"X2\n"))
    same("standard error is apart", out(r.json, "stderr"), b"5")
    r = api.run(command=["printf", "%s|", "a b", "$HOME", "*"])
    same("words are a program and its arguments", out(r.json), b"a b|$HOME|*|")
    r = api.run(lang="python", code="import sys; print(sys.argv[1:], 6*7)", args=["x", "y z"])
    same("lang and code, with arguments", out(r.json), b"['x', 'y z'] 42\n")
    r = api.run(lang="bash", code="echo $1", args=["q"])
    same("also bash", out(r.json), b"q\n")
    r = api.run(command="cat; echo -n .", stdin="h\u00e9llo\n\0")
    same("standard input, with a NUL in it", out(r.json), "h\u00e9llo\n\0.".encode())
    r = api.run(command="cat | wc -c", stdin="x" * (3 << 20))
    same("three million bytes of it", out(r.json), b"3145728\n")
    r = api.run(command="cat; echo end")
    same("none: it is empty", out(r.json), b"end\n")
    r = api.run(command="echo $A-$B; pwd", env={"A": "1", "B": "two words"}, workdir="/tmp")
    same("env and workdir", out(r.json), b"1-two words\n/tmp\n")
    r = api.run(command="date +%s; echo $PYTHONHASHSEED", deterministic=True)
    same("a deterministic run", out(r.json), b"1767225600\n0\n")
    r = api.run(command=["no-such-program"])
    same("a program that is not there", (r.status, r.json["exit_code"]), (200, 127))
    # Its answer comes before the sandbox has come apart: the accounts have to be there by then.
    used = api.run(command="i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done").json["usage"]
    check("what it used", 20 < used["cpu_ms"] < 20000 and used["memory_peak_bytes"] > 100000 and
          used["wall_ms"] > 20, used)
    r = api.run(command="kill -9 $$")
    same("a signal", (r.json["status"], r.json["exit_code"]), ("signaled", None))


@test
def limits():
    r = api.run(command="true", memory="64M", time="5s", cpus=0.5, pids=20, disk="32M").json
    same("sizes with units", (r["limits"]["memory"]["value"], r["limits"]["disk"]["value"]),
         (64 << 20, 32 << 20))
    r = api.run(command="true", memory=100 << 20, time=4000, disk=48 << 20, pids=33).json
    same("as numbers", (r["limits"]["memory"]["value"], r["limits"]["disk"]["value"],
                        r["limits"]["pids"]["value"]), (100 << 20, 48 << 20, 33))
    began = time.monotonic()
    r = api.run(command="echo before; sleep 60", time="500ms", grace=100).json
    same("time", (r["status"], r["exit_code"], r["limit"]["kind"], out(r)),
         ("timeout", None, "time", b"before\n"))
    check("is kept", time.monotonic() - began < 8, time.monotonic() - began)
    if not BEST:
        r = api.run(command=["python3", "-c", "x = b'x' * (300 << 20)"], memory="64M").json
        same("memory", (r["status"], r["exit_code"], r["limit"]["kind"]), ("oom", None, "memory"))
    r = api.run(command="head -c 40000000 /dev/zero > f", disk="16M").json
    same("disk", r["limit"] and r["limit"]["kind"], "disk")


@test
def output():
    r = api.run(command=["python3", "-c", "import sys; sys.stdout.buffer.write(bytes(range(256)))"])
    same("bytes that are not UTF-8 are base64",
         (r.json["stdout"]["encoding"], out(r.json)), ("base64", bytes(range(256))))
    got = api.get("/v1/runs/%s/stdout" % r.json["id"])
    same("and are there as they are", got.body, bytes(range(256)))
    same("as bytes", got.headers["content-type"], "application/octet-stream")
    same("that no browser guesses at", got.headers["x-content-type-options"], "nosniff")
    r = api.run(command="seq 1 1000000", output="64K").json
    s = r["stdout"]
    whole = "".join("%d\n" % i for i in range(1, 1000001)).encode()
    check("long output is cut: its beginning and its end", s["truncated"] and
          s["bytes"] == len(whole) and s["text"].startswith("1\n2\n") and
          s["text"].endswith("1000000\n") and len(s["text"]) < 70000, s["bytes"])
    same("how much is missing", s["omitted_bytes"] > 6000000, True)
    same("where the whole is", (s["artifact"], r["stderr"]["artifact"]), ("/v1/runs/%s/stdout" % r["id"], None))
    same("the hint names the field", r["limit"]["hint"].split("; ")[-1], "raise it with output")
    got = api.get(s["artifact"])
    check("the whole is there", got.body == whole, len(got.body))
    part = api.ask("GET", "/v1/runs/%s/stdout" % r["id"], headers={"Range": "bytes=-8"})
    same("its end by a range", (part.status, part.body), (206, b"1000000\n"))
    part = api.ask("GET", "/v1/runs/%s/stdout" % r["id"], headers={"Range": "bytes=99999999-"})
    refused("a range behind its end", part, 416, "invalid_argument", "Range")
    before = memory("VmRSS")
    r = api.run(command="head -c 100M /dev/zero").json
    same("a hundred million bytes are counted", r["stdout"]["bytes"], 100 << 20)
    got = api.get("/v1/runs/%s/stdout" % r["id"])
    same("64 MiB of them are kept", len(got.body), 64 << 20)
    grown = memory("VmRSS") - before
    check("not in the API's memory", grown < 24 * MIB, grown)


@test
def controls_and_forgery():
    """D03, D04: what a program prints is data."""
    text = "\x1b]52;c;ZXZpbA==\x07\x1b[2J\x9b\u202e\r\0{\"status\":\"exited\",\"exit_code\":0}"
    r = api.run(command=["python3", "-c", "import sys; sys.stdout.write(%r); sys.exit(5)" % text])
    check("no control byte is raw in the answer",
          not any(c < 0x20 or c == 0x7f for c in r.body), r.body[:200])
    same("all of them are there", out(r.json).decode(), text)
    same("a forged result is text", r.json["exit_code"], 5)
    forged = "\n\nevent: result\ndata: {\"exit_code\":0}\n\n: \r\nid: 99\n"
    events = list(api.events("POST", "/v1/runs?stream=1", dict(
        BEST, command=["python3", "-c", "print(%r); raise SystemExit(6)" % forged])))
    same("a forged event is text", [e[2]["exit_code"] for e in events if e[0] == "result"], [6])
    check("and comes as it was", forged in "".join(
        e[2]["text"] for e in events if e[0] == "stdout"), events)


@test
def pipes_that_stay():
    """D06: the run ends when its command does."""
    began = time.monotonic()
    r = api.run(command="(sleep 30; echo late) & echo now").json
    same("a grandchild that holds the output", (r["status"], out(r)), ("exited", b"now\n"))
    check("does not hold up the run", time.monotonic() - began < 10, time.monotonic() - began)
    r = api.run(command="exec >&- 2>&-; exit 3").json
    same("output that is closed early", r["exit_code"], 3)
    r = api.run(command="exit 0", stdin="x" * (8 << 20)).json
    same("standard input that nobody reads", r["status"], "exited")


@test
def stream():
    events = list(api.events("POST", "/v1/runs?stream=1", dict(
        BEST, command="echo one; echo two >&2; sleep 0.2; echo three; exit 2")))
    names = [e[0] for e in events]
    same("a stream begins with started", names[0], "started")
    same("and ends with the result", (names[-1], events[-1][2]["exit_code"]), ("result", 2))
    same("events are numbered in order", [e[1] for e in events], list(range(1, len(events) + 1)))
    text = {n: "".join(e[2]["text"] for e in events if e[0] == n) for n in ("stdout", "stderr")}
    same("output comes in pieces", text, {"stdout": "one\nthree\n", "stderr": "two\n"})
    check("as it is printed", names.index("stdout") < len(names) - 2, names)
    run = events[-1][2]["id"]
    same("started has the run's id", events[0][2]["id"], run)
    same("and the sandbox's", events[0][2]["sandbox"], events[-1][2]["sandbox"])
    check("which is one", events[0][2]["sandbox"].startswith("sbx"), events[0])
    again = list(api.events("GET", "/v1/runs/%s/events" % run))
    same("the same again, later", again, events)
    rest = list(api.events("GET", "/v1/runs/%s/events" % run,
                           headers={"Last-Event-ID": str(events[1][1])}))
    same("from the middle on", rest, events[2:])
    none = list(api.events("GET", "/v1/runs/%s/events" % run, headers={"Last-Event-ID": "99999"}))
    same("from behind the end: none", none, [])
    for bad in ("x", "-1", "1x", "", "99999999999999999999999"):
        a = api.ask("GET", "/v1/runs/%s/events" % run, headers={"Last-Event-ID": bad})
        refused("Last-Event-ID %r" % bad, a, 400, "invalid_argument", "Last-Event-ID")
    head = b"HEAD /v1/runs/%s/events HTTP/1.1\r\nHost: x\r\n\r\n" % run.encode()
    got = raw(head + b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    first, _, rest = got.partition(b"\r\n\r\n")
    check("HEAD of a stream has no body", b"text/event-stream" in first and
          rest.startswith(b"HTTP/1.1 200 OK") and rest.endswith(b'{"status":"ok"}'), got)
    utf8 = list(api.events("POST", "/v1/runs?stream=1", dict(BEST, command=[
        "python3", "-c", "import os, select\nfor b in '\u20ac'.encode(): os.write(1, bytes([b])); "
        "select.select([], [], [], .05)"])))
    same("a character is never cut between events",
         [e[2]["text"] for e in utf8 if e[0] == "stdout"], ["\u20ac"])


@test
def broken_stream():
    events = api.events("POST", "/v1/runs?stream=1", dict(
        BEST, detach=True, command="for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 0.1; done"))
    seen = []
    for e in events:
        seen.append(e)
        if len(seen) == 3:
            break
    events.close()
    run = seen[0][2]["id"]
    rest = list(api.events("GET", "/v1/runs/%s/events" % run,
                           headers={"Last-Event-ID": str(seen[-1][1])}))
    text = "".join(e[2]["text"] for e in seen + rest if e[0] == "stdout")
    same("a stream that broke goes on where it was", text, "1\n2\n3\n4\n5\n6\n7\n8\n")
    same("without a gap", [e[1] for e in seen + rest], list(range(1, len(seen + rest) + 1)))
    same("to its result", rest[-1][0], "result")
    events = api.events("POST", "/v1/runs?stream=1", dict(
        BEST, detach=True, command="head -c 6000000 /dev/zero | tr '\\0' x; echo end"))
    first = next(iter(events))
    events.close()
    run = first[2]["id"]
    wait_until(lambda: api.get("/v1/runs/" + run).json["status"] != "running")
    late = list(api.events("GET", "/v1/runs/%s/events" % run, headers={"Last-Event-ID": "1"}))
    check("who comes too late hears how much he missed",
          late[0][0] == "missed" and late[0][2]["missed"] > 0, late[0])
    check("and gets the end", late[-1][0] == "result" and
          late[0][2]["missed"] + 2 == late[1][1], [e[:2] for e in late[:3]])


@test
def detached():
    began = time.monotonic()
    a = api.run(command="sleep 5; echo done", detach=True)
    same("detach answers at once", (a.status, a.json.get("status")), (202, "running"))
    check("before it has ended", time.monotonic() - began < 4.9, time.monotonic() - began)
    run = a.json["id"]
    got = wait_until(lambda: (lambda r: r["status"] != "running" and r)(
        api.get("/v1/runs/" + run).json))
    same("it goes on to its end", (got["status"], out(got)), ("exited", b"done\n"))
    a = api.run(command=["no-such"], detach=True)
    check("what cannot start says so, sooner or later", a.status == 202 and wait_until(
        lambda: api.get("/v1/runs/" + a.json["id"]).json.get("exit_code") == 127), a)


@test
def cancelled():
    mark = "mark%d" % time.monotonic_ns()
    events = api.events("POST", "/v1/runs?stream=1", dict(
        BEST, command=["sh", "-c", "echo up; sleep 300; :", mark]))
    for e in events:
        if e[0] == "stdout":
            break
    check("it runs", processes(mark))
    events.close()
    check("who hangs up ends his run", wait_until(lambda: not processes(mark)), processes(mark))
    mark += "b"
    a = Api(timeout=60)

    def call():
        try:
            a.run(command=["sh", "-c", "sleep 300; :", mark])
        except Exception:
            pass
    t = threading.Thread(target=call)
    t.start()
    check("one that is waited for runs", wait_until(lambda: processes(mark)))
    a.kept.sock.shutdown(2)
    check("and ends with its connection", wait_until(lambda: not processes(mark)))
    t.join()
    mark += "c"
    events = api.events("POST", "/v1/runs?stream=1", dict(
        BEST, detach=True, command=["sh", "-c", "echo up; sleep 300; :", mark]))
    first = next(iter(events))
    events.close()
    run = first[2]["id"]
    wait_until(lambda: processes(mark))  # its words are there a moment after its program is
    check("with detach it stays", not wait_until(lambda: not processes(mark), 1))
    refused("DELETE of a run that is not there", api.delete("/v1/runs/run" + "a" * 26), 404,
            "not_found")
    same("DELETE ends it", api.delete("/v1/runs/" + run).status, 204)
    check("it is gone", wait_until(lambda: not processes(mark)), processes(mark))
    check("its result says so", wait_until(
        lambda: api.get("/v1/runs/" + run).json["status"] in ("signaled", "killed")),
        api.get("/v1/runs/" + run))
    same("DELETE again does nothing", api.delete("/v1/runs/" + run).status, 204)


@test
def half_closed():
    """Who says that he will send no more, and waits."""
    body = json.dumps(dict(BEST, command="sleep 0.3; echo late")).encode()
    request = (b"POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
               b"Content-Length: %d\r\n\r\n" % len(body) + body)
    got = raw(request, half=True)
    check("on the Unix socket he gets his answer", got.startswith(b"HTTP/1.1 200") and
          b"late" in got, got)
    got = raw(request + request, half=True)
    same("also to two requests at once", got.count(b"late\\n"), 2)
    got = raw(request[:-5], half=True)
    check("not to half of one", b"200 OK" not in got, got)
    mark = "pinfold-half-%d" % os.getpid()
    body = json.dumps(dict(BEST, command=["sh", "-c", "sleep 300; :", mark])).encode()
    s = socket.socket(socket.AF_UNIX)
    s.connect(SOCKET)
    s.sendall(b"POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
              b"Content-Length: %d\r\n\r\n" % len(body) + body)
    s.shutdown(socket.SHUT_WR)
    check("it runs", wait_until(lambda: processes(mark)))
    s.close()
    check("and ends when he goes for good", wait_until(lambda: not processes(mark)))


@test
def lists():
    ids = [api.run(command=["true"]).json["id"] for _ in range(5)]
    first = api.get("/v1/runs", limit=2).json
    same("the newest first", [r["id"] for r in first["items"]], ids[:2:-1])
    second = api.get("/v1/runs", limit=2, after=first["next"]).json
    same("then those before", [r["id"] for r in second["items"]], ids[2:0:-1])
    pages, after = [], None
    while True:
        page = api.get("/v1/runs", **dict({"limit": 3}, **({"after": after} if after else {}))).json
        pages += [r["id"] for r in page["items"]]
        after = page["next"]
        if not after:
            break
    same("all pages have all", pages, [r["id"] for r in api.get("/v1/runs").json["items"]])
    refused("limit 0", api.get("/v1/runs", limit=0), 400, "invalid_argument", "limit")
    refused("limit 1001", api.get("/v1/runs", limit=1001), 400, "invalid_argument", "limit")
    refused("limit x", api.get("/v1/runs", limit="x"), 400, "invalid_argument", "limit")
    refused("after x", api.get("/v1/runs", after="x"), 400, "invalid_argument", "after")
    items = api.get("/v1/runs", limit=2).json["items"]
    gone = items[0]["id"][:-4] + "zzzz" if items[0]["id"][-4:] != "zzzz" else items[0]["id"]
    same("behind one that is forgotten", api.get("/v1/runs", limit=1, after=gone).json["items"][0]["id"],
         items[0]["id"])
    same("HEAD of a list", api.ask("HEAD", "/v1/runs").body, b"")
    refused("a run that is not there", api.get("/v1/runs/run" + "a" * 26), 404, "not_found")
    refused("and its output", api.get("/v1/runs/nonsense/stderr"), 404, "not_found")


@test
def leaves_with_key():
    """Who never saw the answer, because his connection broke, gets it when he asks again."""
    key = {"Idempotency-Key": "l%d" % time.monotonic_ns()}
    body = json.dumps(dict(BEST, command="echo begun; timeout 2 tail -f /dev/null; date +%N"))
    before = {r["id"] for r in api.get("/v1/runs").json["items"]}
    s = socket.socket(socket.AF_UNIX)
    s.connect(os.environ["API_SOCKET"])
    s.sendall(("POST /v1/runs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
               "Idempotency-Key: %s\r\nContent-Length: %d\r\n\r\n%s"
               % (key["Idempotency-Key"], len(body), body)).encode())

    def begun():
        return [r["id"] for r in api.get("/v1/runs").json["items"] if r["id"] not in before]
    ids = wait_until(begun)
    s.close()
    a = api.ask("POST", "/v1/runs", json.loads(body), key)
    refused("repeated while it is being done", a, 503, "busy")
    a = wait_until(lambda: (lambda a: a.status != 503 and a)(
        api.ask("POST", "/v1/runs", json.loads(body), key)))
    same("then the answer that he never saw", (a.status, [a.json["id"]], a.json["status"]),
         (200, ids, "exited"))


@test
def idempotency():
    key = {"Idempotency-Key": "k%d" % time.monotonic_ns()}
    one = api.run(headers=key, command="date +%N")
    two = api.run(headers=key, command="date +%N")
    same("the same request with the same key runs once", two.body, one.body)
    same("and says so", two.headers["idempotent-replayed"], "true")
    refused("another request with that key", api.run(headers=key, command="date"), 409, "conflict",
            "Idempotency-Key")
    refused("a key and a stream", api.post("/v1/runs?stream=1", dict(BEST, command="date"), key), 400,
            "invalid_argument", "Idempotency-Key")
    refused("a key of no byte", api.run(headers={"Idempotency-Key": ""}, command="date"), 400,
            "invalid_argument", "Idempotency-Key")
    refused("a key that is too long", api.run(headers={"Idempotency-Key": "x" * 4000},
                                              command="date"), 400, "invalid_argument",
            "Idempotency-Key")
    key = {"Idempotency-Key": "d%d" % time.monotonic_ns()}
    one = api.run(headers=key, command="sleep 0.2", detach=True)
    two = api.run(headers=key, command="sleep 0.2", detach=True)
    same("also with detach", (one.status, two.body), (202, one.body))


WRONG = [
    ({"comand": "x"}, "comand"), ({"command": []}, "command:"), ({"command": "x", "name": "No Name"}, "name:"),
    ({"command": 5}, "command"), ({"command": [1]}, "command[0]"),
    ({"command": ["a", None]}, "command[1]"), ({"command": "x", "env": []}, "env"),
    ({"command": "x", "env": {"A": 1}}, "env.A"), ({"command": "x", "env": {"A=B": "1"}}, "env."),
    ({"command": "x", "env": {"A": "a\0b"}}, "env.A"), ({"command": "a\0b"}, "command"),
    ({"command": ["a\0b"]}, "command[0]"), ({"command": "x", "memory": "5Q"}, "memory"),
    ({"command": "x", "memory": True}, "memory"), ({"command": "x", "memory": -1}, "memory"),
    ({"command": "x", "memory": 0}, "memory"), ({"command": "x", "memory": 1.5}, "memory"),
    ({"command": "x", "memory": "99999999999999999999G"}, "memory"),
    ({"command": "x", "time": "soon"}, "time"), ({"command": "x", "time": []}, "time"),
    ({"command": "x", "time": "25h"}, "time"), ({"command": "x", "time": 0}, "time"),
    ({"command": "x", "grace": "2d"}, "grace"), ({"command": "x", "cpus": "many"}, "cpus"),
    ({"command": "x", "cpus": 0}, "cpus"), ({"command": "x", "cpus": -1}, "cpus"),
    ({"command": "x", "cpus": 1e300}, "cpus"), ({"command": "x", "pids": 0}, "pids"),
    ({"command": "x", "pids": "8"}, "pids"), ({"command": "x", "pids": 1e300}, "pids"),
    ({"command": "x", "pids": 99999999}, "pids"), ({"command": "x", "nofile": 1}, "nofile"),
    ({"command": "x", "disk": {}}, "disk"), ({"command": "x", "output": "1T"}, "output"),
    ({"command": "x", "user": "wheel"}, "user"), ({"command": "x", "user": 0}, "user"),
    ({"command": "x", "isolation": "none"}, "isolation"), ({"command": "x", "limits": "off"}, "limits"),
    ({"command": "x", "deps": "yes"}, "deps"), ({"command": "x", "image": 5}, "image"),
    ({"command": "x", "workdir": 7}, "workdir"),
    ({"command": "x", "workdir": "rel"}, "workdir"), ({"command": "x", "workdir": "/" * 5000}, "workdir"),
    ({"command": "x", "stdin": 5}, "stdin"), ({"command": "x", "detach": "yes"}, "detach"),
    ({"command": "x", "detach": 1}, "detach"), ({"command": "x", "lang": "perl", "code": ""}, "lang"),
    ({"command": "x", "lang": "bash", "code": "x"}, "command"), ({"lang": "python"}, "code"),
    ({"code": "1"}, "lang"), ({}, "command"), ({"command": []}, "command"),
    ({"command": "x", "args": "y"}, "args"), ({"lang": "bash", "code": "1", "args": [2]}, "args[0]"),
    ({"command": "x" * 140000}, "command"), ({"command": ["x"] * 5000}, "command"),
    # K10, N01: nothing in a request reaches the host, and nothing widens what the operator set.
    ({"command": "x", "dir": "/"}, "dir"), ({"command": "x", "mounts": ["/"]}, "mounts"),
    ({"command": "x", "policy": "/etc/passwd"}, "policy"), ({"command": "x", "allow": ["*"]}, "allow"),
    ({"command": "x", "privileged": True}, "privileged"), ({"command": "x", "raw": True}, "raw"),
]


@test
def arguments():
    """What is given is used, whatever it stands beside."""
    for body, want in (({"command": ["printf", "%s;"]}, "a;b c;"), ({"command": "printf '%s;' \"$@\""}, "a;b c;"),
                       ({"lang": "bash", "code": "printf '%s;' \"$@\""}, "a;b c;"),
                       ({"lang": "python", "code": "import sys; print(*sys.argv[1:], sep=';', end=';')"}, "a;b c;")):
        same("arguments behind %r" % body, api.run(args=["a", "b c"], **body).json["stdout"]["text"], want)


@test
def words():
    """What the engine says to who typed a command is said of fields here."""
    for body in ({"isolation": "landlock"}, {"image": "no-such"}, {"user": "root"}, {"workdir": "x"},
                 {"memory": "64M", "disk": "512M"}, {"env": {"A B": "1"}, "pids": 1}):
        a = api.run(command="true", **body)
        said = json.dumps(a.json.get("error") or a.json.get("limit") or "")
        check("no option of a command line in what %s is told" % body, "--" not in said, said)
    events = list(api.events("POST", "/v1/runs?stream=1", dict(BEST, command=[
        "python3", "-c", "import socket; s = socket.socket(); s.settimeout(1); s.connect_ex(('192.0.2.1', 80))"])))
    denials = [e[2] for e in events if e[0] == "denial"]
    check("a refusal, as it happens, has its kind, what it was, how often and a hint", denials and
          set(denials[0]) == {"text", "kind", "what", "count", "hint"} and denials[0]["kind"] == "network" and
          denials[0]["count"] == 1 and "192.0.2.1" in denials[0]["what"] and denials[0]["hint"] and
          "--" not in denials[0]["hint"], denials)
    whole = events[-1][2]["denials"]
    check("nor is one in the result", whole and "--" not in json.dumps(whole), whole)


@test
def no_oracle():
    """Who asks by HTTP learns nothing of what there is on this host, wherever his command runs."""
    top = tempfile.mkdtemp()
    here, nowhere = top + "/tool.py", "/tmp/nowhere/tool.py"
    shutil.copy("/usr/bin/true", here)
    box, space = api.box(), "/v1/workspaces/oracle"
    api.post("/v1/workspaces", {"name": "oracle"})
    for where, args in (("/v1/runs", BEST), (box + "/exec", {}), (space + "/exec", BEST)):
        for name, wanted in (("directory", {"command": "true", "workdir": "DIR"}), ("program", {"command": ["DIR/tool.py"]}),
                             ("file", {"command": ["cat", "FILE"]})):
            def told(path):
                body = json.dumps(dict(args, **wanted)).replace("FILE", path).replace("DIR", os.path.dirname(path))
                r = api.post(where, json.loads(body)).json
                return json.dumps([r["error"], r["denials"]]).replace(os.path.dirname(path), "DIR")
            same("%s: a %s of the host is as one that is nowhere" % (where.split("/")[2], name), told(here), told(nowhere))
            check("%s, %s: no option of a command line is named" % (where.split("/")[2], name),
                  "--" not in told(nowhere) and "/work" not in told(nowhere), told(nowhere))
    r = api.post(space + "/exec", dict(BEST, command="seq 1000", output=100)).json
    same("a part of what a command in a workspace printed says where the rest is",
         (r["stdout"]["truncated"], r["stdout"]["artifact"]), (True, "/v1/runs/%s/stdout" % r["id"]))
    shutil.rmtree(top)
    api.delete(space)
    api.delete(box)


@test
def artifacts():
    png = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(20)).decode()
    r = api.run(command="mkdir -p d; echo a,b > d/t.csv; echo %s | base64 -d > p.png; echo no > other; "
                "head -c 200000 /dev/zero > z.bin; ln -s /etc/passwd l.csv; mkfifo f.csv" % png,
                artifacts=["*.csv", "p.png", "/home/user/z.*"], inline=True).json
    files = {f["path"].split("user/")[1]: f for f in r["files"]}
    same("what is kept says where", {k: f.get("artifact") for k, f in files.items() if f.get("kept")}, {
        k: "/v1/runs/%s/files?path=/home/user/%s" % (r["id"], k) for k in ("d/t.csv", "p.png", "z.bin")})
    same("small texts and images are there", (files["d/t.csv"]["content"]["text"], files["p.png"]["content"]),
         ("a,b\n", {"text": png, "encoding": "base64"}))
    check("others not", "content" not in files["z.bin"] and "content" not in files["other"], files["z.bin"])
    same("the sandbox is gone, a file is not", api.get(files["d/t.csv"]["artifact"]).body, b"a,b\n")
    same("by its name below /home/user", api.get("/v1/runs/%s/files" % r["id"], path="z.bin").body, bytes(200000))
    part = api.ask("GET", files["p.png"]["artifact"], headers={"Range": "bytes=1-3"})
    same("a part", (part.status, part.body), (206, b"PNG"))
    for path in ("other", "l.csv", "f.csv", "/etc/passwd", "../../etc/passwd"):
        refused("not %s" % path, api.get("/v1/runs/%s/files" % r["id"], path=path), 404, "not_found")
    refused("nobody else's", Api(os.environ["TOKEN_TWO"]).get(files["d/t.csv"]["artifact"]), 404, "not_found") \
        if "TOKEN_TWO" in os.environ else None
    r = api.run(command="for i in $(seq 80); do echo $i > f$i; done; truncate -s 100M big", disk="200M",
                memory="512M", artifacts=["*"]).json
    kept = [f for f in r["files"] if f.get("kept")]
    check("no more than 64 files, and 64 MiB of them", 60 <= len(kept) <= 64 and
          not [f for f in kept if f["path"].endswith("big")], len(kept))
    r = api.run(command="echo x > f", artifacts=["f"], detach=True).json
    check("of a run that detached, too", wait_until(
        lambda: api.get("/v1/runs/%s/files" % r["id"], path="f").body == b"x\n"), r)


@test
def policies():
    for policy in ({"allow": []}, '{"allow": []}', "allow: []"):
        a = api.run(command="echo x", policy=policy)
        same("a policy: %r" % policy, (a.status, a.json.get("status")), (200, "exited"))
    for policy in ([], 5, True):
        refused("not a policy: %r" % policy, api.run(command="true", policy=policy), 400, "invalid_argument", "policy")
    refused("nor one with a word that is none", api.run(command="true", policy={"alow": []}), 400,
            "invalid_argument", "alow")


@test
def wrong_fields():
    a = api.post("/v1/runs", {"command": ["nothing-here"], **BEST}).json["error"]
    check("what a result says is for the API", "--" not in a["message"] + a["remedy"], a)
    a = api.post("/v1/runs", {"command": "true", "time": "soon"}).json["error"]
    check("a number is not what it is on the command line", "ms as a number" in a["remedy"], a)
    for body, word in WRONG:
        for key in ("command", "lang"):
            if key in body and body.get("limits") is None:
                body = dict(BEST, **body)
        shown = ", ".join("%s=%.40r" % (k, v) for k, v in body.items() if k != "limits" or v == "off")
        a = api.post("/v1/runs", body)
        refused("{%s}" % shown, a, 400, "invalid_argument", word)
    a = api.run(command="true", memory=None, env=None, detach=None)
    same("null is as if it were not there", a.status, 200)
    a = api.post("/v1/runs?limit=5", dict(BEST, command="true"))
    refused("an unknown parameter of the query", a, 400, "invalid_argument", "limit")
    a = api.post("/v1/runs/", dict(BEST, command="true"))
    refused("another path", a, 404, "not_found")
    a = api.ask("PATCH", "/v1/runs", {})
    refused("another method", a, 405, "invalid_argument", "method")
    same("says which there are", a.headers["allow"], "POST, GET, HEAD")
    a = api.post("/v1/runs?stream=maybe", dict(BEST, command="true"))
    refused("stream=maybe", a, 400, "invalid_argument", "stream")


@test
def wrong_json():
    a = api.post("/v1/runs", '{\n  "command": oops}')
    refused("broken JSON", a, 400, "invalid_argument")
    check("says the line and column", "line 2" in a.message and "column" in a.message, a)
    deep = "[" * 100000
    for name, text in (
            ("a depth of 100,000", '{"command": ' + deep),
            ("a depth of 100,000 that is closed", '{"command": ' + deep + "]" * 100000 + "}"),
            ("a key that is there twice", '{"command": "a", "command": "b"}'),
            ("a key twice inside", '{"command": "a", "env": {"A": "1", "A": "2"}}'),
            ("a million digits", '{"pids": ' + "9" * 1000000 + "}"),
            ("NaN", '{"cpus": NaN}'), ("Infinity", '{"cpus": Infinity}'), ("1e999", '{"cpus": 1e999}'),
            ("a lone surrogate", '{"command": "\\ud800"}'), ("something behind it", '{} x'),
            ("two documents", "{}{}"), ("a comma too many", '{"command": "x",}'),
            ("single quotes", "{'command': 'x'}"), ("an array", "[]"), ("a string", '"x"'),
            ("null", "null"), ("a raw newline in a string", '{"command": "a\nb"}')):
        began = time.monotonic()
        a = api.post("/v1/runs", text)
        refused(name, a, 400, "invalid_argument")
        check(name + " is refused soon", time.monotonic() - began < 2, time.monotonic() - began)
    refused("a BOM", api.post("/v1/runs", b"\xef\xbb\xbf{}".decode()), 400, "invalid_argument")
    a = api.ask("POST", "/v1/runs", b'{"command": "\xff\xfe"}', {"Content-Type": "application/json"})
    refused("bytes that are not UTF-8", a, 400, "invalid_argument")
    big = b'{"command": "' + b"x" * (17 << 20) + b'"}'
    before = memory("VmRSS")
    head = b"POST /v1/runs HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(big)
    got = raw(head)
    check("17 MiB are refused before they are read: 413",
          got.startswith(b"HTTP/1.1 413 ") and b"limit_exceeded" in got, got[:300])
    head = b"POST /v1/runs HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    got = raw(head + b"%x\r\n" % len(big) + big)
    check("17 MiB in chunks, too", got.startswith(b"HTTP/1.1 413 "), got[:300])
    a = api.ask("POST", "/v1/runs", big, {"Content-Type": "application/json"})
    same("a client that sends all of it hears why", a.status, 413)
    check("memory is flat", memory("VmRSS") - before < 40 * MIB, memory("VmRSS") - before)
    for kind in ("text/plain", "application/jsonx", "multipart/form-data; boundary=x",
                 "application/xml", ""):
        a = api.ask("POST", "/v1/runs", b'{"command": "true"}', {"Content-Type": kind})
        refused("media type %r" % kind, a, 415, "invalid_argument", "application/json")
    for kind in ("application/json", "Application/JSON; charset=utf-8", "application/json ;x=y"):
        a = api.ask("POST", "/v1/runs", b'{"command": "true", "limits": "best-effort"}',
                    {"Content-Type": kind})
        same("media type %r" % kind, a.status, 200)


run_tests()
