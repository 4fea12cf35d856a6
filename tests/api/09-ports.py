# SPDX-License-Identifier: Apache-2.0
"""Ports inside, forwarded to URLs of the daemon: HTTP and WebSockets, hostile servers and clients."""
import base64
import hashlib
import http.client
import os
import socket

from api import MIB, PORT, Api, check, memory, raw, refused, run_tests, same, test, wait_until
from websocket import BINARY, TEXT, WebSocket

api = Api()
one, two = Api(os.environ["TOKEN_ONE"]), Api(os.environ["TOKEN_TWO"])

# In the sandbox: answers with what it was asked, or with any bytes that the path has in base64.
SERVER = r'''
import base64, hashlib, json, socket, socketserver, sys, threading
go = threading.Event()
class H(socketserver.StreamRequestHandler):
    def handle(self):
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            line = self.rfile.readline()
            if not line:
                return
            head += line
        first = head.split(b"\r\n")[0].decode()
        method, target, _ = first.split(" ")
        fields = [l.decode("latin-1").split(": ", 1) for l in head.split(b"\r\n")[1:-2]]
        low = {k.lower(): v for k, v in fields}
        if target.startswith("/raw/"):
            self.wfile.write(base64.urlsafe_b64decode(target[5:]))
            return
        if target == "/go":
            go.set()
        if target == "/ws":
            return self.websocket(low)
        if target == "/slow":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n")
            go.wait()
            self.wfile.write(b"4\r\nlast\r\n0\r\n\r\n")
            return
        if target == "/deaf":
            go.wait()
            return
        if target.startswith("/big"):
            n = int(target.split("?")[1])
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % n)
            for _ in range(n // 65536):
                self.wfile.write(bytes(65536))
            return
        digest, size = hashlib.sha256(), 0
        for part in self.body(low):
            digest.update(part)
            size += len(part)
        self.connection.setblocking(False)
        more = self.rfile.peek() or b""
        self.connection.setblocking(True)
        text = json.dumps({"first": first, "fields": fields, "size": size, "sha256": digest.hexdigest(),
                           "more": more.decode()}).encode()
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(text))
        if method != "HEAD":
            self.wfile.write(text)
    def body(self, low):
        left = int(low.get("content-length", 0))
        while left:
            part = self.rfile.read(min(left, 65536))
            left -= len(part)
            yield part
        while "transfer-encoding" in low:
            n = int(self.rfile.readline(), 16)
            part = self.rfile.read(n)
            self.rfile.readline()
            if not n:
                return
            yield part
    def websocket(self, low):
        key = low["sec-websocket-key"].encode() + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        self.wfile.write(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                         b"Set-Cookie: a=b\r\nSec-WebSocket-Accept: "
                         + base64.b64encode(hashlib.sha1(key).digest()) + b"\r\n\r\n")
        while True: # frames of up to 125 bytes, back as they came
            head = self.rfile.read(2)
            if len(head) < 2:
                return
            mask, n = self.rfile.read(4), head[1] & 0x7f
            data = bytes(b ^ mask[i % 4] for i, b in enumerate(self.rfile.read(n)))
            self.wfile.write(bytes([head[0], n]) + data)
            if head[0] & 0xf == 8:
                return
class S(socketserver.ThreadingTCPServer):
    daemon_threads = allow_reuse_address = True
class S6(S):
    address_family = socket.AF_INET6
servers = [S(("127.0.0.1", 8080), H), S(("127.0.0.1", 9000), H), S6(("::1", 8081), H)]
full = socket.socket(); full.bind(("127.0.0.1", 8082)); full.listen(0) # takes nobody
print("up", flush=True)
for s in servers:
    threading.Thread(target=s.serve_forever).start()
'''


def serve(who=api, **args):
    box = who.box(memory="256M", **args)
    who.put(box + "/files?path=server.py", SERVER.encode())
    pid = who.post(box + "/exec", {"command": "python3 server.py", "background": True, "time": "1h"}).json["pid"]
    at = "%s/processes/%d/output" % (box, pid)
    if not wait_until(lambda: "up" in str(who.get(at).body)):
        raise RuntimeError(repr(who.get(at)))
    return box


def hostile(box, answer, method="GET"):
    text = base64.urlsafe_b64encode(answer if isinstance(answer, bytes) else answer.encode()).decode()
    return api.ask(method, box + "/ports/8080/raw/" + text)


box = serve(ports=[8080])
at = box + "/ports/8080"


@test
def ports():
    same("a port that was asked for at once", api.get(box + "/ports").json,
         {"items": [{"port": 8080, "url": at + "/"}], "next": None})
    a = api.get(at + "/a/b%20c/../d?x=1&y=%2F")
    same("a request", (a.status, a.json["first"]), (200, "GET /a/b%20c/../d?x=1&y=%2F HTTP/1.1"))
    same("its root", api.get(at + "/").json["first"], "GET / HTTP/1.1")
    refused("one that was not opened", api.get(box + "/ports/9000/"), 403, "denied", "9000")
    refused("also where nothing listens", api.get(box + "/ports/1/"), 403, "denied")
    a = api.post(box + "/ports", {"port": 9000})
    same("opened", (a.status, a.json), (201, {"port": 9000, "url": box + "/ports/9000/"}))
    same("it is there", api.get(box + "/ports/9000/").status, 200)
    same("closed", api.delete(box + "/ports/9000").status, 204)
    refused("it is not", api.get(box + "/ports/9000/"), 403, "denied")
    refused("twice", api.delete(box + "/ports/9000"), 404, "not_found")
    api.post(box + "/ports", {"port": 8081})
    same("a server on ::1 alone", api.get(box + "/ports/8081/").status, 200)
    api.post(box + "/ports", {"port": 7})
    refused("nothing listens", api.get(box + "/ports/7/"), 502, "conflict", "7")
    for bad in ({"port": 0}, {"port": 65536}, {"port": "80"}, {}, {"port": -1}):
        refused("%r" % bad, api.post(box + "/ports", bad), 400, "invalid_argument", "port")
    for bad in (["80"], [0], [65536], 80, list(range(1, 18))):
        refused("ports: %r" % (bad,), api.post("/v1/sandboxes", {"ports": bad}), 400, "invalid_argument", "ports")
    for i in range(1000, 1013):
        same("port %d" % i, api.post(box + "/ports", {"port": i}).status, 201)
    refused("a seventeenth", api.post(box + "/ports", {"port": 1013}), 429, "limit_exceeded")
    refused("no slash, no port", api.get(at), 405, "invalid_argument")
    for bad in ("/ports/x/", "/ports/0/", "/ports/65536/", "/ports/8080%2f..%2f/"):
        check("%s" % bad, api.get(box + bad).status in (400, 404))


@test
def fields():
    """What goes in: nothing of ours, nothing of the browser's, nothing that is for one connection."""
    a = one.ask("POST", own + "/x", b"abc", {
        "Cookie": "secret=1", "X-Own": "kept", "Connection": "close, X-Hop", "X-Hop": "hop", "Te": "trailers",
        "Upgrade": "h2c", "Proxy-Authorization": "secret", "Origin": "http://localhost:%d" % PORT,
        "Referer": "http://localhost/secret", "X-Forwarded-For": "6.6.6.6", "Idempotency-Key": "k",
        "Last-Event-ID": "not a number", "Content-Type": "text/x", "Forwarded": "for=6.6.6.6"})
    got = dict(a.json["fields"])
    check("no token, no cookie", "secret" not in str(got) and one.token not in str(a.json) and
          "Authorization" not in got, got)
    same("the server's own host and origin", (got["Host"], got["Origin"]),
         ("localhost:8080", "http://localhost:8080"))
    same("what is the client's is kept", [got[k] for k in ("X-Own", "Content-Type", "Idempotency-Key", "Last-Event-ID")],
         ["kept", "text/x", "k", "not a number"])
    check("what is for one connection is not", not {"X-Hop", "Te", "Upgrade", "X-Forwarded-For", "Forwarded"} & set(got), got)
    same("the prefix is told", got["X-Forwarded-Prefix"], own)
    same("one connection, one request", got["Connection"], "close")
    for method in ("PUT", "PATCH", "DELETE", "OPTIONS", "PURGE"):
        same(method, one.ask(method, own + "/x", b"abc").json["first"].split()[0], method)
    a = one.ask("HEAD", own + "/x")
    check("HEAD", a.status == 200 and a.body == b"" and int(a.headers["content-length"]) > 100, a)
    refused("TRACE", one.ask("TRACE", own + "/x"), 405, "invalid_argument")


@test
def answers():
    """What comes out: nothing that a browser would keep or obey for our origin."""
    a = hostile(box, "HTTP/1.1 201 Fine\r\nSet-Cookie: a=b; Path=/\r\nAccess-Control-Allow-Origin: *\r\n"
                     "Access-Control-Allow-Credentials: true\r\nContent-Security-Policy: default-src *\r\n"
                     "Strict-Transport-Security: max-age=1\r\nClear-Site-Data: \"*\"\r\nService-Worker-Allowed: /\r\n"
                     "Alt-Svc: h3=\":1\"\r\nWWW-Authenticate: Basic\r\nX-Own: kept\r\nConnection: X-Hop\r\nX-Hop: 1\r\n"
                     "Keep-Alive: 5\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nhi")
    same("an answer", (a.status, a.body, a.headers["x-own"], a.headers["content-type"]), (201, b"hi", "kept", "text/html"))
    left = {k.lower() for k in a.headers}
    check("none of it", not left & {"set-cookie", "access-control-allow-origin", "access-control-allow-credentials",
                                    "strict-transport-security", "clear-site-data", "service-worker-allowed", "alt-svc",
                                    "www-authenticate", "x-hop", "keep-alive"}, left)
    same("a page is in an origin of its own", a.headers["content-security-policy"], "sandbox allow-scripts allow-forms")
    same("and says what it is", a.headers["x-content-type-options"], "nosniff")
    for location, want in (("/login?x", at + "/login?x"), ("http://localhost:8080/a", at + "/a"), ("b", "b"),
                           ("http://127.0.0.1:8080/", at + "/"), ("//evil.test/", "//evil.test/"),
                           ("https://example.org/", "https://example.org/")):
        a = hostile(box, "HTTP/1.1 302 Go\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n" % location)
        same("to %s" % location, (a.status, a.headers["location"]), (302, want))
    same("chunks", hostile(box, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\nab\r\n1\r\nc\r\n0\r\nT: 1\r\n\r\n").body, b"abc")
    same("to the end", hostile(box, "HTTP/1.0 200 OK\r\n\r\nabc").body, b"abc")
    same("none", (lambda a: (a.status, a.body))(hostile(box, "HTTP/1.1 204 No\r\n\r\n")), (204, b""))
    same("something before it", hostile(box, "HTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na").body, b"a")
    same("two answers are one", hostile(box, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\naHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nb").body, b"a")


@test
def broken():
    for name, bytes_ in (
            ("nothing", ""), ("no HTTP", "hello\r\n\r\n"), ("a head that ends in the middle", "HTTP/1.1 200 OK\r\nA: b\r\n"),
            ("two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"),
            ("a length and chunks", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
            ("a bare LF", "HTTP/1.1 200 OK\nContent-Length: 0\n\n"), ("a folded line", "HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n"),
            ("a NUL", "HTTP/1.1 200 OK\r\nA: \0\r\n\r\n"), ("a head without end", "HTTP/1.1 200 OK\r\n" + "A: b\r\n" * 120),
            ("a status that is none", "HTTP/1.1 999 OK\r\n\r\n"), ("another protocol", "HTTP/1.1 101 X\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n"),
            ("a body in no body", "HTTP/1.1 204 No\r\nContent-Length: 3\r\n\r\nabc")):
        refused("answered with %s" % name, hostile(box, bytes_), 502, "conflict", "8080")
    for name, bytes_ in (
            ("a length", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"),
            ("chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"),
            ("a chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nabc"),
            ("a chunk's size", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nx\r\n")):
        try:
            got = hostile(box, bytes_)
        except (http.client.HTTPException, ConnectionError):
            got = None
        check("%s that is not kept is no whole answer" % name, got is None or got.status == 502, got)
    head = b"POST " + at.encode() + b"/peek HTTP/1.1\r\nHost: x\r\n"
    for name, fields in (("a length and chunks", b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n"),
                         ("two lengths", b"Content-Length: 3\r\nContent-Length: 4\r\n"),
                         ("chunks in capitals behind", b"Transfer-Encoding: xchunked\r\n"),
                         ("a blank before a colon", b"Content-Length : 3\r\n")):
        got = raw(head + fields + b"\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\n\r\n")
        check("asked with %s" % name, got[:12] in (b"HTTP/1.1 400", b"HTTP/1.1 501"), got[:100])
    got = raw(head + b"Content-Length: 3\r\n\r\nabcGET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n")
    check("what is behind a body stays out", b'"size": 3' in got and b'"more": ""' in got, got)
    got = raw(head + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\n\r\n")
    half = raw(b"GET " + at.encode() + b"/ HTTP/1.1\r\nHost: x\r\n\r\n", half=True)
    check("who sends no more still gets his answer", half.startswith(b"HTTP/1.1 200"), half[:100])
    check("also behind chunks", b'"size": 3' in got and b'"more": ""' in got, got)
    same("it still serves", api.get(at + "/").status, 200)


@test
def bodies():
    data = os.urandom(1 << 20) * 24
    a = api.put(at + "/up", data)
    same("24 MiB in", (a.json["size"], a.json["sha256"]), (len(data), hashlib.sha256(data).hexdigest()))
    a = api.ask("POST", at + "/up", iter([data[:100000], data[100000:5 << 20]]))
    same("in chunks", (a.json["size"], a.json["sha256"]), (5 << 20, hashlib.sha256(data[:5 << 20]).hexdigest()))
    got = raw(b"POST " + at.encode() + b"/up HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc")
    check("who waits is told to go on", got.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200"), got[:100])
    before = memory("VmRSS")
    response = api.open("GET", at + "/big?%d" % (64 << 20))
    check("64 MiB out cost little while nobody reads", memory("VmRSS") - before < 8 * MIB, memory("VmRSS") - before)
    n = 0
    while True:
        part = response.read(1 << 20)
        if not part:
            break
        n += len(part)
    same("and come", n, 64 << 20)
    response.connection.close()


@test
def slow():
    response = api.open("GET", at + "/slow")
    same("what a server has said is there before it ends", response.read(5), b"first")
    waiting = api.send("GET", at + "/deaf")
    same("others are served meanwhile", api.get(at + "/").status, 200)
    same("go", api.get(at + "/go").status, 200)
    same("to its end", response.read(), b"last")
    response.connection.close()
    got = waiting.getresponse()
    same("who waited for nothing hears so", got.status, 502)
    waiting.close()


@test
def websockets():
    ws = WebSocket(at + "/ws")
    check("opened", ws.accepted and b"set-cookie" not in ws.head.lower(), ws.head)
    ws.frame(TEXT, "hällo".encode())
    same("a text and back", ws.next(), (TEXT, "hällo".encode()))
    for i in range(200):
        ws.frame(BINARY, bytes([i]) * 100)
    same("200 frames", [ws.next() for _ in range(200)], [(BINARY, bytes([i]) * 100) for i in range(200)])
    ws.frame(8, b"\x03\xe8bye")
    same("closed by its server", ws.rest()[2:], (1000, b"bye"))
    ws = WebSocket(at + "/nothing")
    same("where there is none", ws.status, 200)
    same("another version", WebSocket(at + "/ws", Sec_WebSocket_Version="8").status, 426)
    same("another origin", WebSocket(at + "/ws", Origin="http://evil.test").status, 403)
    text = base64.urlsafe_b64encode(b"HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                                    b"Sec-WebSocket-Accept: AAAAAAAAAAAAAAAAAAAAAAAAAAA=\r\n\r\n").decode()
    same("an acceptance of something else", WebSocket(at + "/raw/" + text).status, 502)


@test
def tenants():
    same("its owner", one.get(own + "/").status, 200)
    refused("another", two.get(own + "/"), 404, "not_found")
    refused("on the Unix socket", api.get(own + "/"), 404, "not_found")
    refused("without a token", Api("").get(own + "/"), 401, "unauthenticated")
    same("a WebSocket of another", WebSocket(own + "/ws", two.token).status, 404)
    refused("another cannot open one", two.post(own.rsplit("/", 1)[0], {"port": 9000}), 404, "not_found")
    refused("nor close one", two.delete(own), 404, "not_found")
    other = serve(two)
    refused("each has his own: not opened there", two.get(other + "/ports/8080/"), 403, "denied")
    two.delete(other)
    host = socket.socket()
    host.bind(("127.0.0.1", 0))
    host.listen()
    port = host.getsockname()[1]
    one.post(own.rsplit("/", 1)[0], {"port": port})
    refused("a port of the host is not to be had", one.get(own.rsplit("/", 1)[0] + "/%d/" % port), 502, "conflict")
    one.delete(own.rsplit("/ports", 1)[0])
    refused("with the sandbox its ports end", one.get(own + "/"), 404, "not_found")


own = serve(one, ports=[8080]) + "/ports/8080"
run_tests()
api.delete(box)
