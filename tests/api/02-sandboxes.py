# SPDX-License-Identifier: Apache-2.0
"""Sandboxes that live: their life, commands in them, background processes."""
import base64
import datetime
import os
import threading
import time

from api import BEST, MODE, Api, check, refused, run_tests, same, skip, test, wait_until

api = Api()
one, two = Api(os.environ["TOKEN_ONE"]), Api(os.environ["TOKEN_TWO"])
NOBODY = "/v1/sandboxes/sbx" + "a" * 26


def text(output):
    return "".join(base64.b64decode(o["text"]).decode("latin-1") if o["encoding"] == "base64"
                   else o["text"] for o in output)


def spawn(box, command, **args):
    a = api.post(box + "/exec", dict(args, command=command, background=True))
    if a.status != 202:
        raise RuntimeError(repr(a))
    return "%s/processes/%d" % (box, a.json["pid"])


@test
def life():
    a = api.post("/v1/sandboxes", dict(BEST, ttl="5m", name="life", memory="128M", cpus=0.5,
                                       metadata={"job": "42", "who": "me & <you>"}))
    same("a sandbox is made", a.status, 201)
    box = a.json
    check("it has an id", box["id"].startswith("sbx") and len(box["id"]) == 29, box["id"])
    same("its name, metadata and limits",
         (box["name"], box["metadata"], box["limits"]["memory"], box["limits"]["cpus"]),
         ("life", {"job": "42", "who": "me & <you>"}, 128 << 20, 0.5))
    same("it runs", box["status"], "running")
    for by in (box["id"], "life"):
        same("found by " + ("name" if by == "life" else "id"),
             api.get("/v1/sandboxes/" + by).json["id"], box["id"])
    check("and in the list", box["id"] in [b["id"] for b in api.get("/v1/sandboxes").json["items"]])
    refused("the name is taken", api.post("/v1/sandboxes", dict(BEST, name="life")), 409, "conflict",
            "life")
    r = api.post("/v1/sandboxes/life/exec", {"command": "echo kept > f; hostname"})
    same("a command in it", (r.status, r.json["stdout"]["text"].strip()), (200, box["id"]))
    same("belongs to it", r.json["sandbox"], box["id"])
    r = api.post("/v1/sandboxes/life/exec", {"command": ["cat", "f"]})
    same("files stay", r.json["stdout"]["text"], "kept\n")
    a = api.post("/v1/sandboxes/life/extend", {"ttl": "50m"})
    same("more time", (a.status, a.json["expires"] > box["expires"]), (200, True))
    refused("extend without a time", api.post("/v1/sandboxes/life/extend", {}), 400,
            "invalid_argument", "ttl")
    refused("extend by weeks", api.post("/v1/sandboxes/life/extend", {"ttl": "30d"}), 400,
            "invalid_argument", "ttl")
    a = api.post("/v1/sandboxes/life/fork", {"name": "fork", "ttl": "1m"})
    same("a fork", (a.status, a.json.get("name")), (201, "fork"))
    same("has its files", api.get("/v1/sandboxes/fork/files?path=f").body, b"kept\n")
    api.put("/v1/sandboxes/fork/files?path=f", b"its own")
    same("of its own", api.get("/v1/sandboxes/life/files?path=f").body, b"kept\n")
    refused("a name that is taken", api.post("/v1/sandboxes/life/fork", {"name": "fork"}), 409, "conflict")
    api.delete("/v1/sandboxes/fork")
    same("it is ended", api.delete("/v1/sandboxes/life").status, 204)
    refused("and not there any more", api.get("/v1/sandboxes/" + box["id"]), 404, "not_found")
    refused("nor by its name", api.get("/v1/sandboxes/life"), 404, "not_found")
    check("it says why", "ago: somebody ended it" in api.get("/v1/sandboxes/life").message, api.get("/v1/sandboxes/life"))
    refused("twice is an error", api.delete("/v1/sandboxes/life"), 404, "not_found")
    a = api.post("/v1/sandboxes", dict(BEST, name="life"))
    same("its name is free again", a.status, 201)
    check("and is another", a.json["id"] != box["id"])
    api.delete("/v1/sandboxes/life")


@test
def found_by_metadata():
    made = [api.post("/v1/sandboxes", dict(BEST, ttl="5m", metadata={"n": str(i), "all": "yes"})).json["id"]
            for i in range(3)]
    def ids(**query):
        return [b["id"] for b in api.get("/v1/sandboxes", **query).json["items"]]
    same("one by its metadata", ids(metadata="n=1"), [made[1]])
    made.sort(reverse=True)
    same("all that have a key, by id, from the newest", ids(metadata="all"), made)
    same("another value", ids(metadata="n=7"), [])
    same("half of a value", ids(metadata="all=ye"), [])
    same("what is ours is no metadata of his", ids(metadata="pinfold.tenant"), [])
    page = api.get("/v1/sandboxes", metadata="all", limit=2).json
    rest = api.get("/v1/sandboxes", metadata="all", limit=2, after=page["next"]).json
    same("whose beginning may be called next", [b["id"] for b in api.get(
        "/v1/sandboxes", metadata="all", limit=2, next=page["next"]).json["items"]], [b["id"] for b in rest["items"]])
    same("by pages", ([b["id"] for b in page["items"] + rest["items"]], rest["next"]), (made, None))
    for one in made:
        api.delete("/v1/sandboxes/" + one)


@test
def input_and_user():
    box = api.box()
    for args, want in (({"stdin": "given"}, ["given", "exited"]), ({"keep_stdin": False}, ["", "exited"]),
                       ({}, ["", "running"]), ({"stdin": "more", "keep_stdin": True}, ["more", "running"])):
        p = spawn(box, "cat", **args)
        check("what a process reads with %r" % args, wait_until(
            lambda: [text(api.get(p + "/output").json["output"]), api.get(p).json["status"]] == want), api.get(p + "/output"))
    p = spawn(box, "od -An -tx1")
    a = api.post(p + "/stdin", {"data": base64.b64encode(b"\xff\x00\x80").decode(), "encoding": "base64", "close": True})
    same("bytes to its input", a.json["written"], 3)
    check("arrive as they are", wait_until(
        lambda: text(api.get(p + "/output").json["output"]).split() == ["ff", "00", "80"]), api.get(p + "/output"))
    refused("what is no base64", api.post(p + "/stdin", {"data": "*", "encoding": "base64"}), 400, "invalid_argument", "data")
    refused("root, where it was not made with it", api.post(box + "/exec", {"command": "id", "user": "root"}), 409,
            "conflict")
    same("user is who it is", api.post(box + "/exec", {"command": "id -u", "user": "user"}).json["stdout"]["text"],
         "1000\n")
    api.delete(box)
    if MODE != "R":
        refused("root inside needs root's daemon", api.post("/v1/sandboxes", dict(BEST, user="root")), 501, "unsupported")
        return
    for who in (api, one):
        a = who.post("/v1/runs", {"command": "id -u; touch /usr/bin/new && echo made", "user": "root"})
        same("root inside, in a run", a.json["stdout"]["text"], "0\nmade\n")
    box = api.box(user="root")
    same("and in a sandbox", api.post(box + "/exec", {"command": "id -u"}).json["stdout"]["text"], "0\n")
    twin = "/v1/sandboxes/" + api.post(box + "/fork").json["id"]
    same("a fork of it is the same", api.post(twin + "/exec", {"command": "id -u"}).json["stdout"]["text"], "0\n")
    same("and none of this is the caller's metadata", api.get(twin).json["metadata"], {})
    api.delete(twin)
    same("where user is one as well", api.post(box + "/exec", {"command": "id -u", "user": "user"}).json["stdout"]["text"],
         "1000\n")
    api.delete(box)


@test
def time_to_live():
    box = api.box(ttl=60000)
    a = api.get(box).json
    lives = [datetime.datetime.fromisoformat(a[k].replace("Z", "+00:00")) for k in ("created", "expires")]
    check("a plain number is milliseconds", 55 < (lives[1] - lives[0]).total_seconds() < 65, a)
    same("the end of its time stays where it is", {api.get(box).json["expires"] for _ in range(100)}, {a["expires"]})
    short = api.box(ttl="700ms")
    r = api.post(short + "/exec", {"command": "sleep 60"}).json
    same("a command whose sandbox has no more time", (r["status"], r["limit"] and r["limit"]["kind"]), ("timeout", "time"))
    check("is told whose it was, for HTTP", "own time was over; extend gives it more" in r["limit"]["hint"], r["limit"])
    p = spawn(box, "sleep 1000")
    began = time.monotonic()
    same("a plain number in a query, too", [api.get(p + "/output", wait=w).status for w in ("0", "1", "200")], [200] * 3)
    check("and not seconds", time.monotonic() - began < 100, time.monotonic() - began)
    refused("more than may be waited", api.get(p, wait="60001"), 400, "invalid_argument", "wait=60001")
    refused("what is no time", api.get(p, wait="soon"), 400, "invalid_argument", "wait")
    api.delete(box)


@test
def why_it_is_gone():
    short = api.box(ttl="300ms").split("/")[-1]
    check("one whose time is over", wait_until(lambda: api.get("/v1/sandboxes/" + short).status == 404))
    check("says so", "its time to live was over" in api.get("/v1/sandboxes/" + short).message,
          api.get("/v1/sandboxes/" + short))
    said = two.get("/v1/sandboxes/" + short)
    check("to its own tenant alone", said.status == 404 and "over" not in said.message, said)


# Writes it all again and again: without a control group somebody has to come and look.
HOG = """import mmap
m = mmap.mmap(-1, 200 << 20)
while True:
    for i in range(0, len(m), 4096):
        m[i] = 1"""


@test
def out_of_memory():
    box = api.box(memory="64M", name="full")
    api.put(box + "/files?path=kept", b"kept")
    other = spawn(box, ["sleep", "1000"])
    for what, command in (("a command", ["python3", "-c", HOG]),
                          ("one that a shell started", "cd /tmp; python3 -c '%s'; exit $?" % HOG)):
        r = api.post(box + "/exec", {"command": command}).json
        same(what + " without memory", (r["status"], r["limit"] and r["limit"]["kind"], r.get("sandbox_ended")),
             ("oom", "memory", None))
        check("that only it has ended", "the sandbox goes on" in r["limit"]["hint"], r["limit"])
    p = spawn(box, ["python3", "-c", HOG])
    check("one in the background", wait_until(lambda: api.get(p).json["status"] == "oom"), api.get(p))
    s = api.post(box + "/sessions", {"lang": "python"}).json
    r = api.post("%s/sessions/%s/execute" % (box, s["id"]), {"code": HOG}).json
    same("an interpreter", (r["status"], r["reason"]), ("died", "oom"))
    r = api.post(box + "/exec", {"command": "kill -9 $$"}).json
    same("who is killed otherwise is not taken for it", (r["status"], r["limit"]), ("signaled", None))
    same("its files are there", api.get(box + "/files?path=kept").body, b"kept")
    same("and what else runs in it", api.get(other).json["status"], "running")
    api.delete(box)


@test
def out_of_room():
    box = api.box(disk="16M", pids=40)

    def hit(command):
        r = api.post(box + "/exec", {"command": command}).json
        return r["limit"] and r["limit"]["kind"]

    same("a command that fills the disk", hit("head -c 30M /dev/zero > big"), "disk")
    same("with room again", hit("rm big; ls nothing-here"), None)
    if not BEST:
        same("one that starts too many", hit("for i in {1..60}; do sleep 0.3 & done; wait"), "pids")
        same("the next does not", hit("ls nothing-here"), None)
        p = spawn(box, "for i in {1..60}; do sleep 1000 & done 2>/dev/null; wait")
        last = [None]

        def status():
            last[0] = api.post(box + "/exec", {"command": ["true"]})
            return last[0].status
        check("one that finds no room", wait_until(lambda: status() == 429))
        refused("is told so", last[0], 429, "limit_exceeded", "no room for another process")
        check("and what to do", last[0].code == "limit_exceeded.pids" and "more pids" in last[0].json["error"]["remedy"],
              last[0])
        same("others can be ended even so", api.post(p + "/signal", {"signal": "KILL"}).status, 204)
        check("and there is room again", wait_until(lambda: status() == 200), last[0])


@test
def variables():
    box = api.box(env={"A": "made", "B": "made", "PATH": "/opt/x:/usr/bin:/bin", "LANG": "C"})
    show = {"command": ["sh", "-c", "echo $A $B $PATH $LANG $HOME"]}
    same("variables of a sandbox", api.post(box + "/exec", show).json["stdout"]["text"],
         "made made /opt/x:/usr/bin:/bin C /home/user\n")
    same("a command's own come first", api.post(box + "/exec", dict(show, env={"B": "own", "LANG": "D", "A": ""})).json[
        "stdout"]["text"], "own /opt/x:/usr/bin:/bin D /home/user\n")
    p = spawn(box, ["sh", "-c", "echo $A"])
    check("in the background", wait_until(
        lambda: text(api.get(p + "/output").json["output"]) == "made\n"), api.get(p + "/output"))
    s = api.post(box + "/sessions", {"lang": "python"}).json
    r = api.post("%s/sessions/%s/execute" % (box, s["id"]), {"code": "import os; print(os.environ['B'])"}).json
    same("in a session", r["stdout"]["text"], "made\n")
    api.delete(box)
    box = api.box(env={"PATH": "/home/user/bin:/usr/bin"})
    api.put(box + "/files?path=/home/user/bin/tool&permissions=755", b"#!/bin/sh\necho found\n")
    same("commands are looked for in its PATH", api.post(box + "/exec", {"command": ["tool"]}).json["stdout"]["text"],
         "found\n")
    api.delete(box)
    refused("a name with =", api.post("/v1/sandboxes", dict(BEST, env={"A=B": "c"})), 400, "invalid_argument", "env")
    refused("too much", api.post("/v1/sandboxes", dict(BEST, env={"A%d" % i: "x" * 60000 for i in range(3)})),
            429, "limit_exceeded", "env")


@test
def large_disk():
    """More than half of memory is on the host's disk: for root, whom a token does not make."""
    body = {"command": "df -m --output=size /home/user | tail -n 1", "memory": "64M", "disk": "200M"}
    if MODE == "R":
        refused("a disk on the host's for a token", one.post("/v1/runs", body), 403, "denied", "memory")
        refused("and for its sandboxes", one.post("/v1/sandboxes", {"memory": "64M", "disk": "200M"}), 403,
                "denied", "disk")
        if os.path.exists("/sbin/mkfs.ext4") and os.path.exists("/dev/loop-control"):
            a = api.post("/v1/runs", body)
            check("and for root there is one", a.status == 200 and int(a.json["stdout"]["text"]) > 150, a)
        else:
            skip("and for root there is one", "no mkfs.ext4 or no loop devices")


@test
def wrong():
    for body, word in (
            ({"ttl": "8d"}, "ttl"), ({"ttl": 60}, "60 ms"), ({"ttl": 0}, "ttl"), ({"ttl": "x"}, "ttl"), ({"name": "A"}, "name"),
            ({"name": "-x"}, "name"), ({"name": "x" * 33}, "name"), ({"name": "a/b"}, "name"),
            ({"name": "a\nb"}, "name"), ({"metadata": {"a": 1}}, "metadata.a"), ({"metadata": []}, "metadata"),
            ({"metadata": {str(i): "x" for i in range(20)}}, "metadata"),
            ({"metadata": {"pinfold.tenant": "root"}}, "pinfold."),
            ({"metadata": {"a": "x" * 70000}}, "metadata"), ({"memory": "x"}, "memory"),
            ({"command": "x"}, "command"), ({"time": "5s"}, "time"), ({"unknown": 1}, "unknown")):
        refused("{%.60s}" % body, api.post("/v1/sandboxes", dict(BEST, **body)), 400,
                "invalid_argument", word)
    for method, path, body in (
            ("GET", "", None), ("DELETE", "", None), ("POST", "/pause", {}), ("POST", "/resume", {}),
            ("POST", "/extend", {"ttl": "5m"}), ("POST", "/exec", {"command": "true"}),
            ("GET", "/processes", None), ("GET", "/processes/2", None)):
        refused("%s %s of none" % (method, path), api.ask(method, NOBODY + path, body), 404, "not_found")


@test
def paused():
    box = api.box()
    p = spawn(box, "i=0; while :; do i=$((i+1)); echo $i; sleep 0.05; done")
    check("it prints", wait_until(lambda: api.get(p + "/output").json["next_offset"] > 10))
    same("paused", (api.post(box + "/pause").json["status"]), "paused")
    a = api.post(box + "/exec", {"command": "true"}).json["error"]
    check("what to do is said for HTTP", a["remedy"].startswith("resume "), a)
    at = api.get(p).json["output_bytes"]
    check("nothing goes on",
          not wait_until(lambda: api.get(p).json["output_bytes"] - at > 20, 0.5))
    r = api.post(box + "/exec", {"command": "true"})
    check("a command meanwhile is refused, not left waiting", r.status in (409, 503), r)
    api.post(box + "/ports", {"port": 8080})
    refused("so is who would speak to a port of it", api.get(box + "/ports/8080/"), 409, "conflict", "paused")
    same("resumed", api.post(box + "/resume").json["status"], "running")
    at = api.get(p).json["output_bytes"]
    check("it goes on", wait_until(lambda: api.get(p).json["output_bytes"] > at + 10))
    api.delete(box)


@test
def commands():
    box = api.box()
    events = list(api.events("POST", box + "/exec?stream=1", {
        "command": "echo $A; cat; exit 3", "env": {"A": "b"}, "stdin": "in\n", "workdir": "/tmp"}))
    same("a command that is followed", [e[0] for e in events][0::len(events) - 1],
         ["started", "result"])
    same("has its output", "".join(e[2]["text"] for e in events if e[0] == "stdout"), "b\nin\n")
    same("and its status", events[-1][2]["exit_code"], 3)
    same("started names the sandbox", box.endswith(events[0][2]["sandbox"]), True)
    run = events[-1][2]["id"]
    same("it is a run as any", api.get("/v1/runs/%s/stdout" % run).body, b"b\nin\n")
    r = api.post(box + "/exec", {"command": "sleep 60", "time": "300ms", "grace": "100ms"}).json
    same("with a time limit", r["status"], "timeout")
    a = api.post(box + "/exec", {"command": "sleep 0.5; echo end > done", "detach": True})
    same("detached", (a.status, a.json["status"]), (202, "running"))
    check("it goes on", wait_until(
        lambda: api.get("/v1/runs/" + a.json["id"]).json["status"] == "exited"))
    same("to its end", api.post(box + "/exec", {"command": "cat done"}).json["stdout"]["text"],
         "end\n")
    r = api.post(box + "/exec", {"lang": "python", "code": "print(6*7)"}).json
    same("a program text", r["stdout"]["text"], "42\n")
    refused("a limit of a sandbox is not one of a command",
            api.post(box + "/exec", {"command": "x", "memory": "1G"}), 400, "invalid_argument", "memory")
    refused("input that stays open, of one that is waited for",
            api.post(box + "/exec", {"command": "x", "keep_stdin": True}), 400, "invalid_argument", "keep_stdin")
    refused("no command", api.post(box + "/exec", {}), 400, "invalid_argument", "command")
    mark = "m%d" % time.monotonic_ns()
    events = api.events("POST", box + "/exec?stream=1", {
        "command": ["sh", "-c", "echo up; sleep 300; :", mark]})
    for e in events:
        if e[0] == "stdout":
            break

    def there():
        return mark in str(api.get(box + "/processes").json)
    check("a command that runs is among the processes", there())
    events.close()
    check("who hangs up ends his command", wait_until(lambda: not there()))
    same("and not the sandbox", api.get(box).json["status"], "running")
    api.delete(box)


@test
def background():
    box = api.box()
    p = spawn(box, "echo one; echo two >&2; sleep 0.5; echo three; exit 7")
    a = api.get(p + "/output", wait="5s").json
    check("output while it runs", text(a["output"]).startswith("one\n"), a)
    seen, offset = text(a["output"]), a["next_offset"]
    while a["process"]["running"]:
        a = api.get(p + "/output", offset=offset, wait="5s").json
        seen += text(a["output"])
        offset = a["next_offset"]
    same("all of it, piece by piece", sorted(seen.split()), ["one", "three", "two"])
    same("how it ended", (a["process"]["status"], a["process"]["exit_code"]), ("exited", 7))
    whole = api.get(p + "/output").json
    same("all again, after its end", (text(whole["output"]), whole["offset"]), (seen, 0))
    same("with what is standard error",
         [o["text"] for o in whole["output"] if o["stream"] == "stderr"], ["two\n"])
    same("from the middle", text(api.get(p + "/output", offset=4).json["output"]), seen[4:])
    same("from the end backwards", text(api.get(p + "/output", offset=-6).json["output"]), seen[-6:])
    same("behind the end there is nothing", api.get(p + "/output", offset=10 ** 12).json["output"], [])
    same("alone", (api.get(p).json["status"], api.get(p).json["exit_code"]), ("exited", 7))
    listed = [q for q in api.get(box + "/processes").json["items"] if q.get("exit_code") == 7]
    check("it is listed, ended", len(listed) == 1 and listed[0]["background"], listed)
    began = time.monotonic()
    api.get(p + "/output", offset=offset, wait="20s")
    check("nobody waits for one that has ended", time.monotonic() - began < 5)
    refused("a process that is not there", api.get(box + "/processes/4000000"), 404, "not_found")
    refused("a pid that is none", api.get(box + "/processes/0"), 400, "invalid_argument", "pid")
    refused("a pid that is a word", api.get(box + "/processes/x"), 400, "invalid_argument", "pid")
    refused("an offset that is a word", api.get(p + "/output", offset="x"), 400, "invalid_argument",
            "offset")
    refused("to wait an hour", api.get(p + "/output", wait="1h"), 400, "invalid_argument", "wait")
    api.delete(box)


@test
def input_and_user():
    box = api.box()
    p = spawn(box, "while read l; do echo got $l; done; echo eof", keep_stdin=True)
    same("standard input", api.post(p + "/stdin", {"data": "a\nb\n"}).json, {"written": 4})
    check("is read", wait_until(lambda: "got b" in text(api.get(p + "/output").json["output"])))
    same("and closed", api.post(p + "/stdin", {"data": "c\n", "close": True}).status, 200)
    check("to its end", wait_until(lambda: text(api.get(p + "/output").json["output"]).endswith(
        "got c\neof\n")), api.get(p + "/output"))
    a = api.post(p + "/stdin", {"data": "x"})
    check("there is no more", a.status in (409, 404), a)
    # What it read may be its end, before we have closed what it read from.
    ends = [api.post(spawn(box, "read l") + "/stdin", {"data": "x\n", "close": True}).status for _ in range(60)]
    same("the last that it reads, and closed", set(ends), {200})
    q = spawn(box, "sleep 100", keep_stdin=False)
    a = api.post(q + "/stdin", {"data": "x"})
    check("one that was started without has none", a.status in (409, 404), a)
    for way, body in (("/signal", {"signal": "INT"}), ("/stdin", {"data": "x"}), ("/resize", {"rows": 2, "cols": 2})):
        refused("of one that is none: " + way, api.post(box + "/processes/4000" + way, body), 404, "not_found", "4000")
    refused("a signal that is none", api.post(q + "/signal", {"signal": "NONE"}), 400,
            "invalid_argument", "signal")
    refused("no signal", api.post(q + "/signal", {}), 400, "invalid_argument", "signal")
    refused("a number that is none", api.post(q + "/signal", {"signal": 77}), 400, "invalid_argument", "signal")
    same("SIGCONT by its number", api.post(q + "/signal", {"signal": 18}).status, 204)
    same("SIGTERM", api.post(q + "/signal", {"signal": "SIGTERM"}).status, 204)
    check("ends it", wait_until(lambda: api.get(q).json["signal"] == 15), api.get(q))
    r = spawn(box, "trap 'echo usr1' USR1; echo ready; while :; do sleep 0.05; done")
    wait_until(lambda: "ready" in text(api.get(r + "/output").json["output"]))
    api.post(r + "/signal", {"signal": "USR1"})
    check("a signal that is caught", wait_until(
        lambda: "usr1" in text(api.get(r + "/output").json["output"])))
    same("KILL", api.post(r + "/signal", {"signal": "KILL"}).status, 204)
    check("cannot be", wait_until(lambda: api.get(r).json["signal"] == 9))
    a = api.post(r + "/signal", {"signal": "TERM"})
    check("a process that has ended gets none", a.status in (404, 409), a)
    t = spawn(box, "stty size; read x; stty size", pty=True)
    check("a terminal", wait_until(lambda: "24 80" in text(api.get(t + "/output").json["output"])),
          api.get(t + "/output"))
    same("of another size", api.post(t + "/resize", {"rows": 33, "cols": 111}).status, 204)
    api.post(t + "/stdin", {"data": "\n"})
    check("as it was told", wait_until(
        lambda: "33 111" in text(api.get(t + "/output").json["output"])), api.get(t + "/output"))
    refused("no rows", api.post(t + "/resize", {"rows": 0, "cols": 5}), 400, "invalid_argument", "rows")
    api.delete(box)


@test
def others():
    """What is listed can be signalled, whoever started it."""
    box = api.box()
    api.post(box + "/sessions", {"lang": "bash", "name": "s"})
    held = []
    thread = threading.Thread(target=lambda: held.append(Api().post(box + "/exec", {
        "command": "sleep 61 & trap 'echo told; exit 5' USR1; wait"})))
    thread.start()

    def pid(mark):
        return [p["pid"] for p in api.get(box + "/processes").json["items"] if p["command"].startswith(mark)]
    check("its children are listed", wait_until(lambda: pid("sleep 61")), api.get(box + "/processes"))
    same("one that a command started", api.post("%s/processes/%d/signal" % (box, pid("sleep 61")[0]),
                                                {"signal": "STOP"}).status, 204)
    check("gets it", wait_until(lambda: [p["state"] for p in api.get(box + "/processes").json["items"]
                                         if p["command"] == "sleep 61"] == ["T"]), api.get(box + "/processes"))
    same("the command itself", api.post("%s/processes/%d/signal" % (box, pid("bash -c sleep 61")[0]),
                                        {"signal": "USR1"}).status, 204)
    thread.join(20)
    same("gets it, too", (held[0].json["exit_code"], held[0].json["stdout"]["text"]), (5, "told\n"))
    refused("the first is the sandbox", api.post(box + "/processes/1/signal", {"signal": "KILL"}), 409, "conflict", "sandbox")
    refused("one that is not there", api.post(box + "/processes/4000/signal", {"signal": "KILL"}), 404, "not_found")
    for where in (box + "/exec", "/v1/runs"):
        events = list(api.events("POST", where + "?stream=1", dict(BEST if "runs" in where else {}, command=["no-such-command"])))
        same("a command that is not found has begun, for who follows", [e[0] for e in events], ["started", "result"])
        same("with its id", events[0][2]["id"], events[1][2]["id"])
    api.delete(box)


@test
def idle():
    """Of one that was made for the call: its first process waits, and does not look."""
    box = api.box(memory="200M")
    api.post(box + "/exec", {"command": "true"})
    api.post(box + "/exec", {"command": "sleep 0.6"})
    first = [p for p in api.get(box + "/processes").json["items"] if p["pid"] == 1]
    check("the first process costs nothing", first and first[0]["cpu_ms"] < 100, first)
    api.delete(box)


@test
def many():
    """Calls to one sandbox at the same time."""
    box = api.box(pids=200)
    results = []

    def call(i):
        mine = Api()
        for k in range(5):
            r = mine.post(box + "/exec", {"command": "echo %d-%d" % (i, k)})
            results.append(r.status == 200 and r.json["stdout"]["text"] == "%d-%d\n" % (i, k))
    threads = [threading.Thread(target=call, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    check("forty commands at the same time", len(results) == 40 and all(results), results)
    events = api.events("POST", box + "/exec?stream=1", {"command": "echo up; sleep 300"})
    for e in events:
        if e[0] == "stdout":
            break
    began = time.monotonic()
    api.delete(box)
    rest = [e[0] for e in events]
    check("a sandbox that ends ends its commands", rest[-1:] == ["result"] and
          time.monotonic() - began < 10, rest)


@test
def expiry():
    box = api.box(ttl="1s")
    began = time.monotonic()
    check("its time ends it", wait_until(lambda: api.get(box).status == 404, 10))
    check("not before", time.monotonic() - began > 0.5, time.monotonic() - began)
    check("it is not listed", box.split("/")[-1] not in str(api.get("/v1/sandboxes").body))


@test
def tenants():
    a = one.post("/v1/sandboxes", dict(BEST, name="same", ttl="2m"))
    b = two.post("/v1/sandboxes", dict(BEST, name="same", ttl="2m"))
    same("two tenants may use the same name", (a.status, b.status), (201, 201))
    mine = "/v1/sandboxes/" + a.json["id"]
    same("each has his own", one.get("/v1/sandboxes/same").json["id"], a.json["id"])
    same("each lists his own", [x["id"] for x in two.get("/v1/sandboxes").json["items"]],
         [b.json["id"]])
    unknown = two.get(NOBODY)
    foreign = two.get(mine)
    same("another's id is as one that never was",
         foreign.body.replace(a.json["id"].encode(), b"X"),
         unknown.body.replace(NOBODY.split("/")[-1].encode(), b"X"))
    for method, path, body in (
            ("DELETE", "", None), ("POST", "/exec", {"command": "true"}), ("POST", "/pause", {}),
            ("POST", "/extend", {"ttl": "5m"}), ("GET", "/processes", None),
            ("GET", "/files?path=x", None), ("PUT", "/files?path=x", b"x"),
            ("GET", "/files/list", None), ("POST", "/sessions", {}), ("GET", "/files/watch", None)):
        refused("another's %s %s" % (method, path or "it"), two.ask(method, mine + path, body), 404,
                "not_found")
    run = one.post(mine + "/exec", {"command": "echo secret"}).json["id"]
    for path in ("", "/stdout", "/stderr", "/events"):
        refused("another's run%s" % path, two.get("/v1/runs/" + run + path), 404, "not_found")
    refused("another's run to end", two.delete("/v1/runs/" + run), 404, "not_found")
    same("it is in its owner's list alone",
         (run in str(one.get("/v1/runs").body), run in str(two.get("/v1/runs").body),
          run in str(api.get("/v1/runs").body)), (True, False, False))
    refused("who is on the Unix socket is a tenant, too", api.get(mine), 404, "not_found")
    one.delete(mine)
    two.delete("/v1/sandboxes/same")


run_tests()
