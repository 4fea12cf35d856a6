# SPDX-License-Identifier: Apache-2.0
"""Content codings, both ways. zstd is that of the zstd program."""
import gzip
import json
import subprocess
import zlib

from api import BEST, MIB, Api, check, memory, raw, refused, run_tests, same, test

api = Api()


def zstd(data, *options):
    return subprocess.run(["/usr/bin/zstd", "-q", "-c", *options], input=data, check=True,
                          stdout=subprocess.PIPE).stdout


def unpack(answer):
    coding = answer.headers["Content-Encoding"]
    if coding == "gzip":
        return gzip.decompress(answer.body)
    return zstd(answer.body, "-d") if coding == "zstd" else answer.body


def ask(path, accept, method="GET", **fields):
    return api.ask(method, path, None, dict({"Accept-Encoding": accept}, **fields))


@test
def answers():
    plain = api.get("/openapi.json")
    same("without the field nothing is coded", (plain.headers["Content-Encoding"],
                                                plain.headers["Vary"]), (None, "Accept-Encoding"))
    for accept, want in (("gzip", "gzip"), ("zstd", "zstd"), ("gzip, zstd", "zstd"),
                         ("gzip;q=1, zstd;q=0.5", "gzip"), ("br, *;q=0.1", "zstd"),
                         ("gzip;q=0", None), ("br", None), ("identity", None), ("*;q=0", None),
                         ("gzip;q=0.001", "gzip"), ("x;;;,,gzip", "gzip"), ("", None)):
        a = ask("/openapi.json", accept)
        same("Accept-Encoding: " + (accept or "nothing"), a.headers["Content-Encoding"], want)
        same("and it is the same", json.loads(unpack(a)), plain.json)
    a = ask("/openapi.json", "gzip")
    check("it is worth it", len(a.body) < len(plain.body) / 3, len(a.body))
    same("its length is the coded one", int(a.headers["Content-Length"]), len(a.body))
    same("what is small stays as it is", ask("/healthz", "gzip").headers["Content-Encoding"], None)
    same("HEAD has none", ask("/openapi.json", "gzip", "HEAD").headers["Content-Encoding"], None)
    same("nor has an error", ask("/v1/runs/x", "gzip").headers["Content-Encoding"], None)
    a = api.post("/v1/runs", dict(BEST, command="seq 5000"), {"Accept-Encoding": "zstd"})
    same("a run's result", (a.headers["Content-Encoding"],
                            json.loads(unpack(a))["stdout"]["text"].split("\n")[4999]), ("zstd", "5000"))
    a = api.post("/v1/runs", dict(BEST, command="seq 5000"),
                 {"Accept-Encoding": "zstd", "Idempotency-Key": "k"})
    same("not one that may be asked for again", a.headers["Content-Encoding"], None)


@test
def output():
    run = api.run(command="seq 400000").json["id"]
    whole = "".join("%d\n" % i for i in range(1, 400001)).encode()
    for coding in ("gzip", "zstd"):
        a = ask("/v1/runs/%s/stdout" % run, coding)
        same("a long output with " + coding, (a.headers["Content-Encoding"], unpack(a) == whole),
             (coding, True))
        same("has no parts", a.headers["Accept-Ranges"], None)
    a = ask("/v1/runs/%s/stdout" % run, "gzip", Range="bytes=0-99")
    same("a part is never coded", (a.status, a.headers["Content-Encoding"], a.body),
         (206, None, whole[:100]))
    run = api.run(command="head -c 300000 /dev/urandom").json["id"]
    a = ask("/v1/runs/%s/stdout" % run, "gzip")
    same("what does not get shorter stays", (a.headers["Content-Encoding"], len(a.body)),
         (None, 300000))
    r = api.open("POST", "/v1/runs?stream=1", dict(BEST, command="seq 3000"),
                 {"Accept-Encoding": "gzip"})
    same("events never are", r.headers["Content-Encoding"], None)
    r.read()


@test
def bodies():
    body = json.dumps(dict(BEST, command="wc -c", stdin="x" * 100000)).encode()
    kind = {"Content-Type": "application/json"}
    for coding, data in (("gzip", gzip.compress(body)), ("zstd", zstd(body)), ("identity", body),
                         ("GZIP", gzip.compress(body))):
        a = api.ask("POST", "/v1/runs", data, dict(kind, **{"Content-Encoding": coding}))
        same("a body with " + coding, (a.status, a.json["stdout"]["text"]), (200, "100000\n"))
    for name, coding, data in (("cut", "gzip", gzip.compress(body)[:-9]),
                               ("cut zstd", "zstd", zstd(body)[:-9]),
                               ("with more behind", "gzip", gzip.compress(body) + b"x"),
                               ("of two members", "gzip", gzip.compress(body[:9]) + gzip.compress(body[9:])),
                               ("zlib, not gzip", "gzip", zlib.compress(body)),
                               ("that is none", "zstd", body), ("nothing", "gzip", b"")):
        if name == "nothing":
            continue
        a = api.ask("POST", "/v1/runs", data, dict(kind, **{"Content-Encoding": coding}))
        refused("one " + name, a, 400, "invalid_argument")
    for coding in ("br", "deflate", "gzip, gzip", "gzip, zstd", "x"):
        a = api.ask("POST", "/v1/runs", body, dict(kind, **{"Content-Encoding": coding}))
        same("Content-Encoding: " + coding, (a.status, a.headers["Accept-Encoding"]),
             (415, "gzip, zstd"))


@test
def bombs():
    kind = {"Content-Type": "application/json"}
    before = memory("VmRSS")
    for coding, data in (("gzip", gzip.compress(b" " * (64 << 20))), ("zstd", zstd(b" " * (64 << 20))),
                         ("zstd", zstd(b" " * (64 << 20), "--long=27"))):
        for _ in range(2):
            a = api.ask("POST", "/v1/runs", data, dict(kind, **{"Content-Encoding": coding}))
            check("a bomb of %s is refused" % coding, a.status in (400, 413), a)
    check("and memory stays where it was", memory("VmRSS") - before < 40 * MIB,
          memory("VmRSS") - before)
    same("it goes on", api.get("/healthz").status, 200)


@test
def files():
    box = api.box(disk="8M", memory="64M")
    where = box + "/files?path=f"
    text = b"line of text\n" * 20000
    for coding, data in (("gzip", gzip.compress(text)), ("zstd", zstd(text))):
        a = api.ask("PUT", where, data, {"Content-Encoding": coding})
        same("a file sent with " + coding, (a.status, a.json["bytes"]), (200, len(text)))
        a = ask(where, coding)
        same("and read so", (a.headers["Content-Encoding"], unpack(a) == text), (coding, True))
        check("has a tag of its own", coding in a.headers["ETag"], a.headers["ETag"])
    same("is what it was", api.get(where).body, text)
    refused("one that is cut is not written", api.ask(
        "PUT", where, gzip.compress(b"other")[:-4], {"Content-Encoding": "gzip"}), 400, "invalid_argument")
    same("the old one is there", api.get(where).body, text)
    a = api.ask("PUT", box + "/files?path=bomb", gzip.compress(bytes(100 << 20)), {"Content-Encoding": "gzip"})
    refused("a bomb fills the sandbox's disk and no more", a, 429, "limit_exceeded", "disk")
    refused("and leaves nothing", api.get(box + "/files/stat?path=bomb"), 404, "not_found")
    api.delete(box)


run_tests()
