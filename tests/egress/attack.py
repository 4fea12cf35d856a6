# SPDX-License-Identifier: Apache-2.0
"""Inside a sandbox: try what must not work. Prints a line for each thing that did.

attack.py KIND MODE: every kind is a function below. The last line is "done".
"""
import errno
import socket
import ssl
import struct
import sys

TIMEOUT = 8


def proxy():
    s = socket.create_connection(("127.0.0.1", 3128), TIMEOUT)
    s.settimeout(TIMEOUT)
    return s


def connect(host, port):
    """None: it is refused, or ends at once."""
    try:
        s = socket.create_connection((host, port), TIMEOUT)
        s.settimeout(TIMEOUT)
        return s
    except ConnectionError:
        return None


def answer(s, data):
    """What comes back, b"" for an end or a reset; "hangs" when nothing does."""
    if not s:
        return b""
    try:
        s.sendall(data)
        return s.recv(4096)
    except TimeoutError:
        print("hangs:", data[:80])
        return b""
    except OSError:
        return b""
    finally:
        s.close()


ADDRESSES = """127.0.0.1 127.1 127.0.1 0 0.0.0.0 2130706433 0x7f000001 0x7f.1 0177.0.0.1 017700000001
0x7f.0x0.0x0.0x1 127.0.0.1. 00127.0.0.1 [::1] [::] [::ffff:127.0.0.1] [::ffff:7f00:1] [::127.0.0.1]
[64:ff9b::7f00:1] [64:ff9b::169.254.169.254] [2002:7f00:1::] [2001:0:4136:e378:8000:63bf:80ff:fffe]
[fe80::1%25lo] [fe80::1%lo] [::1%251] localhost localhost. LOCALHOST ip6-localhost foo.localhost
169.254.169.254 2852039166 0xa9fea9fe 0251.0376.0251.0376 169.254.43518 [fd00:ec2::254]
100.100.100.200 10.0.0.1 172.16.0.1 192.168.0.1 198.51.100.1 198.51.100.2 3325256706 198.18.0.1
[fd70:6966:6f6c:6400::1] 224.0.0.1 255.255.255.255 [2001:db8:e2::2] [2001:db8:e2::1]""".split()
NAMES = ["evilgood.test", "good.test.evil.test", "good.tes", "ood.test", "good.test\0.evil.test",
         "evil.test\0.good.test", "evil.test%00.good.test", "good.test@evil.test",
         "evil.test#.good.test", "evil.test?.good.test", "evil.test/.good.test",
         "evil.test\\.good.test", "evil.test\t.good.test", "evil.test%2f.good.test",
         "evil.test\u3002good.test", "good\uff0etest", "good.test\n", "good..test", ".good.test",
         "good.test..", "a" * 250 + ".good.test", "g\u043eod.test", "xn--god-fmc.test",
         "*.test", "*", "", " good.test", "good.test ", "sub.good.test", "other.test", "good.test:",
         "good.test:443", "[good.test]", "good.test%", "1.good.test"]
WHERE = ADDRESSES + NAMES


def spellings():
    """CONNECT, whole URLs and SOCKS to every spelling of a place that no rule names."""
    for host in WHERE:
        raw = host.encode()
        for port in b"443", b"80":
            line = b"CONNECT " + raw + b":" + port + b" HTTP/1.1\r\nHost: " + raw + b"\r\n\r\n"
            if b" 200 " in answer(proxy(), line)[:16]:
                print("CONNECT", host, port)
        url = b"GET http://" + raw + b"/ HTTP/1.1\r\nHost: " + raw + b"\r\n\r\n"
        if b" 200 " in answer(proxy(), url)[:16]:
            print("GET", host)
        if len(raw) < 256:
            s = proxy()
            s.sendall(b"\5\1\0")
            s.recv(2)
            if answer(s, b"\5\1\0\3" + bytes([len(raw)]) + raw + b"\1\xbb")[1:2] == b"\0":
                print("SOCKS", host)


def direct():
    """Addresses that no rule names, without a proxy, on ports that a rule names."""
    for text in ("127.0.0.2", "198.51.100.1", "198.51.100.2", "169.254.169.254", "10.0.0.1",
                 "198.18.0.1", "198.18.77.77", "::ffff:198.51.100.2", "2001:db8:e2::2", "fd00:ec2::254"):
        for port in 80, 443:
            if answer(connect(text, port), b"GET / HTTP/1.1\r\nHost: good.test\r\n\r\n"):
                print("answer of", text, port)


def ports():
    """Other ports and datagrams: refused at once."""
    for host, port in ("good.test", 22), ("good.test", 8080), ("198.51.100.2", 7777), ("good.test", 853):
        try:
            socket.create_connection((host, port), TIMEOUT)
            print("reached", host, port)
        except OSError as e:
            if e.errno != errno.ECONNREFUSED:
                print("not refused:", host, port, e)
    for port in 443, 80, 123, 5353, 5355:
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.settimeout(TIMEOUT)
        s.connect((socket.gethostbyname("good.test"), port))
        try:
            s.send(b"x" * 100)
            s.recv(100)
            print("datagram answered", port)
        except ConnectionRefusedError:
            pass
        except OSError as e:
            print("not refused: datagram", port, e)
    for family, host in (socket.AF_INET, "203.0.113.9"), (socket.AF_INET6, "2001:db8:9::9"):
        s = socket.socket(family, socket.SOCK_DGRAM)
        s.sendto(b"x", (host, 4001))
        s.sendmsg([b"x"], [], 0, (host, 4002))
        s.sendmsg([b"x"], [], 0, (socket.gethostbyname("good.test") if family == socket.AF_INET else host, 443))


def covert():
    """Ways that are neither TCP nor UDP; and whoever answers for the gate itself."""
    for family, kind, protocol in ((socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP),
                                   (socket.AF_INET6, socket.SOCK_DGRAM, socket.IPPROTO_ICMPV6),
                                   (socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP),
                                   (socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW),
                                   (socket.AF_INET, socket.SOCK_STREAM, 132),  # SCTP
                                   (socket.AF_INET, socket.SOCK_DGRAM, 136)):  # UDP-Lite
        try:
            s = socket.socket(family, kind, protocol)
            s.settimeout(TIMEOUT)
            s.connect(("198.51.100.2", 7) if family == socket.AF_INET else ("2001:db8:e2::2", 7))
            s.send(b"\x08\0\xf7\xff\0\0\0\0")
            s.recv(100)
            print("answered:", family, kind, protocol)
        except OSError:
            pass
    for path in b"/", b"/metrics", b"http://127.0.0.1:3128/", b"http://pinfold/", b"*":
        if b" 200 " in answer(proxy(), b"GET " + path + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")[:16]:
            print("the proxy answers for itself:", path)


def hello(name, alpn=None):
    """Bytes of a ClientHello."""
    context = ssl._create_unverified_context()
    if alpn:
        context.set_alpn_protocols(alpn)
    out = ssl.MemoryBIO()
    tls = context.wrap_bio(ssl.MemoryBIO(), out, server_hostname=name)
    try:
        tls.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return out.read()


def with_ech(data):
    """The same with an encrypted_client_hello extension."""
    record, message = data[:5], bytearray(data[5:])
    at = 4 + 2 + 32
    at += 1 + message[at]
    at += 2 + struct.unpack("!H", message[at : at + 2])[0]
    at += 1 + message[at]
    extra = struct.pack("!HH", 0xFE0D, 8) + b"\0" * 8
    size = struct.unpack("!H", message[at : at + 2])[0] + len(extra)
    message[at : at + 2] = struct.pack("!H", size)
    message += extra
    message[1:4] = (len(message) - 4).to_bytes(3, "big")
    return record[:3] + struct.pack("!H", len(message)) + bytes(message)


def is_server(data):
    return data[:1] == b"\x16"  # a handshake record: an answer of a server


def tls():
    """Names in TLS that are not the name that was connected to."""
    good = hello("good.test")
    cases = {
        "another name": hello("other.test"),
        "a suffix": hello("evilgood.test"),
        "no name": hello(None),
        "an address": hello("198.51.100.2"),
        "a hidden name": with_ech(good),
        "SSLv2": b"\x80\x2e\x01\x03\x01\x00\x15\x00\x00\x00\x10" + b"\0" * 37,
        "plain HTTP": b"GET / HTTP/1.1\r\nHost: good.test\r\n\r\n",
        "SSH": b"SSH-2.0-OpenSSH_9.0\r\n",
        "nonsense": b"\x16\x03\x01\xff\xff" + b"\0" * 40000,
        "another version": b"\x17" + good[1:],
    }
    for what, data in cases.items():
        for via in "direct", "CONNECT":
            if via == "direct":
                s = socket.create_connection(("good.test", 443), TIMEOUT)
            else:
                s = proxy()
                s.sendall(b"CONNECT good.test:443 HTTP/1.1\r\nHost: good.test:443\r\n\r\n")
                if b" 200 " not in s.recv(4096):
                    print("CONNECT itself fails")
            s.settimeout(TIMEOUT)
            if is_server(answer(s, data)):
                print("TLS,", what, via)
    # And what is good, however it is cut.
    for cut in 1, 5, 7, 60, len(good) - 1:
        s = socket.create_connection(("good.test", 443), TIMEOUT)
        s.settimeout(TIMEOUT)
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        s.sendall(good[:cut])
        if not is_server(answer(s, good[cut:])):
            print("a good hello is refused, cut at", cut)
    s = socket.create_connection(("good.test", 443), TIMEOUT)
    s.settimeout(TIMEOUT)
    body = good[5:]
    pieces = [good[:3] + struct.pack("!H", len(p)) + p for p in (body[:50], body[50:])]
    if not is_server(answer(s, b"".join(pieces))):
        print("a good hello is refused, in two records")


def leads():
    """Names that rules allow and that lead to places which they must not."""
    for name in ("private.test", "meta.test", "loop.test", "loop6.test", "mapped.test", "host.test",
                 "nat64.test", "six-to-four.test",
                 "mixed.test", "many.test", "inner.test", "127.0.0.1.nip.test", "10.0.0.1.nip.test",
                 "169.254.169.254.nip.test"):
        for port in 80, 443, 7777:
            data = answer(connect(name, port), hello(name) if port == 443 else
                          b"GET / HTTP/1.1\r\nHost: %s\r\n\r\n" % name.encode())
            if data and b" 502 " not in data[:16]:
                print("an answer of", name, port, data[:40])


def rebind():
    def ask():
        return answer(connect(sys.argv[-1] + ".rebind.test", 7777), b"x")

    if ask() != b"x":
        print("the first time fails")
    for _ in range(3):
        if ask():
            print("rebound")


globals()[sys.argv[1]]()
print("done")
