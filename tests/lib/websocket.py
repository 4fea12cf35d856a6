# SPDX-License-Identifier: Apache-2.0
"""A client of WebSockets for tests, by hand: it can also say what none should."""
import base64
import hashlib
import json
import os
import socket
import struct

from api import PORT, SOCKET

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10
GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class WebSocket:
    """status is that of the answer; what follows it can be read when it is 101."""

    def __init__(self, path, token=None, timeout=60, small=False, **fields):
        self.sock = socket.socket(socket.AF_INET if token else socket.AF_UNIX)
        if small: # what it does not read stays with the server
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.sock.connect(("127.0.0.1", PORT) if token else SOCKET)
        self.sock.settimeout(timeout)
        key = base64.b64encode(os.urandom(16))
        head = {"Host": "localhost", "Connection": "Upgrade", "Upgrade": "websocket",
                "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": key.decode()}
        if token:
            head["Authorization"] = "Bearer " + token
        head.update({k.replace("_", "-"): v for k, v in fields.items()})
        lines = ["GET %s HTTP/1.1" % path] + ["%s: %s" % f for f in head.items() if f[1] is not None]
        self.sock.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        self.buffer = b""
        while b"\r\n\r\n" not in self.buffer:
            part = self.sock.recv(65536)
            if not part:
                break
            self.buffer += part
        self.head, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
        self.status = int(self.head.split()[1]) if self.head else 0
        accept = base64.b64encode(hashlib.sha1(key + GUID).digest())
        self.accepted = self.status == 101 and accept in self.head

    def frame(self, op, data=b"", last=True, mask=b"\x01\x02\x03\x04", bits=0):
        head = bytes([(0x80 if last else 0) | bits | op])
        flag = 0x80 if mask else 0
        if len(data) < 126:
            head += bytes([flag | len(data)])
        elif len(data) < 65536:
            head += bytes([flag | 126]) + struct.pack(">H", len(data))
        else:
            head += bytes([flag | 127]) + struct.pack(">Q", len(data))
        if mask:
            wide = (mask * (len(data) // 4 + 1))[:len(data)]
            data = (int.from_bytes(data, "big") ^ int.from_bytes(wide, "big")).to_bytes(len(data), "big")
        self.sock.sendall(head + (mask or b"") + data)

    def say(self, **control):
        self.frame(TEXT, json.dumps(control).encode())

    def type(self, data):
        self.frame(BINARY, data if isinstance(data, bytes) else data.encode())

    def _bytes(self, n):
        while len(self.buffer) < n:
            part = self.sock.recv(65536)
            if not part:
                raise EOFError
            self.buffer += part
        taken, self.buffer = self.buffer[:n], self.buffer[n:]
        return taken

    def next(self):
        """(op, payload); a server's frames are whole and bare."""
        first, second = self._bytes(2)
        n = second & 0x7f
        if n == 126:
            n, = struct.unpack(">H", self._bytes(2))
        elif n == 127:
            n, = struct.unpack(">Q", self._bytes(8))
        assert first & 0x80 and not second & 0x80
        return first & 0xf, self._bytes(n)

    def event(self, name):
        """The next text of that name; what comes before it is dropped."""
        while True:
            op, data = self.next()
            if op == TEXT and json.loads(data)["event"] == name:
                return json.loads(data)
            assert op != CLOSE, data

    def until(self, word):
        """Bytes up to and with `word`."""
        got = b""
        while word not in got:
            op, data = self.next()
            assert op != CLOSE, (got, data)
            got += data if op == BINARY else b""
        return got

    def rest(self):
        """All to the end: bytes, events, and the code and reason of the close frame."""
        got, events, code, why = [], [], None, b""
        try:
            while True:
                op, data = self.next()
                if op == BINARY:
                    got.append(data)
                elif op == TEXT:
                    events.append(json.loads(data))
                elif op == CLOSE:
                    code, why = struct.unpack(">H", data[:2])[0], data[2:]
        except (EOFError, ConnectionError):
            return b"".join(got), events, code, why

    def close(self):
        self.sock.close()
