# SPDX-License-Identifier: Apache-2.0
"""A client of the HTTP API for tests, and what it takes to say what must hold. Nothing but the
standard library. Each function with @test is called in its order; an exception is a failure."""
import glob
import http.client
import json
import os
import socket
import ssl
import sys
import threading
import time
import traceback
import urllib.parse

SOCKET = os.environ["API_SOCKET"]
PORT = int(os.environ["API_PORT"])
MODE = os.environ["API_MODE"]
PID = int(os.environ["API_PID"])
BEST = {} if MODE == "R" else {"limits": "best-effort"}
MIB = (1 << 10) * int(os.environ.get("API_SLACK", 1)) # in KiB; sanitizers need more of them
# A certificate to trust: then TCP is TLS.
TLS = ssl.create_default_context(cafile=os.environ["API_TLS"]) if "API_TLS" in os.environ else None
TESTS = []
PAUSE = threading.Event() # never set


def say(line):
    sys.stdout.write(line.replace("\n", " ") + "\n")
    sys.stdout.flush()


def check(name, good, detail=None):
    say(("ok " if good else "not ok ") + name)
    if not good and detail is not None:
        say("  got: " + repr(detail)[:700])
    return bool(good)


def same(name, got, want):
    return check(name, got == want, "%r, not %r" % (got, want))


def skip(name, reason):
    say("skip %s | %s" % (name, reason))


def test(fn):
    TESTS.append(fn)
    return fn


def run_tests():
    wanted = sys.argv[1:]
    for fn in TESTS:
        if wanted and fn.__name__ not in wanted:
            continue
        began = time.monotonic()
        try:
            fn()
        except Exception:
            check(fn.__name__.replace("_", " "), False)
            for line in traceback.format_exc().splitlines()[-12:]:
                say("  " + line)
        say("  %s: %.1f s" % (fn.__name__, time.monotonic() - began))


def wait_until(fn, seconds=10):
    end = time.monotonic() + seconds * (1 if seconds < 5 else 3)  # patience, not a promise
    while True:
        got = fn()
        if got or time.monotonic() > end:
            return got
        PAUSE.wait(0.02)


class Connection(http.client.HTTPConnection):
    """Over the Unix socket, or with a port over TCP."""

    def __init__(self, port=None, timeout=60):
        super().__init__("127.0.0.1", port or 80, timeout=timeout)
        self.over_tcp = port is not None

    def connect(self):
        if self.over_tcp:
            super().connect()
            if TLS:
                self.sock = TLS.wrap_socket(self.sock, server_hostname="localhost")
            return None
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(SOCKET) # with a time limit a full queue would be an error
        self.sock.settimeout(self.timeout)
        return None


def children(pid):
    for line in os.popen("ps -e -o pid=,ppid="):
        one, parent = (int(x) for x in line.split())
        if parent == pid:
            yield one
            yield from children(one)


def hung(method, path):
    """Which call is not answered, and where the daemon's threads wait."""
    say("  no answer: %s %s" % (method, path))
    for pid in [PID, *children(PID)]:
        for task in glob.glob("/proc/%d/task/*" % pid):
            try:
                texts = [open(task + "/" + f, encoding="utf-8").read().strip() for f in ("comm", "wchan", "syscall")]
            except OSError:
                continue
            say("  %s %s" % (task[6:], " ".join(texts)))


class Answer:
    def __init__(self, response, body):
        self.status, self.headers, self.body = response.status, response.headers, body

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def code(self):
        return self.json["error"]["code"]

    @property
    def message(self):
        return self.json["error"]["message"]

    def __repr__(self):
        return "%d %r" % (self.status, self.body[:500])


class Api:
    def __init__(self, token=None, timeout=60):
        self.token, self.timeout = token, timeout
        self.kept = None

    def _fields(self, body, headers):
        fields = {}
        if self.token:
            fields["Authorization"] = "Bearer " + self.token
        if isinstance(body, (dict, list)):
            body = json.dumps(body).encode()
            fields["Content-Type"] = "application/json"
        elif isinstance(body, str):
            body = body.encode()
            fields["Content-Type"] = "application/json"
        fields.update(headers or {})
        return body, {k: v for k, v in fields.items() if v is not None}

    def send(self, method, path, body=None, headers=None):
        """The connection; nothing was read yet."""
        connection = Connection(PORT if self.token is not None else None, self.timeout)
        body, fields = self._fields(body, headers)
        connection.request(method, path, body=body, headers=fields)
        return connection

    def open(self, method, path, body=None, headers=None):
        """The response, not read yet."""
        connection = self.send(method, path, body, headers)
        try:
            response = connection.getresponse()
        except TimeoutError:
            hung(method, path)
            raise
        response.connection = connection
        return response

    def ask(self, method, where, body=None, headers=None, **query):
        """One request on a connection that is kept."""
        if query:
            where += ("&" if "?" in where else "?") + urllib.parse.urlencode(query)
        body, fields = self._fields(body, headers)
        for again in (self.kept is not None, False):
            if self.kept is None:
                self.kept = Connection(PORT if self.token is not None else None, self.timeout)
            try:
                self.kept.request(method, where, body=body, headers=fields)
                response = self.kept.getresponse()
                answer = Answer(response, response.read())
                if response.will_close:
                    self.kept = None
                return answer
            except TimeoutError:
                hung(method, where)
                raise
            except (ConnectionError, http.client.BadStatusLine):
                self.kept.close()
                self.kept = None
                if not again:
                    raise
        return None

    def get(self, where, **query):
        return self.ask("GET", where, **query)

    def post(self, path, body=None, headers=None, **query):
        return self.ask("POST", path, {} if body is None else body, headers, **query)

    def put(self, path, body, headers=None, **query):
        return self.ask("PUT", path, body, headers, **query)

    def delete(self, path, **query):
        return self.ask("DELETE", path, **query)

    def events(self, method, path, body=None, headers=None):
        return Events(self.open(method, path, body, headers))

    def run(self, headers=None, **args):
        return self.post("/v1/runs", dict(BEST, **args), headers)

    def box(self, **args):
        answer = self.post("/v1/sandboxes", dict(BEST, **args))
        if answer.status != 201:
            raise RuntimeError("no sandbox: %r" % answer)
        return "/v1/sandboxes/" + answer.json["id"]


def serve(api, box, port=8080):
    """A web server inside, whose port is open."""
    api.post(box + "/ports", {"port": port})
    api.post(box + "/exec", {"command": "python3 -m http.server %d" % port, "background": True})
    wait_until(lambda: api.get("%s/ports/%d/" % (box, port)).status == 200)


class Events:
    """Server-sent events as they come: (name, id, data)."""

    def __init__(self, response):
        self.response = response
        self.comments = 0

    def __iter__(self):
        name, number, data = None, None, []
        while True:
            line = self.response.readline()
            if not line:
                return
            line = line.rstrip(b"\n").decode()
            if not line:
                if data:
                    yield name, number, json.loads("\n".join(data))
                name, number, data = None, None, []
            elif line.startswith(":"):
                self.comments += 1
            else:
                key, _, value = line.partition(": ")
                if key == "event":
                    name = value
                elif key == "id":
                    number = int(value)
                elif key == "data":
                    data.append(value)

    def close(self):
        self.response.close()
        self.response.connection.close()


def refused(name, answer, status, code, word=None):
    """An error of the contract's shape that names what is wrong."""
    try:
        good = answer.status == status and answer.code.split(".")[0] == code
        good = good and set(answer.json["error"]) >= {"code", "message", "remedy"}
        if good and word:
            good = word in answer.message
    except (ValueError, KeyError, TypeError):
        good = False
    return check("%s: %d %s%s" % (name, status, code, ", names " + word if word else ""), good,
                 answer)


def raw(data, tcp=False, timeout=60, half=False, until=None):
    """Bytes to the server; all that comes back until it closes, or until `until` is in it. Who is kept waiting for
    the end of a connection that stays wants `until`."""
    s = socket.create_connection(("127.0.0.1", PORT)) if tcp else socket.socket(socket.AF_UNIX)
    if not tcp:
        s.connect(SOCKET)
    s.settimeout(timeout)
    got = b""
    try:
        s.sendall(data)
        if half:
            s.shutdown(socket.SHUT_WR)
        while until is None or until not in got:
            part = s.recv(65536)
            if not part:
                break
            got += part
    except (ConnectionError, socket.timeout) as e:
        got += ("<%s>" % type(e).__name__).encode()
        say("  %s behind %r" % (type(e).__name__, data[:60]))
    s.close()
    return got


def memory(field, pid=None):
    """Of the API process, in KiB; for root's it is another user's and still readable."""
    with open("/proc/%d/status" % (pid or PID)) as f:
        for line in f:
            if line.startswith(field + ":"):
                return int(line.split()[1])
    return None
