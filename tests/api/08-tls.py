# SPDX-License-Identifier: Apache-2.0
"""The API through TLS: streams, large bodies both ways, connections that are kept, slow clients."""
import hashlib
import os
import socket
import ssl

from api import BEST, PORT, TLS, Api, check, memory, run_tests, same, test, wait_until

SIZE = 24 << 20
api = Api(os.environ["TOKEN_ONE"])
TLS_PID = int(os.environ["TLS_PID"])


def connect():
    return TLS.wrap_socket(socket.create_connection(("127.0.0.1", PORT), timeout=60),
                           server_hostname="localhost")


def ended(s):
    """Has the other side closed? Never waits."""
    s.setblocking(False)
    try:
        return s.recv(1) == b""
    except (BlockingIOError, ssl.SSLWantReadError):
        return False
    except OSError:
        return True


# Opened first, looked at last: nobody waits for them meanwhile.
silent = socket.create_connection(("127.0.0.1", PORT))
halfway = socket.create_connection(("127.0.0.1", PORT))
halfway.sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")


@test
def a_run():
    answer = api.run(command=["echo", "hello"])
    same("a run", (answer.status, answer.json["stdout"]["text"]), (200, "hello\n"))


@test
def keep_alive():
    answers = [api.run(command=["echo", str(i)]).json["stdout"]["text"] for i in range(3)]
    same("three on one connection", answers, ["0\n", "1\n", "2\n"])
    check("it was kept", api.kept is not None and api.kept.sock is not None)


@test
def pipelining():
    s = connect()
    get = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
    s.sendall(get + b"\r\n" + get + b"\r\n" + get + b"Connection: close\r\n\r\n")
    got = b""
    while part := s.recv(65536):
        got += part
    same("three requests at once, three answers, and a proper end", got.count(b'{"status":"ok"}'), 3)


@test
def streams():
    events = api.events("POST", "/v1/runs?stream=1",
                        dict(BEST, command="echo one; exec tail -f /dev/null"))
    run = None
    for name, _, data in events:
        run = data["id"] if name == "started" else run
        if name == "stdout":
            same("output comes while the command runs", data["text"], "one\n")
            break
    events.close()
    check("a client that leaves ends its run", wait_until(
        lambda: api.get("/v1/runs/" + run).json.get("status") not in (None, "running")))


@test
def large():
    box = api.box(ttl="5m", disk="200M", memory="512M")
    data = os.urandom(1 << 20) * (SIZE >> 20)
    before = memory("VmRSS", TLS_PID)
    answer = api.put(box + "/files?path=big", data)
    same("a large upload", (answer.status, answer.json.get("bytes")), (200, SIZE))
    answer = api.get(box + "/files", path="big")
    same("comes back whole", hashlib.sha256(answer.body).digest(), hashlib.sha256(data).digest())
    check("and nobody held it in memory", memory("VmRSS", TLS_PID) - before < 4096)
    # A client that does not read holds up nobody but himself.
    slow = api.open("GET", box + "/files?path=big")
    same("a second client", api.get("/healthz").status, 200)
    check("the slow one is not held in memory either", memory("VmRSS", TLS_PID) - before < 4096)
    same("and has all of it when he reads", hashlib.sha256(slow.read()).digest(),
         hashlib.sha256(data).digest())
    slow.connection.close()
    api.delete(box)


@test
def many():
    held = [connect() for _ in range(200)]
    for s in held:
        s.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
    same("two hundred at a time", sum(b"200 OK" in s.recv(4096) for s in held), 200)
    for s in held[::2]:
        s.close() # without a word
    same("half of them left: the others go on", api.get("/healthz").status, 200)


@test
def garbage():
    for data in (b"GET / HTTP/1.1\r\n\r\n", b"\x80\x2e\x01\x03\x01" + bytes(64), os.urandom(4096),
                 b"\x16\x03\x03\xff\xff" + bytes(20000)):
        s = socket.create_connection(("127.0.0.1", PORT), timeout=60)
        try:
            s.sendall(data)
            while s.recv(4096):
                pass
        except OSError:
            pass
        s.close()
    same("garbage harms nobody", api.get("/healthz").status, 200)


@test
def handshakes_end():
    check("who says nothing is let go", wait_until(lambda: ended(silent), 20))
    check("who begins and does not go on, too", wait_until(lambda: ended(halfway), 20))


run_tests()
