# SPDX-License-Identifier: Apache-2.0
"""Inside a sandbox: send more than a rule allows, in every way. Prints what came of it."""
import http.client
import socket

TIMEOUT = 30
LIMIT = 262144


def sent_until_cut(send, most):
    """`cut` when send() fails before `most` calls of it, and not at the first."""
    for i in range(most):
        try:
            if not send(i):
                return "cut" if i else "at once"
        except (OSError, http.client.HTTPException):
            return "cut" if i else "at once"
    return "all of it is sent"


def one():
    """One request that is too long."""
    s = socket.create_connection(("good.test", 82), TIMEOUT)
    s.settimeout(TIMEOUT)
    s.sendall(b"POST / HTTP/1.1\r\nHost: good.test:82\r\nContent-Length: 10000000\r\n\r\n")
    return sent_until_cut(lambda i: s.sendall(b"x" * 10000) is None, 1000)


def get(host, path="/", **fields):
    c = http.client.HTTPConnection(host, 82, timeout=TIMEOUT)
    c.request("GET", path, headers=fields)
    status = c.getresponse().status
    c.close()
    return status == 200


def limited():
    """How many connections are good at once; requests in a minute; the length of a head."""
    everyone = []
    for _ in range(4):
        try:  # one too many may end while it is made
            s = socket.create_connection(("c.wild.test", 7777), TIMEOUT)
            s.settimeout(TIMEOUT)
            s.sendall(b"x")
            everyone += [s] if s.recv(1) else []
        except OSError:
            pass
    print("connections:", len(everyone))
    c = http.client.HTTPConnection("c.wild.test", timeout=TIMEOUT)
    got = []
    while not got or (got[-1] == 200 and len(got) < 20):
        c.request("GET", "/")
        r = c.getresponse()
        r.read()
        got.append(r.status)
    print("requests:", got)
    c = http.client.HTTPConnection("c.wild.test", timeout=TIMEOUT)
    c.request("GET", "/", headers={"X": "a" * 600})
    print("head:", c.getresponse().status)


def download():
    c = http.client.HTTPConnection("b.wild.test", timeout=TIMEOUT)
    c.request("GET", "/big/10000000")
    r = c.getresponse()
    try:
        return "all of it" if len(r.read()) > LIMIT else "some"
    except (OSError, http.client.IncompleteRead):
        return "cut"


relay = socket.create_connection(("a.wild.test", 7777), TIMEOUT)
relay.settimeout(TIMEOUT)
print("one:", one())
print("fields:", sent_until_cut(lambda i: get("four.test", X="a" * 4000), 1000))
print("addresses:", sent_until_cut(lambda i: get("six.test", "/?" + "a" * 4000), 1000))
print("relay:", sent_until_cut(lambda i: relay.sendall(b"x" * 4000) is None and relay.recv(65536), 1000))
print("down:", download())
limited()
print("done")
