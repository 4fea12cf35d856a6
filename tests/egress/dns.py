# SPDX-License-Identifier: Apache-2.0
"""Inside a sandbox: questions for names, to any server. Prints what came of them."""
import socket
import struct

TIMEOUT = 30


def question(name, kind=1, flags=0x0100, count=1, extra=b""):
    labels = b"".join(bytes([len(p)]) + p for p in name.encode().split(b".") if p) + b"\0"
    return struct.pack("!HHHHHH", 7, flags, count, 0, 0, 0) + labels + struct.pack("!HH", kind, 1) + extra


def ask(data, server=("127.0.0.53", 53)):
    """(code, answers), or None without an answer. From the server's own address, or it is none."""
    s = socket.socket(socket.AF_INET6 if ":" in server[0] else socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(TIMEOUT)
    s.connect(server)  # so that answers from elsewhere are not taken
    s.send(data)
    try:
        got = s.recv(4096)
    except OSError as e:
        return type(e).__name__
    return got[3] & 15, struct.unpack("!H", got[6:8])[0]


def ask_tcp(data, server=("9.9.9.9", 53)):
    s = socket.create_connection(server, TIMEOUT)
    s.sendall(struct.pack("!H", len(data)) + data)
    got = s.recv(4096)
    return (got[5] & 15, struct.unpack("!H", got[8:10])[0]) if got else None


for server in "127.0.0.53", "8.8.8.8", "198.51.100.2", "2001:4860:4860::8888", "::1":
    print(server, ask(question("good.test"), (server, 53)), ask(question("evil.test"), (server, 53)))
print("tcp", ask_tcp(question("good.test")), ask_tcp(question("evil.test"), ("2606:4700::1111", 53)))
print("kinds", [ask(question("good.test", k)) for k in (28, 16, 10, 255, 65, 15, 12)],
      [ask(question("data.evil.test", k)) for k in (16, 10, 255)])
long = ".".join(["a" * 63] * 3) + ".evil.test"
print("long", ask(question(long)), ask(question("A.GooD.TEST")), ask(question("GOOD.Test.")))
print("odd", ask(question("good.test", count=2)), ask(question("good.test", flags=0x2800)))
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for junk in b"", b"\0", b"x" * 600, question("good.test")[:-3], b"\xff" * 12, b"\0" * 12 + b"\xc0\x0c\0\1\0\1":
    s.sendto(junk, ("127.0.0.53", 53))
wild = [ask(question(f"{i:060x}.wild.test")) for i in range(200)]
print("wild", 60 <= wild.count((0, 1)) <= 120, wild.count((5, 0)) >= 80)  # two minutes at most
print("named", ask(question("good.test")))
n = 0
while (got := ask(question("evil.test"))) == (3, 0) and n < 20000:
    n += 1
print("fast", got, n > 300)
