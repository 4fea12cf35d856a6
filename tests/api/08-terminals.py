# SPDX-License-Identifier: Apache-2.0
"""Terminals: a background process followed and typed to over a WebSocket, or by events."""
import os

from api import Api, check, memory, refused, run_tests, same, test, wait_until
from websocket import BINARY, CLOSE, PING, PONG, TEXT, WebSocket

api = Api()
one, two = Api(os.environ["TOKEN_ONE"]), Api(os.environ["TOKEN_TWO"])


def spawn(box, command, who=api, **args):
    a = who.post(box + "/exec", dict(args, command=command, background=True))
    if a.status != 202:
        raise RuntimeError(repr(a))
    return "%s/processes/%d" % (box, a.json["pid"])


@test
def terminal():
    box = api.box()
    p = spawn(box, "stty -echo; stty size; echo up; while read l; do echo \"<$l>\"; "
                   "[ \"$l\" = size ] && stty size; done; echo end; exit 5",
              pty={"rows": 30, "cols": 100})
    ws = WebSocket(p + "/attach")
    check("a WebSocket is opened", ws.accepted, ws.head)
    hello = ws.event("attached")
    same("it says where it begins", (hello["offset"], hello["pty"]), (0, True))
    same("what was printed before", ws.until(b"up\r\n"), b"30 100\r\nup\r\n")
    ws.type("one\n")
    same("what is typed is read", ws.until(b">\r\n"), b"<one>\r\n")
    ws.frame(BINARY, "zw".encode(), last=False)
    ws.frame(PING, b"are you there?")
    ws.frame(0, "ei é\n".encode())
    got = [ws.next() for _ in range(2)]
    same("in parts, with a ping between", sorted(op for op, _ in got), [BINARY, PONG])
    check("the pong has its bytes", (PONG, b"are you there?") in got, got)
    check("the parts are one line", (BINARY, "<zwei é>\r\n".encode()) in got, got)
    ws.say(type="resize", rows=33, cols=111)
    ws.type("size\n")
    same("resized", ws.until(b"111\r\n"), b"<size>\r\n33 111\r\n")
    for bad in ({"type": "resize", "rows": 0, "cols": 5}, {"type": "resize"}, {"type": "x"}, {},
                {"type": "signal", "signal": "NONE"}, {"type": "signal"}):
        ws.say(**bad)
        error = ws.event("error")["error"]
        same("%r is refused, with a remedy" % bad, (error["code"], bool(error["remedy"])), ("invalid_argument", True))
    ws.frame(TEXT, b"{no json")
    same("a text that is no JSON is", ws.event("error")["error"]["code"], "invalid_argument")
    ws.frame(TEXT, b'{"type": "' + b"x" * 5000 + b'"}')
    check("one that is too long is", "4096" in ws.event("error")["error"]["message"])
    ws.type("two\n")
    same("and it goes on", ws.until(b">\r\n"), b"<two>\r\n")
    ws.say(type="eof")
    got, events, code, why = ws.rest()
    same("its end", (got, code, why), (b"end\r\n", 1000, b"exited"))
    same("and how", (events[-1]["event"], events[-1]["exit_code"]), ("exit", 5))
    ws = WebSocket(p + "/attach?offset=8")
    got, events, code, why = ws.rest()
    check("all can be read again, from any byte", got.startswith(b"up\r\n") and got.endswith(b"end\r\n"), got)
    api.delete(box)


@test
def again():
    """Who comes back goes on where he was; nobody's leaving ends a process."""
    box = api.box()
    p = spawn(box, "i=0; while read l; do i=$((i+1)); echo $i $l; echo e$i >&2; done", keep_stdin=True)
    ws = WebSocket(p + "/attach")
    ws.type("a\n")
    got = ws.until(b"e1\n")
    same("two streams", got, b"1 a\ne1\n")
    ws.close()
    other = WebSocket(p + "/attach?offset=%d" % len(got))
    other.type("b\n")
    same("he goes on at his offset", other.event("attached")["offset"], len(got))
    same("which stream is said", (other.event("stream")["stream"], other.next()), ("stderr", (BINARY, b"e2\n")))
    second = WebSocket(p + "/attach?offset=-3")
    same("two may look at the same time", second.until(b"e2\n"), b"e2\n")
    second.type("c\n")
    for who in (other, second):
        heard = who.until(b"e3\n")  # two pipes: either may be read first
        check("both hear it", b"3 c\n" in heard or b"3 c\n" in who.until(b"3 c\n"))
    other.say(type="signal", signal="TERM")
    for ws in (other, second):
        events = ws.rest()[1]
        same("a signal ends it for both", (events[-1]["event"], events[-1]["signal"]), ("exit", 15))
    p = spawn(box, "sleep 600", keep_stdin=False)
    ws = WebSocket(p + "/attach")
    ws.event("attached")
    ws.type("x")
    same("one without standard input says so", ws.event("error")["error"]["code"], "conflict")
    api.delete(box)
    _, events, code, _ = ws.rest()
    check("the end of the sandbox is told", code in (1000, 1001), (events, code))


@test
def slow():
    """Who does not read is dropped and told so, costs little, and slows nobody."""
    box = api.box()
    p = spawn(box, "read go; head -c 30000000 /dev/zero; read end", keep_stdin=True)
    before = memory("VmRSS")
    ws = WebSocket(p + "/attach", small=True)
    ws.event("attached")
    ws.type("\n")
    check("the process goes on", wait_until(lambda: api.get(p).json["output_bytes"] == 30000000, 30))
    check("what is not read is not kept", memory("VmRSS") - before < 20 << 10, memory("VmRSS") - before)
    got, _, code, why = ws.rest()
    check("he is dropped, by a code of its own", code == 4008 and b"too slow" in why, (code, why))
    check("after what he had coming", 0 < len(got) < 10000000, len(got))
    same("it still runs", api.get(p).json["running"], True)
    ws = WebSocket(p + "/attach?offset=%d" % len(got))
    check("he may come back for what is left", ws.event("attached")["offset"] >= len(got))
    ws.type("\n")
    got, _, code, _ = ws.rest()
    check("to its end", code == 1000 and 7000000 < len(got) < 9000000, (code, len(got)))
    ws = WebSocket(p + "/attach")
    got, events, code, _ = ws.rest()
    check("of the past he is told what is missing", code == 1000 and len(got) > 65536 and
          [e for e in events if e["event"] == "missed"][0]["offset"] == 65536, (code, len(got), events))
    api.delete(box)


@test
def broken():
    box = api.box()
    p = spawn(box, "cat", keep_stdin=True)
    for name, code, say in (
            ("a frame without a mask", 1002, lambda w: w.frame(BINARY, b"x", mask=None)),
            ("reserved bits", 1002, lambda w: w.frame(BINARY, b"x", bits=0x40)),
            ("an opcode that is none", 1002, lambda w: w.frame(3, b"x")),
            ("a part of nothing", 1002, lambda w: w.frame(0, b"x")),
            ("a text that is no UTF-8", 1007, lambda w: w.frame(TEXT, b"\xff\xfe")),
            ("two megabytes announced", 1009, lambda w: w.sock.sendall(b"\x82\xff" + (2 << 20).to_bytes(8, "big") + bytes(4))),
            ("a close", 1000, lambda w: w.frame(CLOSE, b"\x03\xe8"))):
        ws = WebSocket(p + "/attach")
        say(ws)
        same(name, ws.rest()[2], code)
    same("the process goes on", api.get(p).json["running"], True)
    for name, fields, status in (
            ("another version", {"Sec_WebSocket_Version": "12"}, 426), ("no key", {"Sec_WebSocket_Key": None}, 400),
            ("a key that is none", {"Sec_WebSocket_Key": "x"}, 400),
            ("a body", {"Content_Length": "5"}, 400),
            ("another origin", {"Origin": "http://evil.test"}, 403), ("no origin at all", {"Origin": "null"}, 403)):
        ws = WebSocket(p + "/attach", **fields)
        same("opened with %s" % name, ws.status, status)
    same("of no process", WebSocket(box + "/processes/999999/attach").event("error")["error"]["code"], "not_found")
    same("a word for an offset", WebSocket(p + "/attach?offset=x").status, 400)
    same("no other path takes it", WebSocket(box).status, 200)
    api.delete(box)


@test
def tenants():
    box = one.box()
    p = spawn(box, "echo secret; cat", who=one, keep_stdin=True)
    same("with a token, over TCP", WebSocket(p + "/attach", one.token).until(b"secret\n"), b"secret\n")
    same("another's is not there", WebSocket(p + "/attach", two.token).status, 404)
    same("without a token", WebSocket(p + "/attach", "x").status, 401)
    same("who is on the Unix socket is another", WebSocket(p + "/attach").status, 404)
    refused("nor are its events", two.get(p + "/attach"), 404, "not_found")
    one.delete(box)


@test
def events():
    box = api.box()
    p = spawn(box, "echo one; read l; echo \"<$l>\" >&2; exit 3", keep_stdin=True)
    stream = api.events("GET", p + "/attach")
    it = iter(stream)
    first = next(it)
    same("events without a WebSocket", (first[0], first[1], first[2]["text"]), ("stdout", 4, "one\n"))
    stream.close()
    api.post(p + "/stdin", {"data": "x\n"})
    rest = list(api.events("GET", p + "/attach", headers={"Last-Event-ID": str(first[1])}))
    same("who comes back goes on there", [(e[0], e[2].get("text"), e[2].get("offset")) for e in rest],
         [("stderr", "<x>\n", 4), ("exit", None, None)])
    same("to its end", rest[-1][2]["exit_code"], 3)
    same("or says from where", [e[2].get("text") for e in api.events("GET", p + "/attach?offset=-2")][0], ">\n")
    refused("of no process", api.get(box + "/processes/999999/attach"), 404, "not_found")
    for bad in (5, "yes", {"rows": 0}, {"cols": "80"}, {"lines": 3}):
        refused("pty: %r" % (bad,), api.post(box + "/exec", {"command": "true", "background": True, "pty": bad}),
                400, "invalid_argument", "pty")
    refused("a terminal for one who is waited for", api.post(box + "/exec", {"command": "true", "pty": True}),
            400, "invalid_argument", "pty")
    api.delete(box)


run_tests()
