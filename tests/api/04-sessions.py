# SPDX-License-Identifier: Apache-2.0
"""Interpreters that stay: state, results, errors, interrupts."""
import base64
import os
import shutil
import threading
import time

from api import Api, check, refused, run_tests, same, skip, test, wait_until

api = Api()
one, two = Api(os.environ["TOKEN_ONE"]), Api(os.environ["TOKEN_TWO"])


def session(box, **args):
    a = api.post(box + "/sessions", args)
    if a.status != 201:
        raise RuntimeError(repr(a))
    return box + "/sessions/" + a.json["id"]


def execute(s, code, **args):
    return api.post(s + "/execute", dict(args, code=code)).json


def main(r):
    return [x["data"] for x in r["results"] if x["is_main"]]


@test
def listed():
    box = api.box()
    langs = {"python": "python3", "bash": "bash", "node": "node", "r": "R"}
    have = [lang for lang, name in langs.items() if shutil.which(name)]
    for lang in have:
        execute(session(box, lang=lang), "1")
    names = [p["command"] for p in api.get(box + "/processes").json["items"]]
    for lang in have:
        check(lang + ": its process is named, not shown with our driver's text",
              langs[lang] + " (session)" in names, names)
    check("and nothing else of it is there", not [n for n in names if "SPDX" in n], names)


@test
def python():
    box = api.box()
    a = api.post(box + "/sessions", {"name": "main"})
    same("python when nothing is said", (a.status, a.json["lang"], a.json["name"], a.json["busy"]),
         (201, "python", "main", False))
    s = box + "/sessions/main"
    r = execute(s, "x = 41\nprint('hi')\nx + 1")
    same("state, output, value", (r["status"], r["stdout"]["text"], main(r)[0]["text/plain"]),
         ("ok", "hi\n", "42"))
    same("counted", r["execution_count"], 1)
    r = execute(s, "x")
    same("it is still there", (main(r)[0]["text/plain"], r["execution_count"]), ("41", 2))
    r = execute(s, "import sys\nprint('e', file=sys.stderr)\nx = 5")
    same("standard error, and no value", (r["stderr"]["text"], r["results"]), ("e\n", []))
    r = execute(s, "def f():\n    return 1/0\n\nf()")
    same("an error", (r["status"], r["error"]["name"], r["error"]["value"]),
         ("error", "ZeroDivisionError", "division by zero"))
    check("with the lines of the code", "line 2" in str(r["error"]["traceback"]) and
          "line 4" in str(r["error"]["traceback"]), r["error"])
    r = execute(s, "y = 1/0")
    check("and a mark below what failed", "    y = 1/0\n        ~^~\n" in r["error"]["traceback"] or
          "~" not in r["error"]["traceback"], r["error"]) # Pythons before 3.11 have none
    r = execute(s, "if x\n  y")
    same("code that is none", r["error"]["name"], "SyntaxError")
    r = execute(s, "import asyncio\nawait asyncio.sleep(0.01)\n'awaited'")
    same("await", main(r)[0]["text/plain"], "'awaited'")
    r = execute(s, "input()")
    check("input() is refused, and does not wait", r["status"] == "error", r)
    r = execute(s, "display({'text/html': '<b>b</b>', 'text/plain': 'b'}, raw=True)\ndisplay({'application/json': {'a': [1]}}, raw=True)")
    same("rich results", [sorted(x["data"]) for x in r["results"]],
         [["text/html", "text/plain"], ["application/json"]])
    same("JSON as JSON", r["results"][1]["data"]["application/json"], {"a": [1]})
    r = execute(s, "open('made.txt', 'w').write('x' * 10)")
    same("files that it made", [(f["path"], f["size"]) for f in r["files"]], [("/home/user/made.txt", 10)])
    r = execute(s, "print('x' * 3000000)")
    same("much output is cut", (r["stdout"]["truncated"], r["stdout"]["bytes"]), (True, 3000001))
    same("the whole is kept", len(api.get("/v1/runs/%s/stdout" % r["id"]).body), 3000001)
    r = execute(s, "import sys; sys.stdout.buffer.write(bytes([255, 0, 1]))")
    same("bytes", (r["stdout"]["encoding"], base64.b64decode(r["stdout"]["text"])), ("base64", b"\xff\0\1"))
    r = execute(s, "print('{\"status\": \"died\"}')\nimport os\nos.write(1, b'\\0\\0\\0\\x05D{}}')\n1")
    same("nothing that is printed is a result", (r["status"], main(r)[0]["text/plain"]), ("ok", "1"))
    same("listed", [(x["name"], x["lang"]) for x in api.get(box + "/sessions").json["items"]],
         [("main", "python")])
    try:
        import matplotlib  # noqa: F401: the sandbox has what the host has
    except ImportError:
        skip("a figure", "the Python module matplotlib is not installed")
    else:
        r = execute(s, "import matplotlib.pyplot as plt\nplt.plot([1, 2])", time="120s")
        png = [x["data"].get("image/png") for x in r["results"] if "image/png" in x["data"]]
        check("a figure", png and base64.b64decode(png[0]).startswith(b"\x89PNG"), r["results"])
    api.delete(box)


@test
def others():
    box = api.box(memory="1G", pids=256)
    if shutil.which("node", path="/usr/bin:/bin"):
        s = session(box, lang="node")
        execute(s, "const n = 20")
        r = execute(s, "console.log('hi'); await Promise.resolve(n + 1)")
        same("node", (r["stdout"]["text"], main(r)[0]["text/plain"]), ("hi\n", "21"))
        r = execute(s, "null.x")
        same("its errors", r["error"]["name"], "TypeError")
    else:
        skip("node", "node is not installed")
    s = session(box, lang="bash")
    execute(s, "cd /tmp; v=7; f() { echo f$1; }")
    r = execute(s, "pwd; f $v; false")
    same("bash", (r["stdout"]["text"], r["exit_code"]), ("/tmp\nf7\n", 1))
    if shutil.which("Rscript", path="/usr/bin:/bin"):
        s = session(box, lang="r")
        execute(s, "x <- 6")
        r = execute(s, "cat('hi\\n'); x * 7")
        check("R", r["stdout"]["text"] == "hi\n" and "42" in main(r)[0]["text/plain"], r)
        r = execute(s, "stop('oh')")
        same("its errors have no call of ours", r["error"]["traceback"].split("\n")[0], "Error: oh")
    else:
        skip("R", "Rscript is not installed")
    for name in ("a/b", ".", "..", "a\nb", "a\x7f"):
        refused("a name that no path can have: %r" % name, api.post(box + "/sessions", {"name": name}), 400,
                "invalid_argument", "name")
    a = api.post(box + "/sessions", {"lang": "bash", "name": "same"}).json
    same("one of that name is there", api.post(box + "/sessions", {"name": "same"}).json["id"], a["id"])
    same("in its language", api.post(box + "/sessions", {"name": "same"}).json["lang"], "bash")
    refused("not in another", api.post(box + "/sessions", {"name": "same", "lang": "python"}), 409, "conflict", "bash")
    a = api.post(box + "/sessions", {"name": "same", "lang": "python", "reset": True})
    same("unless it begins anew", (a.status, a.json["lang"]), (201, "python"))
    check("several at a time", len(api.get(box + "/sessions").json["items"]) >= 2)
    refused("another language", api.post(box + "/sessions", {"lang": "perl"}), 400, "invalid_argument", "lang")
    refused("a field that is none", api.post(box + "/sessions", {"lnag": "r"}), 400, "invalid_argument", "lnag")
    refused("no code", api.post(s + "/execute", {}), 400, "invalid_argument", "code")
    refused("code that is a number", api.post(s + "/execute", {"code": 1}), 400, "invalid_argument", "code")
    refused("a session that is none", api.post(box + "/sessions/none/execute", {"code": "1"}), 404,
            "not_found", "none")
    refused("in a sandbox that is none", api.post("/v1/sandboxes/none/sessions/x/execute", {"code": "1"}), 404,
            "not_found")
    api.delete(box)


@test
def streamed():
    box = api.box()
    s = session(box)
    events = api.events("POST", s + "/execute?stream=1", {
        "code": "import time\nfor i in range(3):\n    print(i, flush=True); time.sleep(0.15)\ndisplay(7)\n8"}) # tidy: inside
    seen, times = [], []
    for e in events:
        seen.append(e)
        times.append(time.monotonic())
    names = [e[0] for e in seen]
    same("output, results, the end", (names[0], names[-1]), ("stdout", "result"))
    same("what was printed", "".join(e[2]["text"] for e in seen if e[0] == "stdout"), "0\n1\n2\n")
    same("what was shown", [e[2]["data"]["text/plain"] for e in seen if e[0] == "output"], ["7", "8"])
    check("as it comes", times[-1] - times[0] > 0.25, times[-1] - times[0])
    run = seen[-1][2]["id"]
    same("again, later", [e[0] for e in api.events("GET", "/v1/runs/%s/events" % run)], names)
    bad = list(api.events("POST", s + "/execute?stream=1", {"code": "1/0"}))
    same("an error is an event, too", [e[0] for e in bad], ["error", "result"])
    api.delete(box)


@test
def asked():
    box = api.box()
    s = session(box)
    where = s + "/input"
    refused("nobody asks for a line", api.post(where, {"text": "x"}), 409, "conflict")
    r = execute(s, "input('name? ')")
    same("without input there is none", r["error"]["name"], "EOFError")
    got = []
    for name, _, data in api.events("POST", s + "/execute?stream=1", {
            "code": "a = input('name? ')\ntry:\n    input()\nexcept EOFError:\n    a += ', and no more'\na",
            "input": True, "time": "20s"}):
        got.append(name)
        if name == "input":
            first = got.count("input") == 1
            same("what it asks", data["prompt"], "name? " if first else "")
            same("is answered", api.post(where, {"text": "Ada"} if first else {}).status, 204)
        if name == "result":
            same("and it goes on with that", main(data)[0]["text/plain"], "'Ada, and no more'")
            same("alive", (data["alive"], data["reason"]), (True, None))
    same("asked twice", got.count("input"), 2)
    r = execute(s, "import os; os._exit(3)")
    same("one that ended says how", (r["status"], r["alive"], r["reason"], r["exit_code"]), ("died", False, "exited", 3))
    api.delete(box)


@test
def busy():
    box = api.box()
    s = session(box, name="b")
    done = []

    def long(code, **more):
        done.append(Api().post(s + "/execute", dict(more, code=code)))
    t = threading.Thread(target=long, args=("import time\ntime.sleep(60)",)) # tidy: inside
    t.start()
    check("a session that executes is busy", wait_until(
        lambda: api.get(box + "/sessions").json["items"][0]["busy"]))
    a = api.post(s + "/execute", {"code": "1"})
    refused("and says so", a, 503, "busy", '"b"')
    check("with a time to come back", int(a.headers["retry-after"]) >= 1)
    refused("it cannot be removed", api.delete(s), 503, "busy")
    other = session(box)
    same("another is not", main(execute(other, "2"))[0]["text/plain"], "2")
    began = time.monotonic()
    same("interrupted", api.post(s + "/interrupt").status, 204)
    t.join()
    same("it says so", (done[0].json["status"], done[0].json["error"]["name"]),
         ("interrupted", "KeyboardInterrupt"))
    check("at once", time.monotonic() - began < 5)
    same("and stays", main(execute(s, "3"))[0]["text/plain"], "3")
    same("nothing to interrupt", api.post(s + "/interrupt").status, 204)
    r = execute(s, "import time\nk = 9\ntime.sleep(60)", time="300ms") # tidy: inside
    same("a time limit interrupts", r["status"], "timeout")
    same("and keeps it", main(execute(s, "k"))[0]["text/plain"], "9")
    events = api.events("POST", s + "/execute?stream=1", {
        "code": "print('up', flush=True)\ntime.sleep(60)"}) # tidy: inside
    next(iter(events))
    events.close()
    check("who hangs up interrupts", wait_until(
        lambda: not [x for x in api.get(box + "/sessions").json["items"] if x["busy"]]))
    same("it still stays", main(execute(s, "k"))[0]["text/plain"], "9")
    api.delete(box)


@test
def ends():
    box = api.box()
    s = session(box, name="e")
    execute(s, "x = 1")
    a = api.post(box + "/sessions", {"name": "e"})
    same("the same name is the same session", (a.status, a.json["id"]), (201, api.get(
        box + "/sessions").json["items"][0]["id"]))
    same("with its state", execute(s, "x")["status"], "ok")
    api.post(box + "/sessions", {"name": "e", "reset": True})
    same("begun anew", execute(s, "x")["error"]["name"], "NameError")
    r = execute(s, "import os\nos._exit(3)")
    same("one that dies", (r["status"], r["exit_code"]), ("died", 3))
    a = api.post(s + "/execute", {"code": "1"})
    check("is another at the next call, or says that it is over", a.status in (200, 409), a)
    r = execute(s, "x")
    same("without its state", r["error"]["name"], "NameError")
    r = execute(s, "import signal, os\nos.kill(os.getpid(), signal.SIGKILL)")
    same("one that is killed", (r["status"], r["signal"]), ("died", 9))
    events = api.open("POST", s + "/execute?stream=1", {"code": "1/0"})
    body = events.read()
    check("a stream of the next one", b"event: result" in body or events.status == 409, body)
    same("removed", api.delete(s).status, 204)
    refused("it is gone", api.post(s + "/execute", {"code": "1"}), 404, "not_found")
    made = [api.post(box + "/sessions", {"lang": "bash"}) for _ in range(40)]
    last = made[-1]
    check("there is a limit", last.status in (429, 201) and all(
        m.status in (201, 429, 503, 409) for m in made), last)
    api.delete(box)
    a = one.post("/v1/sandboxes", {"limits": "best-effort"}).json["id"]
    one.post("/v1/sandboxes/%s/sessions" % a, {"name": "mine"})
    refused("another tenant's", two.post("/v1/sandboxes/%s/sessions/mine/execute" % a, {"code": "1"}), 404,
            "not_found")
    refused("also to interrupt", two.post("/v1/sandboxes/%s/sessions/mine/interrupt" % a), 404, "not_found")
    one.delete("/v1/sandboxes/" + a)


@test
def changed_before():
    """Within the same few milliseconds: that is how fine times of files are."""
    box = api.box()
    s = session(box, lang="python")
    execute(s, "1")
    told = []
    for i in range(12):
        for before in (lambda: api.put(box + "/files?path=put%d" % i, b"x"),
                       lambda: api.post(box + "/exec", {"command": "echo x > exec%d" % i}),
                       lambda: execute(s, "open('own%d', 'w').close()" % i),
                       lambda: api.post(box + "/files/move", {"from": "own%d" % i, "to": "moved%d" % i})):
            before()
            told += [f["path"] for f in execute(s, "1")["files"]]
    same("what was done right before is not an execution's own", told, [])
    same("what it does is", [f["path"] for f in execute(s, "open('own1', 'w').close()")["files"]], ["/home/user/own1"])
    api.delete(box)


@test
def changes():
    """Of many files: what changed is told without a look at all of them."""
    box = api.box()
    s, other = session(box, lang="python"), session(box, lang="bash")

    def paths(code, where=s):
        return [f["path"].replace("/home/user/", "") for f in execute(where, code)["files"]]
    execute(s, "import os, shutil\nfor d in range(200):\n os.makedirs(f'p/{d}')\n"
               "for d in range(200):\n for i in range(100): open(f'p/{d}/{i}', 'w').close()")

    def watched():
        return [p["command"] for p in api.get(box + "/processes").json["items"]].count("[pinfold-files]") > 1
    paths("1")
    check("of 20,000 files the directories are watched", watched(), api.get(box + "/processes"))
    same("nothing changed", paths("1"), [])
    same("written, made in a new directory, moved, made and removed again",
         paths("open('p/7/5', 'w').write('x'); os.makedirs('n/e'); open('n/e/w', 'w').close()\n"
               "os.rename('p/1/1', 'moved'); open('gone', 'w').close(); os.remove('gone')"),
         ["moved", "n/e/w", "p/7/5"])
    same("nothing of it is told again", paths("1"), [])
    same("also in what is new", paths("open('n/e/w', 'a').write('x')"), ["n/e/w"])
    same("in a directory that was moved", paths("os.rename('p/3', 'q'); open('q/4', 'w').write('x')"), ["q/4"])
    api.put(box + "/files?path=p/9/between", b"x")
    same("what happened in between is not its own", paths("1"), [])
    same("a link is none, what it leads to is",
         paths("os.symlink('p/8/1', 'link'); open('link', 'w').write('x')"), ["p/8/1"])
    many = paths("for i in range(20000): open(f'p/5/new{i}', 'w').close()")
    check("more than can be watched: a hundred of them", len(many) == 100 and
          all(m.startswith("p/5/new") for m in many),
          (len(many), [m for m in many if not m.startswith("p/5/new")]))
    same("and it goes on", paths("open('p/6/6', 'w').write('x')"), ["p/6/6"])
    same("each session has its own", paths("echo x > p/2/2", other), ["p/2/2"])
    execute(s, "shutil.rmtree('p')")
    same("all gone", paths("open('left', 'w').close()"), ["left"])
    api.delete(box)


run_tests()
