# SPDX-License-Identifier: Apache-2.0
"""Inside a sandbox: many connections, slow ones, ones that nobody reads. gate.py KIND"""
import os
import socket
import sys
import threading

TIMEOUT = 30


def connect(port=7777):
    s = socket.create_connection(("good.test", port), TIMEOUT)
    s.settimeout(TIMEOUT)
    return s


def echo(s, text=b"x"):
    s.sendall(text)
    return s.recv(100) == text


def many():
    """A thousand at once, all of which work."""
    everyone = [connect() for _ in range(1000)]
    for s in everyone:
        s.sendall(b"y")
    print(sum(s.recv(1) == b"y" for s in everyone))


def slow():
    """Who says nothing, or one byte, or does not read, keeps nobody from working."""
    idle = [connect(443) for _ in range(50)] + [connect(80) for _ in range(50)]
    for s in idle[::2]:
        s.sendall(b"\x16" if s.getpeername()[1] == 443 else b"G")
    full = connect(80)
    full.sendall(b"GET /big/30000000 HTTP/1.1\r\nHost: good.test\r\n\r\n")
    stuck = connect()
    stuck.setblocking(False)
    sent = 0
    try:
        while sent < 100 << 20:
            sent += stuck.send(b"z" * 65536)
    except BlockingIOError:
        pass
    print(sent < 100 << 20, echo(connect()))
    half = connect()
    half.sendall(b"last words")
    half.shutdown(socket.SHUT_WR)
    print(half.recv(100), half.recv(100))


def busy():
    """Connects and talks, a line each time, until it cannot; then nothing opens. After a hundred whoever is to end
    that is late, and waited for: there is a limit."""
    everyone = []
    try:
        while everyone.append(connect(80 if len(everyone) % 2 else 7777)) is None:
            everyone[-1].sendall(b"GET / HTTP/1.1\r\nHost: good.test\r\n\r\n")
            if not everyone[-1].recv(100):
                break
            print(len(everyone), flush=True)
            if len(everyone) == 101:
                everyone[-1].settimeout(None)
                while everyone[-1].recv(100):
                    pass
    except OSError:
        pass
    shut()


def crowd():
    """Many at once, which open, talk and close without end; a line for each that worked. Then nothing opens."""
    def one(i):
        try:
            while True:
                s = connect(80 if i % 2 else 7777)
                s.sendall(b"GET / HTTP/1.1\r\nHost: good.test\r\n\r\n")
                if not s.recv(100):
                    return
                os.write(1, b"x\n")
                if i % 3:
                    s.close()
                else:
                    kept[i] = s
        except OSError:
            pass

    kept = {}
    threads = [threading.Thread(target=one, args=(i,)) for i in range(12)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for s in kept.values():
        try:
            s.sendall(b"x" * 4096)
            while s.recv(65536):
                pass
        except OSError:
            pass
    shut()


def wait():
    """Says that it is connected, then waits for its connection to break; then nothing opens."""
    s = connect()
    print("connected" if echo(s) else "broken", flush=True)
    s.settimeout(None)
    try:
        print("end" if s.recv(1) == b"" else "bytes")
    except ConnectionResetError:
        print("end")
    shut()


def answers(host, port, question):
    """A process that is being killed closes its sockets one by one: one that listens may still take a connection
    after another was closed, but nobody is there to read from it."""
    try:
        with socket.create_connection((host, port), 3) as s:
            s.sendall(question)
            return s.recv(1) != b""
    except OSError:
        return False


def shut():
    connect_line = b"CONNECT good.test:7777 HTTP/1.1\r\nHost: good.test:7777\r\n\r\n"
    for host, port, question in (("good.test", 7777, b"x"), ("198.51.100.2", 7777, b"x"),
                                 ("127.0.0.1", 3128, connect_line)):
        print(f"opened {host}" if answers(host, port, question) else "refused")


globals()[sys.argv[1]]()
