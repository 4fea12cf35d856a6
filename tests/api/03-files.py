# SPDX-License-Identifier: Apache-2.0
"""Files of a sandbox: read, written, listed, watched, whatever they are called."""
import base64
import hashlib
import io
import os
import socket
import tarfile
import threading
import time
import urllib.parse

from api import (BEST, MIB, PAUSE, SOCKET, Api, Connection, check, memory, refused, run_tests, same, skip,
                 test, wait_until)

api = Api()


def at(path, **more):
    return "/files?" + urllib.parse.urlencode(dict(more, path=path))


def sh(box, command):
    r = api.post(box + "/exec", {"command": command}).json
    return r["stdout"]["text"] if r["stdout"]["encoding"] == "utf-8" else r["stdout"]["text"]


@test
def basics():
    box = api.box()
    a = api.put(box + at("a/b/f.txt"), b"hello\n")
    same("written, with the directories above it", (a.status, a.json["bytes"]), (200, 6))
    same("it is there", sh(box, "cat a/b/f.txt; stat -c '%a %U' a/b/f.txt"), "hello\n644 user\n")
    a = api.get(box + at("a/b/f.txt"))
    same("and read", (a.status, a.body), (200, b"hello\n"))
    same("with its type", a.headers["content-type"], "text/plain; charset=utf-8")
    check("and a tag", a.headers["etag"])
    same("by an absolute path", api.get(box + at("/home/user/a/b/f.txt")).body, b"hello\n")
    same("HEAD", api.ask("HEAD", box + at("a/b/f.txt")).headers["content-length"], "6")
    api.put(box + at("a/b/f.txt", mode="append"), b"more\n")
    same("more behind it", sh(box, "cat a/b/f.txt"), "hello\nmore\n")
    api.put(box + at("a/b/f.txt"), b"")
    same("nothing at all", api.get(box + at("a/b/f.txt")).body, b"")
    refused("create what is there", api.put(box + at("a/b/f.txt", mode="create"), b"x"), 409, "conflict")
    same("create what is not", api.put(box + at("new", mode="create"), b"x").status, 200)
    api.put(box + at("run.sh", permissions="755"), b"#!/bin/sh\necho ran\n")
    same("with permissions", sh(box, "./run.sh; stat -c %a run.sh"), "ran\n755\n")
    api.put(box + at("run.sh"), b"#!/bin/sh\necho again\n")
    same("which stay when it is replaced", sh(box, "stat -c %a run.sh"), "755\n")
    for bad in ("999", "abc", "4755", "77777", "-1", "", "0x1f"):
        refused("permissions %r" % bad, api.put(box + at("p", permissions=bad), b"x"), 400,
                "invalid_argument", "permissions")
    refused("mode=other", api.put(box + at("p", mode="other"), b"x"), 400, "invalid_argument", "mode")
    s = api.get(box + "/files/stat?path=run.sh").json
    same("stat", (s["type"], s["size"], s["mode"], s["name"]), ("file", 21, "0755", "run.sh"))
    sh(box, "ln -s /etc/passwd link; mkfifo pipe; mkdir dir")
    s = api.get(box + "/files/stat?path=link").json
    same("stat of a link is the link's", (s["type"], s["target"]), ("symlink", "/etc/passwd"))
    for path, status in (("nothing", 404), ("dir", 409), ("pipe", 403), ("new/below", 404)):
        a = api.get(box + at(path))
        check("reading %s is refused" % path, a.status in (status, 400, 404, 409), a)
    a = api.post(box + "/files/move", {"from": "new", "to": "dir/moved"})
    same("moved", (a.status, api.get(box + at("dir/moved")).body), (204, b"x"))
    refused("what is not there cannot be", api.post(box + "/files/move", {"from": "no", "to": "x"}), 404,
            "not_found", "no:")
    refused("nor to where no directory is", api.post(box + "/files/move", {"from": "dir/moved", "to": "n/x"}), 404,
            "not_found", "to:")
    same("a directory", api.post(box + "/files/mkdir", {"path": "x/y/z"}).status, 204)
    same("is one", api.get(box + "/files/stat?path=x/y/z").json["type"], "directory")
    a = api.delete(box + at("x"))
    check("one that is not empty stays", a.status in (409, 400), a)
    same("unless told", api.delete(box + at("x", recursive="1")).status, 204)
    refused("it is gone", api.get(box + "/files/stat?path=x"), 404, "not_found")
    same("a file is removed", api.delete(box + at("dir/moved")).status, 204)
    refused("not twice", api.delete(box + at("dir/moved")), 404, "not_found")
    for path in ("/usr/bin/x", "/etc/passwd", "/proc/self/mem", "/x"):
        a = api.put(box + at(path), b"x")
        check("writing %s is refused" % path, a.status in (400, 403, 404, 409), a)
    refused("no path", api.get(box + "/files"), 400, "invalid_argument", "path")
    refused("an empty path", api.get(box + "/files?path="), 400, "invalid_argument", "path")
    refused("a path twice", api.get(box + "/files?path=a&path=b"), 400, "invalid_argument", "path")
    refused("a path that is too long", api.get(box + at("x" * 5000)), 400, "invalid_argument", "path")
    refused("an unknown parameter", api.get(box + at("x", follow="1")), 400, "invalid_argument", "follow")
    api.delete(box)


@test
def no_page():
    box = api.box()
    api.put(box + at("x.html"), b"<script>alert(1)</script>")
    got = api.get(box + at("x.html")).headers
    same("a page is no page of ours", (got["content-disposition"], got["content-security-policy"],
                                       got["x-content-type-options"]),
         ("attachment", "sandbox; default-src 'none'", "nosniff"))
    api.delete(box)


def archive(names):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, data in names:
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(data), 0o640
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


@test
def trees():
    box = api.box()
    a = api.put(box + "/files/tar?path=in/side", archive([("a/b", b"one"), ("c", b"two")]))
    same("a tree goes in, and its directory is made", (a.status, a.json["path"]), (200, "in/side"))
    same("it is there", sh(box, "cd in/side; cat a/b c; stat -c %a c"), "onetwo640\n")
    sh(box, "ln -s /etc/passwd in/side/link; mkdir in/side/empty")
    a = api.get(box + "/files/tar", path="in")
    same("and comes out", (a.status, a.headers["content-type"], a.headers["content-disposition"]),
         (200, "application/x-tar", "attachment"))
    tar = tarfile.open(fileobj=io.BytesIO(a.body))
    same("whole", sorted(tar.getnames()), [".", "./side", "./side/a", "./side/a/b", "./side/c", "./side/empty",
                                           "./side/link"])
    same("with links as they are", tar.getmember("./side/link").linkname, "/etc/passwd")
    refused("a directory that is not there", api.get(box + "/files/tar", path="nosuch"), 404, "not_found")
    refused("what is no archive", api.put(box + "/files/tar", b"x" * 5000), 400, "invalid_argument")
    evil = api.put(box + "/files/tar", archive([("../../../tmp/evil", b"x"), ("/etc/evil", b"x")]))
    check("names that lead out stay inside", evil.status in (200, 400) and
          sh(box, "ls /tmp/evil /etc/evil 2>/dev/null; true") in ("", "/tmp/evil\n"), evil)
    check("and off the host", not os.path.exists("/etc/evil"))
    sh(box, "head -c 100M /dev/zero > in/large")
    before, total = memory("VmRSS"), 0
    response = api.open("GET", box + "/files/tar?path=in")
    while True:
        part = response.read(1 << 20)
        if not part:
            break
        total += len(part)
    check("a large one as it comes", total > 100 << 20, total)
    grown = memory("VmRSS") - before
    check("not in the API's memory", grown < 24 * MIB, grown)
    api.delete(box)


@test
def ranges():
    box = api.box()
    data = bytes(range(256)) * 4000
    api.put(box + at("f"), data)
    for spec, status, want in (
            ("bytes=0-0", 206, data[:1]), ("bytes=5-9", 206, data[5:10]), ("bytes=1000000-", 206, data[1000000:]),
            ("bytes=-7", 206, data[-7:]), ("bytes=0-99999999", 206, data), ("bytes=99999999-", 416, b""),
            ("bytes=9-5", 200, data), ("lines=1-2", 200, data), ("bytes=-0", 416, b""),
            ("bytes=0-1,5-6", 200, data), ("bytes=x-y", 200, data),
            ("bytes=99999999999999999999999-", 416, b"")):
        a = api.ask("GET", box + at("f"), headers={"Range": spec})
        check("Range: %s: %d" % (spec, status), a.status == status and (status == 416 or a.body == want),
              (a.status, len(a.body)))
    a = api.ask("GET", box + at("f"), headers={"Range": "bytes=5-9"})
    same("which one it is", a.headers["content-range"], "bytes 5-9/%d" % len(data))
    tag = a.headers["etag"]
    for only, status in ((tag, 206), ('"other"', 200), ("W/" + tag, 200), ("Tue, 17 Nov 2026 10:00:00 GMT", 200)):
        a = api.ask("GET", box + at("f"), headers={"Range": "bytes=5-9", "If-Range": only})
        same("If-Range: %s" % ("that one" if tag in only else only), (a.status, len(a.body)),
             (status, 5 if status == 206 else len(data)))
    for known, status in ((tag, 304), ("W/" + tag, 304), ('"a", %s' % tag, 304), ("*", 304), ('"a"', 200),
                          (tag[:-1], 200), ("", 200)):
        a = api.ask("GET", box + at("f"), headers={"If-None-Match": known})
        same("If-None-Match %s" % known.replace(tag[1:-1], "TAG"), (a.status, a.headers["etag"], len(a.body)),
             (status, tag, 0 if status == 304 else len(data)))
    same("the connection goes on", api.ask("HEAD", box + at("f"), headers={"If-None-Match": tag}).status, 304)
    api.put(box + at("f"), b"other")
    same("when it has changed it is sent", api.ask("GET", box + at("f"), headers={"If-None-Match": tag}).body, b"other")
    api.delete(box)


@test
def conditions():
    box = api.box()

    def put(body, path="f", **fields):
        return api.put(box + at(path), body, {k.replace("_", "-"): v for k, v in fields.items()})

    same("If-None-Match: * of what is not there", put(b"1", If_None_Match="*").status, 200)
    refused("of what is", put(b"2", If_None_Match="*"), 412, "conflict", "If-None-Match")
    tag = api.get(box + at("f")).headers["etag"]
    same("If-Match with its tag", put(b"three", If_Match='"other", ' + tag).status, 200)
    refused("with the tag that it had", put(b"4", If_Match=tag), 412, "conflict", "If-Match")
    refused("of what is not there", put(b"5", "none", If_Match="*"), 412, "conflict", "If-Match")
    same("nothing was written", (api.get(box + at("f")).body, api.get(box + at("none")).status), (b"three", 404))
    refused("nor is it removed", api.ask("DELETE", box + at("f"), headers={"If-Match": tag}), 412, "conflict", "If-Match")
    refused("a part of a file", api.put(box + at("f"), b"x", {"Content-Range": "bytes 0-0/5"}), 400, "invalid_argument",
            "Content-Range")
    tag = api.get(box + at("f")).headers["etag"]
    same("unless it is the one", api.ask("DELETE", box + at("f"), headers={"If-Match": tag}).status, 204)
    api.delete(box)


@test
def lists():
    box = api.box()
    sh(box, "mkdir d; cd d; for i in $(seq 1 250); do echo $i > f$i; done; mkdir -p s/t/u; echo x > s/t/x")
    names, after, pages = [], None, 0
    while True:
        page = api.get(box + "/files/list", path="d", limit=100,
                       **({"after": after} if after else {})).json
        names += [f["name"] for f in page["items"]]
        after, pages = page["next"], pages + 1
        if not after or pages > 10:
            break
    same("pages", (pages, len(names), len(set(names))), (3, 251, 251))
    deep = [f["path"] for f in api.get(box + "/files/list", path="d/s", depth=5).json["items"]]
    same("deeper", sorted(p.split("d/s/")[-1] for p in deep), ["t", "t/u", "t/x"])
    flat = api.get(box + "/files/list", path="d/s").json["items"]
    same("one level", [f["name"] for f in flat], ["t"])
    refused("of what is not there", api.get(box + "/files/list", path="no"), 404, "not_found")
    a = api.get(box + "/files/list", path="d/f1")
    check("of a file", a.status in (400, 409), a)
    refused("depth 0", api.get(box + "/files/list", depth=0), 400, "invalid_argument", "depth")
    refused("depth 65", api.get(box + "/files/list", depth=65), 400, "invalid_argument", "depth")
    same("the home directory when nothing is said",
         [f["name"] for f in api.get(box + "/files/list").json["items"]], ["d"])
    api.delete(box)


STRANGE = ["two words", "new\nline", "tab\t", "a+b", "a%2Fb", "a&b=c", "#x", "?x", "-rf", "~", "*", "$HOME",
           "`id`", "'\"", "\\", "\x01\x1b[2J", "\u00e9", "e\u0301", "\u202e", "\U0001f600", "..x", "...",
           "<script>alert(1)<script>", "x" * 255, "=cmd()", "con.txt", "a;b", "{}", " "]


@test
def strange_names():
    box = api.box()
    wrong = []
    for name in STRANGE:
        a = api.put(box + at("n/" + name), name.encode())
        if a.status != 200 or api.get(box + at("n/" + name)).body != name.encode():
            wrong.append((name, a))
    check("%d strange names are written and read" % len(STRANGE), not wrong, wrong)
    listed = {f["name"] for f in api.get(box + "/files/list", path="n").json["items"]}
    same("and listed as they are", listed, set(STRANGE))
    same("the sandbox sees the same", sh(box, "ls n | wc -l >/dev/null; find n -type f -print0 | tr -cd '\\0'"
                                              " | wc -c"), "%d\n" % len(STRANGE))
    for name in STRANGE[:8]:
        api.delete(box + at("n/" + name))
    same("and removed", len(api.get(box + "/files/list", path="n").json["items"]), len(STRANGE) - 8)
    refused("a name of 256 bytes", api.put(box + at("x" * 256), b"x"), 400, "invalid_argument")
    # What JSON cannot say must not become the name of another file.
    for bad in ("%ff", "a%80b", "%c0%af", "%ed%a0%80", "%fe%fe"):
        for method, path, body in (("GET", "/files?path=" + bad, None), ("PUT", "/files?path=" + bad, b"x"),
                                   ("DELETE", "/files?path=" + bad, None),
                                   ("GET", "/files/stat?path=" + bad, None),
                                   ("GET", "/files/list?path=" + bad, None)):
            refused("%s %s" % (method, path), api.ask(method, box + path, body), 400, "invalid_argument",
                    "path")
    for bad in ("%00", "a%00b", "%", "%4", "%zz"):
        refused("path=%s" % bad, api.get(box + "/files?path=" + bad), 400, "invalid_argument")
    sh(box, "mkdir bad; touch bad/$'\\xff\\xfe' bad/good bad/$'a\\x80b'")
    a = api.get(box + "/files/list", path="bad")
    same("a list with names that are not UTF-8", (a.status, len(a.json["items"])), (200, 3))
    same("can be read", [f["name"] for f in a.json["items"] if f["name"] == "good"], ["good"])
    pages, after = [], {}
    for _ in range(8):
        page = api.get(box + "/files/list", path="bad", limit=1, **after).json
        pages += [base64.b64decode(f["path_base64"]) if "path_base64" in f else f["path"].encode() for f in page["items"]]
        if page["next"] is None:
            break
        after = {"after": page["next"]}
    same("page by page each once, by its bytes", [p.split(b"/bad/")[1] for p in pages], [b"a\x80b", b"good", b"\xff\xfe"])
    refused("a page that is none", api.get(box + "/files/list", path="bad", after="base64:!"), 400, "invalid_argument", "after")
    refused("an id that is not UTF-8", api.get("/v1/sandboxes/%ff/files?path=x"), 404, "not_found")
    api.delete(box)


@test
def out_of_bounds():
    """E12: links and .. lead nowhere but inside."""
    box = api.box()
    host = "/tmp/pinfold-api-%d" % os.getpid()
    with open(host, "w") as f:
        f.write("of the host")
    sh(box, "ln -s / root; ln -s %s host; ln -s /proc/1/root pr; ln -s /proc/self/root ps; ln -s loop loop;"
            "ln -s ../../../../../../.. up" % host)
    leaks = []
    for path in ("host", "root" + host, "up" + host, "pr" + host, "ps" + host, "../../../.." + host, host,
                 "/proc/1/root" + host, "/proc/self/cwd/../.." + host, "loop", "root/root/root" + host,
                 "/proc/self/fd/0", "/dev/fd/3", "/proc/1/environ"):
        for where in (at(path), "/files/list?path=" + urllib.parse.quote(path),
                      "/files/stat?path=" + urllib.parse.quote(path)):
            a = api.get(box + where)
            if b"of the host" in a.body or a.status >= 500:
                leaks.append((where, a))
        a = api.put(box + at(path), b"changed")
        if a.status >= 500:
            leaks.append((path, a))
    check("no path reads anything of the host", not leaks, leaks)
    with open(host) as f:
        same("nor writes it", f.read(), "of the host")
    os.unlink(host)
    sh(box, "rm -f host; echo inside > target; ln -s target in")
    same("a link inside is followed", api.get(box + at("in")).body, b"inside\n")
    api.delete(box + at("root", recursive="1"))
    same("a link is removed, not what it points to", sh(box, "ls -d /usr; ls root 2>&1 | head -c 3"),
         "/usr\nls:")
    stop = []

    def swap():
        mine = Api()
        mine.post(box + "/exec", {"command": "mkdir -p t/d; echo in > t/d/passwd; while :; do mv t/d t/e; "
                                  "ln -s /etc t/d; rm t/d; mv t/e t/d; done", "time": "3s", "grace": "100ms"})
        stop.append(1)
    t = threading.Thread(target=swap)
    t.start()
    seen, reads = set(), 0
    with open("/etc/passwd", "rb") as f:
        theirs = f.read()
    while not stop and reads < 3000:
        a = api.get(box + at("t/d/passwd"))
        reads += 1
        seen.add(a.status)
        if a.status == 200 and a.body == theirs:
            seen.add("HOST")
    t.join()
    check("a path that changes under us reads nothing of the host", "HOST" not in seen and 200 in seen, seen)
    api.delete(box)


@test
def uploads():
    box = api.box()
    api.put(box + at("f"), b"the old one")
    # Cut in the middle: the old file stays whole.
    for name, head, part in (
            ("a length", b"Content-Length: 1000000\r\n", b"x" * 5000),
            ("chunks", b"Transfer-Encoding: chunked\r\n", b"400\r\n" + b"x" * 1024 + b"\r\n"),
            ("a broken chunk", b"Transfer-Encoding: chunked\r\n", b"400\r\n" + b"x" * 1024 + b"\r\nzz\r\n")):
        s = socket.socket(socket.AF_UNIX)
        s.connect(SOCKET)
        s.sendall(b"PUT " + (box + at("f")).encode() + b" HTTP/1.1\r\nHost: x\r\n" + head + b"\r\n" + part)
        PAUSE.wait(0.2) # until it is being written
        s.close()
        check("an upload with %s that is cut leaves the old file" % name, not wait_until(
            lambda: api.get(box + at("f")).body != b"the old one", 0.3))
    same("and nothing beside it", wait_until(
        lambda: [f["name"] for f in api.get(box + "/files/list").json["items"]] == ["f"] and ["f"]), ["f"])

    def chunks():
        for i in range(100):
            yield b"%03d\n" % i * 25
    c = Connection()
    c.request("PUT", box + at("chunked"), body=chunks(), encode_chunked=True,
              headers={"Transfer-Encoding": "chunked"})
    a = c.getresponse()
    same("in chunks", (a.status, a.read().count(b"10000")), (200, 1))
    same("whole", api.get(box + at("chunked")).body, b"".join(chunks()))
    # A disk that is full.
    small = api.box(disk="8M")
    a = api.put(small + at("big"), b"x" * (20 << 20))
    refused("a disk that is full", a, 429, "limit_exceeded", "disk")
    refused("leaves nothing", api.get(small + at("big")), 404, "not_found")
    same("and the sandbox goes on", api.put(small + at("ok"), b"x").status, 200)
    a = api.put("/v1/sandboxes/none" + at("f"), b"x" * (20 << 20))
    refused("20 MB for a sandbox that is not there", a, 404, "not_found")
    # Two at a time: one of them wins, whole.
    bodies = [bytes([65 + i]) * 3000000 for i in range(4)]
    threads = [threading.Thread(target=Api().put, args=(box + at("race"), b)) for b in bodies]
    for t in threads:
        t.start()
    seen = set()
    while any(t.is_alive() for t in threads):
        a = api.get(box + at("race"))
        seen.add(a.status == 404 or a.body in bodies)
    check("what is replaced is always whole", seen == {True}, seen)
    api.delete(box)
    api.delete(small)


@test
def large():
    size = 512 << 20
    with open("/proc/meminfo") as f:
        free = [int(line.split()[1]) << 10 for line in f if line.startswith("MemAvailable")][0]
    # For others than root it is in memory.
    a = api.post("/v1/sandboxes", dict(BEST, disk="600M", memory="1300M"))
    if free < 4 * size or a.status != 201:
        return skip("a large file in constant memory", "no room for a file of 512 MB")
    box = "/v1/sandboxes/" + a.json["id"]
    block = bytes(range(256)) * 4096
    before = memory("VmRSS")
    digest, sent = hashlib.sha256(), 0
    c = Connection(timeout=120)
    c.putrequest("PUT", box + at("big"))
    c.putheader("Content-Length", str(size))
    c.endheaders()
    peak = before
    while sent < size:
        c.send(block)
        digest.update(block)
        sent += len(block)
        if sent % (64 << 20) == 0:
            peak = max(peak, memory("VmRSS"))
    a = c.getresponse()
    same("half a gigabyte is written", (a.status, a.read().count(b"%d" % size)), (200, 1))
    c.request("GET", box + at("big"))
    a = c.getresponse()
    got, back = hashlib.sha256(), 0
    while True:
        part = a.read(1 << 20)
        if not part:
            break
        got.update(part)
        back += len(part)
        if back % (64 << 20) == 0:
            peak = max(peak, memory("VmRSS"))
    same("and read", (back, got.digest()), (size, digest.digest()))
    check("in constant memory of the API", peak - before < 16 * MIB, "%d KiB more" % (peak - before))
    api.delete(box)
    return None


@test
def pages():
    box = api.box()
    sh(box, "mkdir -p p/d && cd p && touch d/x d.x " + " ".join("n" * 150 + str(i) for i in range(3)))
    whole = [f["path"] for f in api.get(box + "/files/list", path="p", depth=3).json["items"]]
    seen, after = [], {}
    while len(seen) < 20:
        page = api.get(box + "/files/list", path="p", depth=3, limit=1, **after).json
        seen += [f["path"] for f in page["items"]]
        if page["next"] is None:
            break
        after = {"after": page["next"]}
        if page["next"].endswith("/d"):
            sh(box, "mv p/d.x p/d.y") # what a page ends with, or the next begins with, may go
    same("page by page, with long names", [os.path.basename(f) for f in seen],
         [os.path.basename(f).replace("d.x", "d.y") for f in whole])
    sh(box, "rm p/d.y")
    page = api.get(box + "/files/list", path="p", depth=3, after="/home/user/p/d.y").json["items"]
    same("behind one that is gone", len(page), 3)
    api.delete(box)


@test
def watched():
    box = api.box()
    sh(box, "mkdir d")
    events = api.events("GET", box + "/files/watch?path=/home/user&recursive=1")
    stream = iter(events)
    same("a watch says that it watches", next(stream)[0], "watching")
    sh(box, "echo 1 > f; mkdir d/e; mv f d/g; chmod 600 d/g; rm d/g; echo end > last")
    seen = []
    for e in stream:
        seen.append((e[0], e[2]["path"].split("/home/user/")[-1]))
        if "last" in e[2]["path"]:
            break
    for want in (("create", "f"), ("create", "d/e"), ("remove", "d/g")):
        check("%s %s" % want, want in seen, seen)
    check("rename", any(k == "rename" for k, _ in seen), seen)
    check("chmod", any(k == "chmod" for k, _ in seen), seen)
    api.put(box + at("uploaded"), b"x")
    for e in stream:
        if e[2]["path"].endswith("uploaded"):
            break
    check("what the API writes is seen, too", e[2]["path"].endswith("uploaded"), e)
    api.put(box + at("uploaded"), b"y")
    sh(box, "echo x > '#12'; echo end > last2")
    seen = []
    for e in stream:
        if "last" in e[2]["path"]:
            break
        seen.append((e[0], e[2]["path"].split("/home/user/")[-1]))
    same("once, by its own name", [s for s in seen if "#" not in s[1]], [("write", "uploaded")])
    check("no name hides a file", ("write", "#12") in seen, seen)
    events.close()
    refused("of what is not there", api.get(box + "/files/watch", path="no"), 404, "not_found")
    events = api.events("GET", box + "/files/watch")
    next(iter(events))
    began = time.monotonic()
    api.delete(box)
    list(events)
    check("it ends with its sandbox", time.monotonic() - began < 10)


run_tests()
