# SPDX-License-Identifier: Apache-2.0
"""Another process takes the place of the one that serves; nothing is lost."""
import datetime
import json
import os
import signal
import threading
import time

from api import BEST, Api, Connection, check, refused, run_tests, same, test, wait_until

DAEMON = int(os.environ["API_DAEMON"])
ONE, TWO = Api(os.environ["TOKEN_ONE"]), Api(os.environ["TOKEN_TWO"])
api = Api()


def stat_of(pid):
    """(name, parent)"""
    try:
        with open("/proc/%s/stat" % pid) as f:
            text = f.read()
        return text[text.index("(") + 1:text.rindex(")")], int(text.rsplit(")", 1)[1].split()[1])
    except (OSError, ValueError):
        return "", 0


def named(name):
    """Processes of HTTP, below the watcher."""
    all_of = {int(p): stat_of(p) for p in os.listdir("/proc") if p.isdigit()}
    watcher = [p for p, s in all_of.items() if s == ("pinfold-http", DAEMON)]
    return [p for p, s in all_of.items() if s[0] == name and s[1] in watcher]


def serving():
    return named("pinfold-api")


def replaced(how):
    before = serving()
    how(before)
    # For a moment both are there, and the former answers.
    wait_until(lambda: serving() and not set(serving()) & set(before))
    return wait_until(lambda: Api().get("/healthz").status == 200)


def reload():
    return replaced(lambda pids: os.kill(DAEMON, signal.SIGHUP))


class Client(threading.Thread):
    """One connection, never opened again; a run that lasts, and another."""

    def __init__(self, n):
        super().__init__()
        self.n, self.got, self.ids = n, [], []
        self.connection = Connection()
        self.connection.connect()
        self.connection.auto_open = 0

    def one(self, command):
        self.connection.request("POST", "/v1/runs", json.dumps(dict(BEST, command=command)),
                                {"Content-Type": "application/json"})
        answer = json.loads(self.connection.getresponse().read())
        self.ids.append(answer.get("id"))
        self.got.append(answer.get("stdout", {}).get("text", answer))

    def run(self):
        try:
            self.one("sleep 5; echo %d" % self.n)
            if self.n % 10 == 0:
                self.one("echo again %d" % self.n)
        except Exception as e:
            self.got.append(repr(e))


@test
def a_hundred_runs():
    clients = [Client(i) for i in range(100)]
    for c in clients:
        c.start()
    wait_until(lambda: len(api.get("/v1/runs").json["items"]) == 100, 1)
    idle = Connection()
    idle.connect()
    idle.auto_open = 0
    check("a new process serves", reload())
    same("the former finishes what it began", len(named("pinfold-elder")), 1)
    for c in clients:
        c.join()
    bad = [(c.n, c.got) for c in clients
           if c.got != ["%d\n" % c.n, "again %d\n" % c.n][:2 if c.n % 10 == 0 else 1]]
    same("a hundred runs were going on: all are answered, and more on their connections", bad, [])
    idle.request("GET", "/healthz")
    same("a connection that was idle goes on", idle.getresponse().status, 200)
    found = [i for c in clients for i in c.ids if api.get("/v1/runs/%s" % i).status != 200]
    same("their results are found by id", found, [])
    items = api.get("/v1/runs", limit=1000).json["items"]
    same("and in the list", len({i["id"] for i in items}), 110)
    made = [i["created"] for i in items]
    same("newest first", made, sorted(made, reverse=True))
    page = api.get("/v1/runs", limit=60).json
    rest = api.get("/v1/runs", limit=60, after=page["next"]).json
    same("by pages", [i["id"] for i in page["items"] + rest["items"]], [i["id"] for i in items])


def mcp(session, method, **params):
    fields = {"Accept": "application/json, text/event-stream"}
    if session:
        fields["Mcp-Session-Id"] = session
    return api.post("/mcp", {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, fields)


@test
def what_it_has():
    box = ONE.box(name="dev")
    ONE.post(box + "/sessions", {"lang": "bash", "name": "main"})
    ONE.post(box + "/sessions/main/execute", {"code": "x=41"})
    once = ONE.run(command="echo once; head -c8 /dev/urandom | od -An -tx1",
                   headers={"Idempotency-Key": "k1"}).json
    session = mcp(None, "initialize", protocolVersion="2025-06-18", capabilities={},
                  clientInfo={"name": "t", "version": "1"}).headers["Mcp-Session-Id"]
    stream = iter(ONE.events("POST", "/v1/runs?stream=1", dict(
        BEST, command="echo a; sleep 2; echo b")))
    same("a stream has begun", next(stream)[0], "started")
    check("another process serves", reload())
    check("and one more", reload())
    same("two have something to finish", len(named("pinfold-elder")) >= 2, True)
    got = ONE.post("/v1/sandboxes/dev/sessions/main/execute", {"code": "echo $((x+1))"})
    same("an interpreter that stays has stayed", got.json["stdout"]["text"], "42\n")
    same("also by the sandbox's id", ONE.get(box + "/sessions").json["items"][0]["name"], "main")
    again = ONE.run(command="echo once; head -c8 /dev/urandom | od -An -tx1",
                    headers={"Idempotency-Key": "k1"})
    same("who repeats a request gets its answer", (again.json["id"],
         again.headers["Idempotent-Replayed"]), (once["id"], "true"))
    same("a client of MCP has its session", mcp(session, "tools/list").status, 200)
    same("a stream goes on to its end", [(e[0], e[2].get("text")) for e in stream][-2:],
         [("stdout", "b\n"), ("result", None)])
    refused("another tenant finds no run of it", TWO.get("/v1/runs/" + once["id"]), 404,
            "not_found")
    refused("nor the sandbox", TWO.get(box + "/sessions"), 404, "not_found")
    same("nor anything in the list", TWO.get("/v1/runs").json["items"], [])
    refused("nor may he use the key's answer", TWO.run(headers={"Idempotency-Key": "k1"}), 400,
            "invalid_argument")
    same("the sandbox ends", ONE.delete(box).status, 204)


def kill_all(pids):
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


def left_s(name):
    """How long it still lives."""
    until = ONE.get("/v1/sandboxes/" + name).json["expires"]
    return datetime.datetime.fromisoformat(until.replace("Z", "+00:00")).timestamp() - time.time()


@test
def times_to_live():
    ONE.box(name="mine", ttl="3h")
    ONE.box(name="used")
    ONE.box(name="given")
    ONE.post("/v1/sandboxes/given/extend", {"ttl": "5m"})
    for how in (lambda pids: os.kill(DAEMON, signal.SIGHUP), kill_all):
        check("another process serves", replaced(how))
        for name in ("mine", "used", "given"):
            ONE.post("/v1/sandboxes/%s/exec" % name, {"command": "true"})
        same("a time to live is what it was, that of use half an hour, one that was given later too",
             [round(left_s(name) / 60) for name in ("mine", "used", "given")], [180, 30, 5])
    for name in ("mine", "used", "given"):
        ONE.delete("/v1/sandboxes/" + name)


@test
def killed():
    a = ONE.run(command="echo begun; sleep 2; echo ended", detach=True)
    b = ONE.run(command="sleep 60", detach=True)
    same("runs that nobody waits for", (a.status, b.status), (202, 202))
    a, b = a.json["id"], b.json["id"]
    same("who asks at once finds them", [ONE.get("/v1/runs/" + i).status for i in (a, b)], [200] * 2)
    check("killed, it is started again", replaced(kill_all))
    same("one goes on", ONE.get("/v1/runs/" + a).status, 200)
    same("its events, from the first to the result",
         [e[0] for e in ONE.events("GET", "/v1/runs/%s/events" % a)],
         ["started", "stdout", "stdout", "result"])
    same("its output is whole", ONE.get("/v1/runs/%s/stdout" % a).body, b"begun\nended\n")
    same("its result", ONE.get("/v1/runs/" + a).json["status"], "exited")
    refused("it is nobody else's", TWO.get("/v1/runs/" + a), 404, "not_found")
    refused("nor can he end the other", TWO.delete("/v1/runs/" + b), 404, "not_found")
    same("his list is empty", TWO.get("/v1/runs").json["items"], [])
    status = {i["id"]: i["status"] for i in ONE.get("/v1/runs").json["items"]}
    same("both are in the list", (status[a], status[b]), ("exited", "running"))
    # That the other has ended is seen a few seconds later.
    check("it counts as one that lives", ONE.get("/v1/usage").json["usage"]["live"] in (1, 2))
    ONE.delete("/v1/runs/" + b)
    check("who has it ends it", wait_until(
        lambda: ONE.get("/v1/runs/" + b).json["status"] != "running"))
    refused("what is wrong is refused as ever", ONE.run(command="true", detach=True, memory="1"),
            400, "invalid_argument")
    same("a program that is not there", wait_until(lambda: ONE.get("/v1/runs/" + ONE.run(
        command=["no-such"], detach=True).json["id"]).json.get("exit_code")), 127)


@test
def who_has_them_killed():
    a = ONE.run(command="sleep 60", detach=True).json["id"]
    before = named("pinfold-runs")
    kill_all(before)
    check("what has such runs is started again, too", wait_until(
        lambda: named("pinfold-runs") not in ([], before)))
    check("they are gone with it", wait_until(lambda: ONE.get("/v1/runs/" + a).status == 404))
    check("others are taken", wait_until(
        lambda: ONE.run(command="true", detach=True).status == 202))


run_tests()
