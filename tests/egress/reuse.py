# SPDX-License-Identifier: Apache-2.0
"""Inside a sandbox: clients one after the other, each on a connection of its own, of a server that keeps
connections (kept.py). reuse.py KIND prints what was wrong, then "done".
"""
import http.client
import socket
import ssl
import sys

TIMEOUT = 30
TLS = ssl.create_default_context()


def connect(host="good.test"):
    return http.client.HTTPSConnection(host, 444, timeout=TIMEOUT, context=TLS)


def ask(path, method="GET", on=None, body=None, host="good.test", **fields):
    """(connection, request, resumed, the rest) of an answer; a client that ends unless `on` is one."""
    c = on or connect(host)
    c.request(method, path, body=body, headers=fields)
    r = c.getresponse()
    text = r.read().decode()
    if not on:
        c.close()
    words = text.split() if method != "HEAD" else ["HEAD"]
    return words + [""] * (4 - len(words)) if r.status in (200, 401) else [str(r.status)]


def is_at(what, got, same_as=None, request=None):
    """same_as: the connection that it has to be on; else it must be a new one."""
    good = got[0] == same_as and got[1] == request if same_as else got[1:2] == ["r1"]
    if not good:
        print(what, got, "instead of", same_as or "a new connection", request or "")


def works():
    one = ask("/a")
    is_at("the first", one)
    is_at("another client", ask("/b"), one[0], "r2")
    is_at("with hints before", ask("/hints"), one[0], "r3")
    is_at("and after them", ask("/c", Connection="close"), one[0], "r4")
    is_at("a client that wanted an end", ask("/d"), one[0], "r5")
    both = [connect(), connect()]
    a, b = (ask("/e", on=c) for c in both)
    if a[0] == b[0]:
        print("two at once share", a, b)
    if b[2] != "resumed":
        print("a second connection is not resumed", b)
    post = ask("/f", "POST", body="x")
    is_at("what cannot be sent twice", post)
    if post[2] != "resumed":
        print("nor is one after another", post)
    ask("/deaf")
    is_at("a server that ends without a word", ask("/g"))
    is_at("another rule", ask("/other/a"))
    is_at("a client's own connection", ask("/h", on=both[1]), b[0], "r2")
    is_at("by another rule", ask("/other/a", on=both[1]), b[0], "r3")
    for c in both:
        c.close()


def attacks():
    early()
    for path in "/extra", "/after", "/junk", "/tied", "/end", "/bye", "/late":
        odd = ask(path)
        if path == "/late":
            ask("/go", "POST")
            ask("/other/a")  # on a connection of its own: what was sent before has arrived
        is_at("behind " + path, ask("/plain"))
        c = connect()
        ask(path, on=c)
        try:
            got = ask("/plain", on=c)
        except (http.client.HTTPException, OSError):
            got = ["", "r1"]  # it was closed, which is as good
        if path not in ("/late", "/tied"):  # this one says it later, the other to its own client
            is_at("behind " + path + ", the same client", got)
        c.close()
        ask("/go", "POST")
        if "poison" in odd + got:
            print("poison", path)
    ask("/plain", "HEAD")
    is_at("behind the body of an answer to HEAD", ask("/plain"))


def early():
    """The answer is there before the request is: what follows would be its rest."""
    raw = TLS.wrap_socket(socket.create_connection(("good.test", 444), TIMEOUT), server_hostname="good.test")
    raw.sendall(b"POST /early HTTP/1.1\r\nHost: good.test:444\r\nContent-Length: 1000\r\n\r\n" + b"x" * 10)
    raw.recv(4096)
    raw.close()
    is_at("behind an answer that came early", ask("/plain"))


def errands():
    """Requests with a secret, with another and with none share no connection, of one client or of many."""
    c = connect()
    for i in range(3):
        for name in "a", "b", "none":
            for on in None, c:
                got = ask("/key/" + name, on=on)
                if got[3:4] != ["1"]:
                    print("shared", name, got)


def names():
    """A server that is known again is known by one name."""
    ask("/a", Connection="close")
    print(ask("/a", host="other.test")[0])


def counted():
    is_at("the first", ask("/a"))
    is_at("the second", ask("/b"))
    is_at("the third", ask("/c"))


globals()[sys.argv[1]]()
print("done")
