# SPDX-License-Identifier: Apache-2.0
"""A server that keeps connections, and does with them what it should not, by the path's name.

An answer says on which connection it was given, as which of its requests, and whether TLS was resumed.
What has no path of its own is answered well.
"""
import socketserver
import threading

OK = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s"
POISON = OK % (6, b"poison")
ODD = {
    "/extra": (b"", POISON),
    "/after": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "/junk": (b"", b"\r\n"),
    "/hints": (b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * 2, b""),
}
count, waiting, lock = 0, [], threading.Lock()


class Kept(socketserver.BaseRequestHandler):
    def head(self):
        data = b""
        while b"\r\n\r\n" not in data:
            more = self.request.recv(1)
            if not more:
                return None
            data += more
        return data

    def say(self, text, before=b"", after=b"", status=b"200 OK"):
        self.request.sendall(before + OK.replace(b"200 OK", status) % (len(text), text) + after)

    def one(self, method, path, here, head):
        if path == "/early":  # nobody reads what is announced
            self.say(here)
        elif path == "/late":  # and the rest when somebody says so
            self.say(here)
            waiting.append(self.request)
        elif path == "/go":
            for other in waiting:
                other.sendall(POISON)
            waiting.clear()
            self.request.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
            return False
        elif path == "/tied":
            self.say(here, status=b"401 Unauthorized")
        elif path == "/end":
            self.request.sendall(b"HTTP/1.1 200 OK\r\n\r\n" + here)
            self.request.unwrap()
            return False
        elif path == "/bye":
            self.say(here)
            return False
        elif path.startswith("/key/"):  # how many different ones came this way
            self.seen.add(head.partition(b"X-Key: ")[2].partition(b"\r\n")[0])
            self.say(here + b" %d" % len(self.seen))
        elif method == "HEAD":
            self.say(here)  # with the body that it may not have
        else:
            self.say(here, *ODD.get(path, (b"", b"")))
        return True

    def handle(self):
        global count
        with lock:
            count += 1
            mine = count
        self.seen, deaf = set(), False
        resumed = b"resumed" if getattr(self.request, "session_reused", False) else b"new"
        try:
            for n in range(1, 100):
                head = self.head()
                if not head or deaf:
                    return  # without a word
                method, path = head.split(b" ")[:2]
                path = path.decode()
                deaf = path == "/deaf"
                if not self.one(method.decode(), path, b"c%d r%d %s" % (mine, n, resumed), head):
                    return
        except OSError:
            pass
