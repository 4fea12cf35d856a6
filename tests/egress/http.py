# SPDX-License-Identifier: Apache-2.0
"""Inside a sandbox: HTTP that two readers could read differently, sent to good.test and by the proxy.

Each case is sent whole; what comes back is counted by its status. Prints a line for each case that
was not refused, then what pipelines gave, then "done".
"""
import socket

TIMEOUT = 8
HOST = b"Host: good.test\r\n"
POST = b"POST / HTTP/1.1\r\n" + HOST
BAD = {
    "both lengths": POST + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "both, other order": POST + b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n",
    "two lengths": POST + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    "list of lengths": POST + b"Content-Length: 1, 1\r\n\r\na",
    "length with sign": POST + b"Content-Length: +1\r\n\r\na",
    "length in hex": POST + b"Content-Length: 0x1\r\n\r\na",
    "length with space": POST + b"Content-Length: 1 1\r\n\r\na",
    "huge length": POST + b"Content-Length: 99999999999999999999\r\n\r\na",
    "empty length": POST + b"Content-Length:\r\n\r\na",
    "coding xchunked": POST + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "coding twice": POST + b"Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
    "coding identity": POST + b"Transfer-Encoding: identity\r\n\r\n",
    "coding with space": POST + b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
    "coding folded": POST + b"Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
    "coding with tab": POST + b"Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n",
    "coding in quotes": POST + b'Transfer-Encoding: "chunked"\r\n\r\n0\r\n\r\n',
    "coding after a comma": POST + b"Transfer-Encoding: , chunked\r\n\r\n0\r\n\r\n",
    "two codings": POST + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
    "coding with NUL": POST + b"Transfer-Encoding: chunked\0\r\n\r\n0\r\n\r\n",
    "gzip, chunked": POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "chunk 0x": POST + b"Transfer-Encoding: chunked\r\n\r\n0x1\r\na\r\n0\r\n\r\n",
    "chunk sign": POST + b"Transfer-Encoding: chunked\r\n\r\n+1\r\na\r\n0\r\n\r\n",
    "chunk overflow": POST + b"Transfer-Encoding: chunked\r\n\r\n10000000000000001\r\na\r\n",
    "chunk LF": POST + b"Transfer-Encoding: chunked\r\n\r\n1\na\r\n0\r\n\r\n",
    "chunk space": POST + b"Transfer-Encoding: chunked\r\n\r\n1 \r\na\r\n0\r\n\r\n",
    "chunk extension": POST + b"Transfer-Encoding: chunked\r\n\r\n1;\nx\r\na\r\n0\r\n\r\n",
    "chunk trailer": POST + b"Transfer-Encoding: chunked\r\n\r\n0\r\nHost: other.test\nX: \0\r\n\r\n",
    "chunk too long": POST + b"Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n",
    "NUL in a name": b"GET / HTTP/1.1\r\n" + HOST + b"X\0: a\r\n\r\n",
    "CR in a value": b"GET / HTTP/1.1\r\n" + HOST + b"X: a\rb\r\n\r\n",
    "LF in a name": b"GET / HTTP/1.1\r\n" + HOST + b"X\nY: a\r\n\r\n",
    "folded": b"GET / HTTP/1.1\r\n" + HOST + b"X: a\r\n b\r\n\r\n",
    "no colon": b"GET / HTTP/1.1\r\n" + HOST + b"X\r\n\r\n",
    "space in a name": b"GET / HTTP/1.1\r\n" + HOST + b"X Y: a\r\n\r\n",
    "bare LF": b"GET / HTTP/1.1\nHost: good.test\n\n",
    "HTTP/0.9": b"GET /\r\n\r\n",
    "HTTP/9.9": b"GET / HTTP/9.9\r\n" + HOST + b"\r\n",
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "space in a target": b"GET /a b HTTP/1.1\r\n" + HOST + b"\r\n",
    "100 KB of a field": b"GET / HTTP/1.1\r\n" + HOST + b"X: " + b"a" * 100000 + b"\r\n\r\n",
    "10,000 fields": b"GET / HTTP/1.1\r\n" + HOST + b"X: a\r\n" * 10000 + b"\r\n",
    "64 KB of a target": b"GET /" + b"a" * 65536 + b" HTTP/1.1\r\n" + HOST + b"\r\n",
    "two hosts": b"GET / HTTP/1.1\r\n" + HOST + HOST + b"\r\n",
    "no host": b"GET / HTTP/1.1\r\n\r\n",
    "another host": b"GET / HTTP/1.1\r\nHost: other.test\r\n\r\n",
    "another host in the target": b"GET http://other.test/ HTTP/1.1\r\n" + HOST + b"\r\n",
    "CONNECT": b"CONNECT good.test:443 HTTP/1.1\r\nHost: good.test:443\r\n\r\n",
    "user in a target": b"GET http://good.test@other.test/ HTTP/1.1\r\n" + HOST + b"\r\n",
}


def talk(data, where=("good.test", 80)):
    s = socket.create_connection(where, TIMEOUT)
    s.settimeout(TIMEOUT)
    got = b""
    try:
        s.sendall(data)
        s.shutdown(socket.SHUT_WR)
        while more := s.recv(65536):
            got += more
    except TimeoutError:
        print("hangs:", data[:60])
    except OSError:
        pass
    return got


def good(data):
    return data.count(b"HTTP/1.1 200")


for name, data in BAD.items():
    if good(talk(data)):
        print("passed:", name)
proxied = ("127.0.0.1", 3128)
for name, data in BAD.items():
    if name == "CONNECT":
        continue
    whole = data.replace(b" / ", b" http://good.test/ ", 1)
    if b"http://" in whole and good(talk(whole, proxied)):
        print("passed the proxy:", name)
get = b"GET /%d HTTP/1.1\r\n" + HOST + b"\r\n"
print("pipeline:", good(talk(get % 1 + get % 2 + get % 3)))
evil = b"GET / HTTP/1.1\r\nHost: other.test\r\n\r\n"
both = talk(get % 4 + evil + get % 5)
print("pipeline with a bad one:", good(both), b" 403 " in both, b"hello other" in both)
hop = (b"GET /hop HTTP/1.1\r\n" + HOST + b"Connection: X-Inject, Upgrade, HTTP2-Settings\r\n"
       b"X-Inject: 1\r\nProxy-Authorization: Basic YTpi\r\nTE: trailers\r\nUpgrade: h2c\r\n"
       b"HTTP2-Settings: AA\r\nTrailer: X\r\nKeep-Alive: 5\r\nX-Kept: 1\r\nTransfer_Encoding: chunked\r\n"
       b"Content.Length: 5\r\n\r\n")
print("hop by hop:", good(talk(hop)))
print("old:", talk(b"GET /chunks HTTP/1.0\r\n" + HOST + b"\r\n").split(b"\r\n\r\n", 1)[1])
for path in ("both", "two", "switch", "flood", "bomb", "short", "none", "nonsense", "split", "fold",
             "chunk"):
    got = talk(b"GET /%s HTTP/1.1\r\nHost: good.test:81\r\n\r\n" % path.encode(), ("good.test", 81))
    if good(got) and path not in ("short", "chunk") or b"101" in got[:12] or b"Set-Cookie" in got:
        print("an answer gone wrong is passed on:", path, got[:60])
long = b"GET http://good.test/ HTTP/1.1\r\n" + HOST + b"X: " + b"a" * 33000 + b"\r\n\r\n"
print("a head too long for the proxy:", b" 431 " in talk(long, proxied)[:20])
print("done")
