#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Servers of the egress tests, in a network namespace of their own.

servers.py far DIR CERT KEY: DNS on port 53, HTTP on 80, HTTP gone wrong on 81, one that counts what it
is sent on 82, TLS with HTTP on 443 (for the name N with DIR/N.pem where that is) and with kept.py on 444, TLS that
asks for a second hello on 448, echoes of bytes on 22 and 7777. servers.py near DIR: what must not be reached, where pinfold runs. What they see is written to
DIR/dns, DIR/http, DIR/heads, DIR/tcp, DIR/sink, a line each; DIR/up is made when all listen.
"""
import base64
import gzip
import hashlib
import http.server
import os
import socket
import socketserver
import ssl
import struct
import sys
import threading

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import kept  # beside this file
import origin

ROLE, DIR = sys.argv[1:3]
GOOD4, OTHER4, GOOD6 = "198.51.100.2", "198.51.100.3", "2001:db8:e2::2"
ZONE = {
    "good.test": [GOOD4, GOOD6],
    "four.test": [GOOD4],
    "six.test": [GOOD6],
    "other.test": [OTHER4],
    "private.test": ["10.0.0.1"],
    "meta.test": ["169.254.169.254"],
    "loop.test": ["127.0.0.1"],
    "loop6.test": ["::1"],
    "mapped.test": ["::ffff:127.0.0.1"],
    "host.test": ["198.51.100.1"],
    "nat64.test": ["64:ff9b::198.51.100.1"],
    "six-to-four.test": ["2002:c633:6401::1"],
    "mixed.test": [GOOD4, "10.0.0.1"],
    "dead.test": ["198.51.100.77"],
    "shut.test": ["198.51.100.4"],
    "kept.test": [GOOD4],  # for a minute; the others for no time
    "expired.test": [GOOD4],
    "self.test": [GOOD4],
}
ALIASES = {"inner.test": "private.test", "outer.test": "other.test"}
REDIRECTS = {"/redirect": "http://169.254.169.254/latest/", "/to-four": "https://four.test/"}
lock = threading.Lock()
asked = {}


def log(name, line):
    with lock, open(os.path.join(DIR, name), "a") as f:
        f.write(line + "\n")


def addresses(name):
    if name.endswith(".rebind.test"):
        asked[name] = asked.get(name, 0) + 1
        return [GOOD4] if asked[name] <= 2 else ["127.0.0.1"]  # A and AAAA of the first time
    if name == "many.test":
        return [f"198.51.100.{i}" for i in range(2, 66)]
    if name.endswith(".wild.test"):
        return [GOOD4]
    if name.endswith(".nip.test"):  # whose names say their addresses
        return [name[:-9]]
    return ZONE.get(name)


class Dns(socketserver.BaseRequestHandler):
    def handle(self):
        data, sock = self.request
        at, labels = 12, []
        while data[at]:
            labels.append(data[at + 1 : at + 1 + data[at]].decode("latin-1"))
            at += 1 + data[at]
        question = data[12 : at + 5]
        kind = struct.unpack("!H", data[at + 1 : at + 3])[0]
        name = ".".join(labels).lower()
        log("dns", f"{name} {kind}")
        answers = b""
        n = 0
        if name in ALIASES:
            name = ALIASES[name]
            raw = b"".join(bytes([len(p)]) + p.encode() for p in name.split(".")) + b"\0"
            answers, n = struct.pack("!HHHIH", 0xC00C, 5, 1, 0, len(raw)) + raw, 1
        found = addresses(name)
        owner = 0xC000 | (12 + len(question) + 12) if n else 0xC00C
        for text in found or []:
            family = socket.AF_INET6 if ":" in text else socket.AF_INET
            if kind != (28 if ":" in text else 1):
                continue
            raw = socket.inet_pton(family, text)
            ttl = 60 if name == "kept.test" else 0
            answers += struct.pack("!HHHIH", owner, kind, 1, ttl, len(raw)) + raw
            n += 1
        head = data[:2] + struct.pack("!HHHHH", 0x8180 | (0 if found else 3), 1, n, 0, 0)
        sock.sendto(head + question + answers, self.client_address)


class Http(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # head and body are sent apart

    def answer(self):
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length) if length else b""
        if self.headers.get("Transfer-Encoding") == "chunked":
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        log("http", f"{self.command} {self.headers.get('Host')} {self.path} {len(body)} "
            f"{self.server.server_address[1]} {','.join(sorted(k.lower() for k in self.headers))}")
        log("keys", self.headers.get("Authorization", "none"))
        log("heads", f"{self.headers.get('Host')} {self.path} {self.headers.items()}")
        if self.path.startswith(origin.PREFIXES):
            origin.answer(self, DIR, body)
            return
        if self.path in REDIRECTS:
            self.send_response(302)
            self.send_header("Location", REDIRECTS[self.path])
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if self.path.startswith("/big/"):
            size = int(self.path[5:])
            self.send_response(200)
            self.send_header("Content-Length", str(size))
            self.end_headers()
            left = size
            while left:
                left -= self.wfile.write(b"x" * min(left, 1 << 20))
            return
        if self.path == "/chunks":
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for i in range(5):
                self.wfile.write(b"3\r\nab%d\r\n" % i)
            self.wfile.write(b"0\r\n\r\n")
            return
        if self.path == "/end":  # as long as the connection lasts
            self.close_connection = True
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"to the end")
            return
        if self.path.startswith("/ws") and self.headers.get("Upgrade"):
            self.websocket()
            return
        if self.path.startswith("/echo"):
            self.echo((self.path + "\n" + str(self.headers)).encode())
            return
        text = b"hello " + self.headers.get("Host", "").encode() + b" " + body[:100]
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)

    def websocket(self):
        """Opens one, or says that it does, and echoes what frames hold; by the path's name."""
        key = self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        accept = base64.b64encode(hashlib.sha1(key.encode()).digest()).decode()
        self.close_connection = True
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", "x" * 28 if self.path == "/ws-wrong" else accept)
        if self.path == "/ws-packed":
            self.send_header("Sec-WebSocket-Extensions", "permessage-deflate")
        self.end_headers()
        if self.path == "/ws-key":
            key = self.headers.get("Authorization", "none").encode()
            self.wfile.write(bytes([0x81, len(key)]) + key)
        while len(head := self.rfile.read(2)) == 2:
            size = head[1] & 127
            if size == 126:
                size = struct.unpack("!H", self.rfile.read(2))[0]
            mask = self.rfile.read(4)
            text = bytes(b ^ mask[i % 4] for i, b in enumerate(self.rfile.read(size)))
            log("ws", text[:40].decode("latin-1"))
            long = struct.pack("!BH", 126, size) if size > 125 else bytes([size])
            self.wfile.write(bytes([head[0]]) + long + text)
            if head[0] & 15 == 8:
                return

    def echo(self, text):
        """What was asked, in the answer; .chunks: byte by byte; .gzip: packed; .utf16: in that; .gzip.too: and says both; .part: as
        a part."""
        packed = self.path.startswith("/echo.gzip")
        chunks = self.path.startswith("/echo.chunks")
        text = gzip.compress(text) if packed else text.decode().encode("utf-16-le") if ".utf16" in self.path else text
        self.send_response(206 if self.path.startswith("/echo.part") else 200)
        self.send_header("X-Echo", self.headers.get("Authorization", "none"))
        if packed:
            self.send_header("Content-Encoding", "identity, gzip" if ".too" in self.path else "gzip")
        if chunks:
            self.send_header("Transfer-Encoding", "chunked")
        else:
            self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        if not chunks:
            self.wfile.write(text)
            return
        for i in range(len(text)):
            self.wfile.write(b"1\r\n" + text[i:i + 1] + b"\r\n")
        self.wfile.write(b"0\r\n\r\n")

    do_GET = do_POST = do_PUT = do_HEAD = do_OPTIONS = do_DELETE = answer

    def log_message(self, *args):
        pass


class Odd(socketserver.BaseRequestHandler):
    """An HTTP server that answers wrongly, by the path's name."""

    ANSWERS = {
        "/both": b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "/two": b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc",
        "/switch": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
        "/flood": b"HTTP/1.1 100 Continue\r\n\r\n" * 1000,
        "/bomb": b"HTTP/1.1 200 OK\r\n" + b"X-A: " + b"a" * 60000 + b"\r\n\r\n",
        "/short": b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc",
        "/none": b"",
        "/split": b"HTTP/1.1 302 OK\r\nLocation: /a\rSet-Cookie: b\r\nContent-Length: 0\r\n\r\n",
        "/fold": b"HTTP/1.1 200 OK\r\nX: a\r\n Content-Length: 9\r\nContent-Length: 0\r\n\r\n",
        "/endless": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        "/chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff1\r\n",
    }

    def handle(self):
        data = b""
        while b"\r\n\r\n" not in data:
            more = self.request.recv(4096)
            if not more:
                return
            data += more
        try:
            path = data.split(b" ")[1].decode()
            self.request.sendall(self.ANSWERS.get(path, b"nonsense\r\n\r\n"))
            while path == "/endless":
                self.request.sendall(b"10000\r\n" + b"x" * 65536 + b"\r\n")
        except OSError:
            pass


class Sink(socketserver.BaseRequestHandler):
    """Answers each GET, and nothing else; how much came for which host is told at the end."""

    def handle(self):
        first = data = self.request.recv(65536)
        total = 0
        while data:
            total += len(data)
            if first.startswith(b"GET"):
                for _ in range(data.count(b"\r\n\r\n")):
                    self.request.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            try:
                data = self.request.recv(65536)
            except OSError:
                break
        host = first.partition(b"Host: ")[2].partition(b"\r\n")[0].decode()
        log("sink", f"{host} {total}")


class Echo(socketserver.BaseRequestHandler):
    def handle(self):
        log("tcp", f"{self.client_address[0]} {self.server.server_address[1]}")
        while data := self.request.recv(65536):
            self.request.sendall(data)


class Threads(socketserver.ThreadingMixIn, socketserver.TCPServer):
    address_family = socket.AF_INET6
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 2048

    def handle_error(self, request, client_address):
        pass


class Https(Threads):
    def __init__(self, *args):
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(*sys.argv[3:5])
        self.context.sni_callback = self.choose
        super().__init__(*args)

    @staticmethod
    def choose(tls, name, _):
        """Some names have a certificate of their own; it has to be there when it is put in."""
        log("sni", f"{name}")
        path = os.path.join(DIR, f"{name}.pem")
        if name and os.path.exists(path):
            own = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            own.load_cert_chain(path)
            tls.context = own

    def finish_request(self, request, client_address):
        log("tcp", f"{client_address[0]} {self.server_address[1]}")
        with self.context.wrap_socket(request, server_side=True) as tls:
            self.RequestHandlerClass(tls, client_address, self)


class Choosy(Https):
    """Takes keys of one kind only: who offers another is asked for a second hello."""

    def __init__(self, *args):
        super().__init__(*args)
        self.context.set_ecdh_curve("prime256v1")


class Udp(socketserver.UDPServer):
    address_family = socket.AF_INET6
    allow_reuse_address = True


if ROLE == "far":
    SERVERS = [Udp(("::", 53), Dns), Threads(("::", 80), Http), Threads(("::", 81), Odd),
               Threads(("::", 82), Sink),
               Https(("::", 443), Http), Https(("::", 444), kept.Kept), Choosy(("::", 448), Http),
               Threads(("::", 7777), Echo), Threads(("::", 22), Echo)]
else:
    SERVERS = [Threads(("::", port), Echo) for port in (22, 80, 443, 7777)]
for server in SERVERS:
    threading.Thread(target=server.serve_forever, daemon=True).start()
for name in "dns", "http", "heads", "tcp", "sni", "sink", "up":
    open(os.path.join(DIR, name), "a").close()
threading.Event().wait()
