# SPDX-License-Identifier: Apache-2.0
"""Inside a sandbox: WebSockets, by hand. Each case is a line: its name, then the status or what came
back. ws.py CASE..., where a case is NAME=URL, with a message behind a blank where one is sent."""
import os
import socket
import ssl
import struct
import sys
import urllib.parse

KEY = "dGhlIHNhbXBsZSBub25jZQ=="
FIELDS = {"Upgrade": "websocket", "Connection": "keep-alive, Upgrade", "Sec-WebSocket-Key": KEY,
          "Sec-WebSocket-Version": "13", "Sec-WebSocket-Extensions": "permessage-deflate"}


def frame(text, code=0x81):
    mask = b"\x37\xfa\x21\x3d"
    size = bytes([0x80 | len(text)]) if len(text) < 126 else struct.pack("!BH", 0xFE, len(text))
    return bytes([code]) + size + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(text))


def opened(url, fields, method="GET"):
    u = urllib.parse.urlsplit(url)
    s = socket.create_connection((u.hostname, 443 if u.scheme == "wss" else 80), 30)
    s.settimeout(30)
    if u.scheme == "wss":
        s = ssl.create_default_context().wrap_socket(s, server_hostname=u.hostname)
    lines = "".join(f"{k}: {v}\r\n" for k, v in fields.items())
    s.sendall(f"{method} {u.path} HTTP/1.1\r\nHost: {u.hostname}\r\n{lines}\r\n".encode())
    f = s.makefile("rb")
    status = int(f.readline().split()[1])
    head = {}
    while line := f.readline().strip():
        name, value = line.decode().split(": ", 1)
        head[name.lower()] = value
    return s, f, status, head


def message(f):
    head = f.read(2)
    if len(head) < 2:
        return b"nothing"
    size = head[1]
    if size == 126:
        size = struct.unpack("!H", f.read(2))[0]
    return f.read(size)


def talk(url, text):
    s, f, status, head = opened(url, FIELDS)
    if status != 101:
        return status
    good = head["sec-websocket-accept"] == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
    if text is None:
        return message(f) if url.endswith("-key") else good
    try:
        s.sendall(frame(text[:5], 0x01) + frame(text[5:], 0x80))
        first = message(f) + message(f)
        s.sendall(frame(b"", 0x88))
        return first, good, message(f), f.read()
    except OSError:
        return "broken"


def odd(**changed):
    fields = {k: v for k, v in {**FIELDS, **changed}.items() if v}
    return opened("ws://good.test/ws", fields)[2]


for case in sys.argv[1:]:
    name, url = case.split("=", 1)
    url, _, text = url.partition(" ")
    try:
        print(name, talk(url, os.path.expandvars(text).encode() if text else None))
    except Exception as e:
        print(name, type(e).__name__)
if len(sys.argv) > 5:
    print("version", odd(**{"Sec-WebSocket-Version": "8"}))
    print("key", odd(**{"Sec-WebSocket-Key": "short"}), odd(**{"Sec-WebSocket-Key": None}))
    print("body", odd(**{"Content-Length": "3"}))
    print("method", opened("ws://good.test/ws", {}, "WEBSOCKET")[2])
    print("h2c", odd(Upgrade="h2c"), odd(Upgrade="h2c, websocket"))
