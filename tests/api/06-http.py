# SPDX-License-Identifier: Apache-2.0
"""HTTP itself: how connections are used, misused and held open."""
import json
import os
import resource
import select
import socket
import struct
import threading
import time
import urllib.error
import urllib.request

from api import (BEST, MIB, MODE, PAUSE, PID, PORT, SOCKET, Api, check, memory, raw, run_tests, same, skip, test,
                 wait_until)

api = Api()
TOKEN = os.environ["TOKEN"]
GET = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
LAST = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
OK = b'{"status":"ok"}'
LATE = 15  # seconds that a busy machine may be


def connect(tcp=False):
    s = socket.create_connection(("127.0.0.1", PORT)) if tcp else socket.socket(socket.AF_UNIX)
    if not tcp:
        s.connect(SOCKET)
    s.settimeout(30)
    return s


def served(seconds=10):
    """Is somebody else served meanwhile, and soon? Who waits for one of those would wait for half a minute."""
    began = time.monotonic()
    return Api(timeout=seconds).get("/healthz").status == 200 and time.monotonic() - began < seconds


def hung_up(s):
    """Is the other side gone, whatever there is to read?"""
    p = select.poll()
    p.register(s, 0)
    return p.poll(0)


class Slow:
    """Clients that take their time, from the beginning of the file to its end."""

    def __init__(self):
        body = json.dumps(dict(BEST, command="true", stdin="x" * 20000)).encode()
        head = b"POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body)
        put = b"PUT /v1/sandboxes/none/files?path=f HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5000000\r\n\r\n"
        big = api.run(command="head -c 8M /dev/zero").json["id"].encode()
        get = b"GET /v1/runs/%s/stdout HTTP/1.1\r\nHost: localhost\r\n\r\n" % big
        self.began = time.monotonic()
        self.unread = "an answer that is not read"
        self.kinds = {
            "a head that comes byte by byte": [connect(), b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: ",
                                               b"y" * 20000, 18],
            "a body that comes byte by byte": [connect(), head, body, 34],
            "no body at all": [connect(), head, b"", 34],
            "an upload that does not come": [connect(), put, b"", 40],
            "a stranger's upload that does not come": [connect(True), put, b"", 10],
            "no byte at all": [connect(), b"", b"", 18],
            self.unread: [connect(), get, b"", 40],
        }
        if MODE == "U":  # it is the same clock, whoever started it
            self.kinds = {name: kind for name, kind in self.kinds.items() if kind[3] < 20}
        self.ended = {}
        for s, first, _, _ in self.kinds.values():
            s.sendall(first)
        self.thread = threading.Thread(target=self.drip, daemon=True)
        self.thread.start()

    def drip(self):
        at = 0
        while len(self.ended) < len(self.kinds) and time.monotonic() - self.began < 90:
            for name, (s, _, rest, _) in self.kinds.items():
                if name in self.ended:
                    continue
                try:
                    if at < len(rest):
                        s.sendall(rest[at:at + 1])
                    if name == self.unread:
                        if hung_up(s):
                            raise ConnectionError
                        continue
                    while select.select([s], [], [], 0)[0]:
                        if not s.recv(65536):
                            raise ConnectionError
                except OSError:
                    self.ended[name] = time.monotonic() - self.began
            at += 1
            PAUSE.wait(0.2)

    def check(self):
        self.thread.join(max(0.1, 75 - (time.monotonic() - self.began)))
        for name, (_, _, _, most) in self.kinds.items():
            took = self.ended.get(name)
            check("%s is given up on" % name, took is not None and took < most + LATE, took)


slow = Slow()


@test
def connections():
    s = connect()
    for _ in range(100):
        s.sendall(GET)
        got = b""
        while not got.endswith(OK):
            got += s.recv(4096)
    check("a hundred requests on one connection", got.startswith(b"HTTP/1.1 200 OK"))
    s.close()
    run = json.dumps(dict(BEST, command="sleep 0.3; echo first")).encode()
    first = b"POST /v1/runs HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(run) + run
    got = raw(first + GET + first.replace(b"first", b"third") + LAST)
    at = [got.find(t) for t in (b"first\\n", OK, b"third\\n")] + [got.rfind(OK)]
    check("four requests at once are answered in their order", -1 not in at and at == sorted(at) and
          got.count(b"HTTP/1.1 200") == 4, at)
    one = b""
    s = connect()
    for i in range(len(LAST)):
        s.sendall(LAST[i:i + 1])
    while True:
        part = s.recv(4096)
        if not part:
            break
        one += part
    check("a request byte by byte", one.endswith(OK), one)
    chunks = b"".join(b"%x;x=y\r\n%s\r\n" % (len(run[i:i + 7]), run[i:i + 7]) for i in range(0, len(run), 7))
    got = raw(b"POST /v1/runs HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks +
              b"0\r\nTrailer: x\r\n\r\n" + LAST)
    check("a body in small chunks, and a request behind it", b"first\\n" in got and got.endswith(OK), got[-200:])
    s = connect()
    s.sendall(first.replace(b"\r\n\r\n", b"\r\nExpect: 100-continue\r\n\r\n", 1)[:-len(run)])
    got = s.recv(1000)
    same("Expect: 100-continue", got, b"HTTP/1.1 100 Continue\r\n\r\n")
    s.sendall(run)
    check("and then the answer", s.recv(1000).startswith(b"HTTP/1.1 200 OK"))
    s.close()
    got = raw(b"GET /healthz HTTP/1.1\r\nHost: x\r\nExpect: something\r\n\r\n", until=b"\r\n\r\n")
    check("another expectation", got.startswith(b"HTTP/1.1 417"), got[:80])
    got = raw(b"GET /healthz HTTP/1.0\r\nHost: x\r\n\r\n")
    check("HTTP/1.0 ends with the connection", got.endswith(OK) and b"chunked" not in got, got)
    got = raw(b"POST /v1/runs?stream=1 HTTP/1.0\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(run) + run)
    check("also a stream", b"chunked" not in got and b"\nevent: result\n" in got and
          b"\r\n" not in got.split(b"\r\n\r\n", 1)[1], got[:300])
    got = raw(b"GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n" + b"DELETE /healthz HTTP/1.1\r\nHost: x\r\n\r\n" + LAST)
    check("an error does not end a connection", got.endswith(OK) and b" 404 " in got, got)
    a = api.ask("DELETE", "/healthz")
    check("a method that a path does not have", a.status in (400, 405), a)


HOST = b"Host: localhost\r\n"
SMUGGLED = {
    "two lengths": b"POST /v1/runs HTTP/1.1\r\n" + HOST + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nxxxxx",
    "a list of lengths": b"POST /v1/runs HTTP/1.1\r\n" + HOST + b"Content-Length: 5, 5\r\n\r\nxxxxx",
    "a length and chunks": b"POST /v1/runs HTTP/1.1\r\n" + HOST +
                           b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "a length with a sign": b"POST /v1/runs HTTP/1.1\r\n" + HOST + b"Content-Length: +5\r\n\r\nxxxxx",
    "a negative length": b"POST /v1/runs HTTP/1.1\r\n" + HOST + b"Content-Length: -1\r\n\r\n",
    "a hexadecimal length": b"POST /v1/runs HTTP/1.1\r\n" + HOST + b"Content-Length: 0x5\r\n\r\nxxxxx",
    "a length of 30 digits": b"POST /v1/runs HTTP/1.1\r\n" + HOST + b"Content-Length: " + b"9" * 30 + b"\r\n\r\n",
    "an unknown encoding": b"POST /v1/runs HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "chunked twice": b"POST /v1/runs HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
    "xchunked": b"POST /v1/runs HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "chunks in HTTP/1.0": b"POST /v1/runs HTTP/1.0\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "a blank before the colon": b"POST /v1/runs HTTP/1.1\r\n" + HOST + b"Content-Length : 5\r\n\r\nxxxxx",
    "a folded line": b"GET /healthz HTTP/1.1\r\n" + HOST + b"X: a\r\n b\r\n\r\n",
    "a bare LF": b"GET /healthz HTTP/1.1\nHost: localhost\n\n",
    "a bare LF at one line": b"GET /healthz HTTP/1.1\r\nHost: localhost\nX: y\r\n\r\n",
    "a bare CR": b"GET /healthz HTTP/1.1\r\nHost: localhost\rX: y\r\n\r\n",
    "a NUL": b"GET /healthz HTTP/1.1\r\n" + HOST + b"X: a\0b\r\n\r\n",
    "two Hosts": b"GET /healthz HTTP/1.1\r\n" + HOST + b"Host: other\r\n\r\n",
    "no Host": b"GET /healthz HTTP/1.1\r\n\r\n",
    "a chunk size of 20 digits": b"POST /v1/runs HTTP/1.1\r\n" + HOST +
                                 b"Transfer-Encoding: chunked\r\n\r\n00000000000000000001\r\nx\r\n0\r\n\r\n",
    "a chunk that ends with LF": b"POST /v1/runs HTTP/1.1\r\n" + HOST +
                                 b"Transfer-Encoding: chunked\r\n\r\n1\nx\n0\n\n",
    "a chunk longer than it says": b"POST /v1/runs HTTP/1.1\r\n" + HOST +
                                   b"Transfer-Encoding: chunked\r\n\r\n1\r\nxx\r\n0\r\n\r\n",
    "HTTP/2 by force": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "HTTP/1.2": b"GET /healthz HTTP/1.2\r\n" + HOST + b"\r\n",
    "HTTP/0.9": b"GET /healthz\r\n\r\n",
    "a blank too many": b"GET  /healthz HTTP/1.1\r\n" + HOST + b"\r\n",
    "a fragment": b"GET /healthz#x HTTP/1.1\r\n" + HOST + b"\r\n",
    "a raw byte in the target": b"GET /\xff HTTP/1.1\r\n" + HOST + b"\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"x" * 100,
    "a line of 20,000 bytes": b"GET /" + b"a" * 20000 + b" HTTP/1.1\r\n" + HOST + b"\r\n",
    "a head of 100,000 bytes": b"GET / HTTP/1.1\r\n" + HOST + b"X: " + b"a" * 100000 + b"\r\n\r\n",
    "2,000 fields": b"GET / HTTP/1.1\r\n" + HOST + b"A: b\r\n" * 2000 + b"\r\n",
    "a name with a blank": b"GET /healthz HTTP/1.1\r\n" + HOST + b"X Y: z\r\n\r\n",
}


@test
def smuggling():
    """K07. What is refused is refused once, and nothing behind it is read as a request."""
    evil = b"DELETE /v1/evil HTTP/1.1\r\n" + HOST + b"\r\n"
    for name, data in SMUGGLED.items():
        got = raw(data + evil)
        status = got[9:12]
        good = got.startswith(b"HTTP/1.1 ") and status[:1] in (b"4", b"5") and got.count(b"HTTP/1.1 ") == 1
        body = json.loads(got.split(b"\r\n\r\n", 1)[1] if good else b"{}").get("error", {})
        check("refused: " + name, body.get("message") and body.get("remedy"), got[:300])


@test
def rude():
    """Clients that go in the middle of everything."""
    box = api.box()
    api.put(box + "/files?path=f", b"x" * 3000000)
    get = b"GET " + box.encode() + b"/files?path=f HTTP/1.1\r\nHost: x\r\n\r\n"
    put = b"PUT " + box.encode() + b"/files?path=g HTTP/1.1\r\nHost: x\r\nContent-Length: 3000000\r\n\r\n"
    run = json.dumps(dict(BEST, command="head -c 300000 /dev/zero")).encode()
    post = b"POST /v1/runs?stream=1 HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(run) + run
    for i in range(120):
        s = connect(i % 2 == 1)
        data = (get, put + b"y" * 200000, post, GET * 20, post[:-5], b"\0" * 50)[i % 6]
        if i % 2:
            data = data.replace(b"Host: x", b"Host: localhost\r\nAuthorization: Bearer " + TOKEN.encode())
        s.sendall(data)
        if i % 4 > 1 and data[:3] != b"PUT" and i % 6 < 4:
            s.recv(10)
        if i % 3 == 0:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        s.close()
    check("120 clients who went away do no harm", served() and api.get(box).status == 200)
    same("and leave nothing half written", [f["name"] for f in api.get(box + "/files/list").json["items"]
                                           if f["name"] != "f" and not f["name"] == "g"], [])
    api.delete(box)


@test
def never_reads():
    run = api.run(command="head -c 64M /dev/zero").json["id"]
    before = memory("VmRSS")
    held = []
    for _ in range(40):
        s = connect()
        s.sendall(b"GET /v1/runs/%s/stdout HTTP/1.1\r\nHost: x\r\n\r\n" % run.encode())
        held.append(s)
    a = api.run(command="for i in $(seq 1 20000); do echo line $i $i $i $i $i; done; sleep 60", detach=True)
    for _ in range(40):
        s = connect()
        s.sendall(b"GET /v1/runs/%s/events HTTP/1.1\r\nHost: x\r\n\r\n" % a.json["id"].encode())
        held.append(s)
    PAUSE.wait(1)
    check("others are served beside 80 clients that never read", served())
    grown = memory("VmRSS") - before
    check("whose data is not in memory", grown < 40 * MIB, "%d KiB more" % grown)
    for s in held:
        s.close()
    api.delete("/v1/runs/" + a.json["id"])


def may_open(n):
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with open("/proc/%d/limits" % PID) as f:
        theirs = [int(line.split()[3]) for line in f if line.startswith("Max open files")][0]
    return min(hard, theirs) > n + 200


@test
def two_thousand():
    if not may_open(2000):
        return skip("2,000 connections", "fewer than 2,200 open files are allowed")
    before = memory("VmRSS")
    held = []
    for i in range(2000):
        s = connect(i % 4 == 3)
        if i % 2:
            s.sendall(GET[:30])
        held.append(s)
    check("2,000 connections: another is served", served())
    wrong = 0
    for s in held[0::2]:
        s.sendall(GET)
    for s in held[0::2]:
        wrong += not s.recv(4096).startswith(b"HTTP/1.1 200")
    same("and each of them when it asks", wrong, 0)
    grown = memory("VmRSS") - before
    check("in bounded memory", grown < 96 * MIB, "%d KiB more" % grown)
    for s in held:
        s.close()
    check("they are gone when they go", wait_until(lambda: len(os.listdir("/proc/self/fd")) < 100))
    return None


@test
def idle_streams():
    if not may_open(1000):
        return skip("1,000 event streams", "fewer than 1,200 open files are allowed")
    a = api.run(command="echo first; sleep 60; exit 5", detach=True).json["id"]
    wait_until(lambda: api.get("/v1/runs/%s/stdout" % a).body)
    before = memory("VmRSS")
    held = []
    for _ in range(1000):
        s = connect()
        s.sendall(b"GET /v1/runs/%s/events HTTP/1.1\r\nHost: x\r\n\r\n" % a.encode())
        held.append(s)
    got = [s.recv(65536) for s in held]
    check("1,000 streams", all(b"text/event-stream" in g for g in got))
    grown = memory("VmRSS") - before
    check("cost at most 20 MiB", grown < 20 * MIB, "%d KiB" % grown)
    check("and hold up nobody", served())
    api.delete("/v1/runs/" + a)
    ended = 0
    for s, first in zip(held, got):
        while b"event: result" not in first:
            part = s.recv(65536)
            if not part:
                break
            first += part
        ended += b"event: result" in first
        s.close()
    same("all of them hear the end", ended, 1000)
    return None


@test
def many_calls():
    """More calls that wait than one tenant may have."""
    box = api.box()
    pid = api.post(box + "/exec", {"command": "sleep 600", "background": True}).json["pid"]
    wait = "GET %s/processes/%d/output?wait=60s HTTP/1.1\r\nHost: x\r\n\r\n" % (box, pid)
    before = memory("VmRSS")
    held = []
    for _ in range(700):
        s = connect()
        s.sendall(wait.encode())
        held.append(s)
    check("700 calls that wait: it lives", served())
    other = Api(TOKEN, timeout=30)
    answers = []

    def once(): # the daemon's own door may be full for a moment: then it is 503
        answers.append(other.run(command="echo served"))
        return answers[-1].status != 503
    wait_until(once, 15)
    check("and another tenant is served", answers[-1].status == 200, answers[-1])
    grown = memory("VmRSS") - before
    check("in bounded memory", grown < 64 * MIB, "%d KiB more" % grown)
    for s in held:
        s.close()
    check("they end with their clients", wait_until(lambda: api.run(command="true").status == 200))
    api.delete(box)


@test
def urllib_client():
    def ask(method, path, body=None, kind="application/json"):
        r = urllib.request.Request("http://127.0.0.1:%d%s" % (PORT, path), data=body, method=method, headers={
            "Authorization": "Bearer " + TOKEN, "Content-Type": kind})
        with urllib.request.urlopen(r, timeout=60) as f:
            return f.status, f.read()
    status, body = ask("POST", "/v1/runs", json.dumps(dict(BEST, command="echo urllib")).encode())
    same("urllib: a run", (status, json.loads(body)["stdout"]["text"]), (200, "urllib\n"))
    box = json.loads(ask("POST", "/v1/sandboxes", json.dumps(BEST).encode())[1])["id"]
    same("urllib: a file", ask("PUT", "/v1/sandboxes/%s/files?path=f" % box, b"data", "text/plain")[0], 200)
    same("urllib: and back", ask("GET", "/v1/sandboxes/%s/files?path=f" % box)[1], b"data")
    same("urllib: the end", ask("DELETE", "/v1/sandboxes/" + box), (204, b""))
    try:
        ask("GET", "/v1/sandboxes/" + box)
        check("urllib: an error", False)
    except urllib.error.HTTPError as e:
        same("urllib: an error", (e.code, json.loads(e.read())["error"]["code"].split(".")[0]), (404, "not_found"))


@test
def slow_ones():
    slow.check()
    said = api.get("/metrics").body.decode()
    dropped = [int(line.split()[1]) for line in said.split("\n") if line.startswith("pinfold_dropped_total ")]
    left = [k for k in slow.kinds if "upload" not in k]  # those had their answer: 404, 401
    check("it says how many it dropped, whatever they did not do", dropped and dropped[0] >= len(left), dropped)


run_tests()
