# SPDX-License-Identifier: Apache-2.0
"""Who may: every operation of the document x every scope x own and foreign tenant; and requests
that a browser was made to send. What is expected comes from the document alone."""
import json
import os

from api import BEST, PORT, Api, check, raw, refused, run_tests, same, serve, test

SCOPES = ("run", "files", "workspaces", "approve", "admin")
tokens = {s: Api(os.environ["TOKEN_" + s.upper()]) for s in SCOPES + ("all", "foreign")}
own, foreign, nobody = tokens["all"], tokens["foreign"], Api("")
document = Api().get("/openapi.json").json
OPERATIONS = sorted(
    ((method.upper(), path, op) for path, methods in document["paths"].items()
     for method, op in methods.items()),
    # What destroys comes last, the sandbox itself behind what is in it.
    key=lambda o: (o[0] == "DELETE", o[2]["operationId"] == "sandbox.delete", o[1]))


class Things:
    """What there is of a tenant, to put into paths."""

    def __init__(self, api):
        self.box = api.box(ttl="5m").split("/")[-1]
        at = "/v1/sandboxes/" + self.box
        self.run = api.run(command="echo secret | tee secret", artifacts=["secret"]).json["id"]
        self.session = api.post(at + "/sessions", {"lang": "bash"}).json["id"]
        self.pid = api.post(at + "/exec", {"command": "sleep 600", "background": True,
                                           "keep_stdin": True}).json["pid"]
        api.put(at + "/files?path=secret", b"secret")
        serve(api, at)
        api.post("/v1/workspaces", {"name": "secret"})
        api.post("/v1/workspaces/secret/exec", dict(BEST, command="echo x > f"))

    def fill(self, path):
        last = self.run if path.startswith("/v1/runs") else self.box
        return (path.replace("{id}", last).replace("{pid}", str(self.pid))
                .replace("{sid}", self.session).replace("{name}", "secret")
                .replace("{port}", "8080").replace("{path}", "secret"))


def query(op):
    need = [p["name"] for p in op.get("parameters", []) if p["in"] == "query" and p.get("required")]
    return "?" + "&".join(n + "=secret" for n in need) if need else ""


def body(op):
    content = op.get("requestBody", {}).get("content", {})
    if "application/octet-stream" in content:
        return b"x"
    if "application/json" not in content:
        return None
    media = content["application/json"]
    example = dict(media.get("example", {}))
    if "limits" in media["schema"]["properties"]:
        example.update(BEST)
    return example


def status(api, method, path, op):
    """The status, and the answer where it is not a stream."""
    response = api.open(method, path, body(op))
    streams = response.headers.get("content-type", "").startswith("text/event-stream")
    text = b"" if streams else response.read()
    response.connection.close()
    return response.status, text


@test
def matrix():
    things = Things(own)
    wrong, n = [], 0
    for method, path, op in OPERATIONS:
        name, scope, is_open = op["operationId"], op.get("x-scope"), not op.get("x-scope")
        if is_open != (name in ("system.healthz", "system.readyz", "system.openapi", "system.version")):
            wrong.append((name, "a scope, or one of the few that any token may have"))
        if ({} in op.get("security", [])) != (name in ("system.healthz", "system.readyz")):
            wrong.append((name, "only probes can be open"))
        where = things.fill(path) + query(op)
        got = {"none": status(nobody, method, where, op)}
        for s in SCOPES:
            if s != scope:
                got[s] = status(tokens[s], method, where, op)
        got["foreign"] = status(foreign, method, where, op)
        got["own"] = status(tokens[scope or "run"], method, where, op)
        n += len(got)
        for who, (code, text) in got.items():
            if who == "none":
                good = code == 401
            elif is_open:
                good = code == 200
            elif who in SCOPES:
                good = code == 403 and json.loads(text)["error"]["code"] == "denied.scope" and \
                    '"%s"' % scope in json.loads(text)["error"]["message"]
            elif code == 501: # the same for all who may
                good = who in ("own", "foreign")
            elif name.startswith("approval.") and name != "approval.list" and who == "own":
                good = code == 404 # there is none
            elif who == "foreign" and "{" in path:
                good = code == 404 and json.loads(text)["error"]["code"].startswith("not_found")
            elif who == "foreign":
                good = code < 300 and b"secret" not in text and things.box.encode() not in text
            else:
                good = code not in (401, 403, 404) and (code < 500 or code == 501)
            if not good:
                wrong.append((name, who, code, text[:200]))
    check("%d operations, %d answers as the document says" % (len(OPERATIONS), n), not wrong and n > 300,
          wrong[:6])
    for w in wrong[:20]:
        print("  ", w)
    own.delete("/v1/workspaces/demo")
    own.delete("/v1/workspaces/demo-b")


@test
def no_difference():
    """Another's id is as one that never was."""
    things = Things(own)
    unknown = {"box": "sbx" + "a" * 26, "run": "run" + "a" * 26}
    for kind, at in (("box", "/v1/sandboxes/"), ("run", "/v1/runs/")):
        theirs, none = getattr(things, kind), unknown[kind]
        a, b = foreign.get(at + theirs), foreign.get(at + none)
        same("another's %s" % kind, (a.status, a.body.replace(theirs.encode(), b"?")),
             (b.status, b.body.replace(none.encode(), b"?")))
    ids = [own.run(command="true").json["id"] for _ in range(3)]
    check("ids are not to be guessed: 26 characters, most of them differ",
          all(sum(a != b for a, b in zip(ids[0][12:], x[12:])) > 8 for x in ids[1:]), ids)
    own.delete("/v1/sandboxes/" + things.box)
    own.delete("/v1/workspaces/secret")


@test
def bad_tokens():
    good = own.token
    for name, value in (
            ("none", None), ("an empty one", "Bearer "), ("only the word", "Bearer"), ("Basic", "Basic " + good),
            ("one more letter", "Bearer %sa" % good), ("one less", "Bearer " + good[:-1]),
            ("another first letter", "Bearer q" + good[1:]), ("two blanks", "Bearer  " + good),
            ("in upper case", "Bearer " + good.upper()), ("with another behind", "Bearer %s, x" % good),
            ("8 KB", "Bearer " + "a" * 8000)):
        a = Api("").ask("GET", "/v1/runs", headers={"Authorization": value})
        refused("a token: %s" % name, a, 401, "unauthenticated")
        if name == "none":
            same("says what is wanted", a.headers["www-authenticate"], "Bearer")
    same("the word in lower case is good",
         Api("").ask("GET", "/v1/runs", headers={"Authorization": "bearer " + good}).status, 200)
    refused("in the query it is none", Api("").get("/v1/runs", token=good), 401, "unauthenticated")
    head = b"GET /v1/runs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "
    got = raw(head + b"a" * (1 << 20) + b"\r\n\r\n", tcp=True)
    check("a token of a megabyte is refused", got[:12] in (b"HTTP/1.1 431", b"HTTP/1.1 400"), got[:100])
    got = raw(head + good.encode() + b"\r\nAuthorization: Bearer x\r\n\r\n", tcp=True)
    check("two of them are", got.startswith(b"HTTP/1.1 400"), got[:100])
    got = raw(b"POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 16000000\r\n\r\n", tcp=True)
    check("who has none hears so before he sends a body", got.startswith(b"HTTP/1.1 401"), got[:100])
    a = Api("").put("/v1/sandboxes/x/files?path=f", b"x" * (8 << 20))
    refused("8 MB without a token", a, 401, "unauthenticated")
    a = Api("").put("/v1/workspaces/x", b"x" * (8 << 20))
    refused("8 MB to nowhere", a, 401, "unauthenticated")


@test
def browsers():
    """K01: what a page can make a browser send is refused before anything is done."""
    def ask(method="GET", path="/v1/runs", **fields):
        fields = {k.replace("_", "-"): v for k, v in fields.items()}
        return own.ask(method, path, b'{"command": "true"}' if method == "POST" else None, fields)
    for host in ("evil.test", "evil.test:%d" % PORT, "localhost.evil.test", "127.0.0.1.evil.test", "0.0.0.0",
                 "[::]", "evil.test.", "127.0.0.2", "2130706433", "0x7f.1", "localhost.", "api.example.evil"):
        refused("Host: %s" % host, ask(Host=host), 403, "denied", "Host")
        for path in ("/healthz", "/openapi.json", "/v1/version", "/readyz", "/nothing"):
            a = ask(path=path, Host=host)
            if a.status != 403:
                refused("Host: %s for %s" % (host, path), a, 403, "denied")
    for host in ("localhost", "127.0.0.1:%d" % PORT, "[::1]", "LOCALHOST", "api.example", "api.example:443"):
        same("Host: %s" % host, ask(Host=host).status, 200)
    for origin in ("http://evil.test", "null", "http://localhost.evil.test", "file://", "https://ok.example.evil",
                   "http://ok.example", "http://evil.test:%d" % PORT, "chrome-extension://x", ""):
        refused("Origin: %s" % origin, ask(Origin=origin), 403, "denied", "origin")
        refused("Origin: %s, POST of a text" % origin, ask("POST", Origin=origin, Content_Type="text/plain"), 403,
                "denied")
    late = [ask().status for _ in range(50) if ask("POST", Origin="http://evil.test").status == 403]
    same("what was refused gives no answer to what comes next", late, [200] * 50)
    same("an origin that is allowed", ask(Origin="https://ok.example").status, 200)
    refused("a form", ask("POST", Content_Type="application/x-www-form-urlencoded"), 415, "invalid_argument",
            "application/json")
    refused("a text", ask("POST", Content_Type="text/plain"), 415, "invalid_argument")
    refused("another site's", ask(Sec_Fetch_Site="cross-site"), 403, "denied")
    a = own.ask("OPTIONS", "/v1/runs", headers={"Origin": "http://evil.test",
                                                "Access-Control-Request-Method": "POST"})
    same("a preflight", a.status, 403)
    check("nothing says that others may", not [h for h in list(a.headers) + list(ask().headers)
                                               if h.lower().startswith("access-control")])
    ok = "https://ok.example"
    a = Api("").ask("OPTIONS", "/v1/runs", headers={"Origin": ok, "Access-Control-Request-Method": "POST",
                                                    "Access-Control-Request-Headers": "authorization,content-type"})
    same("a preflight of an origin that is allowed, which has no token", (a.status, a.headers["Access-Control-Allow-Origin"],
         a.headers["Vary"]), (204, ok, "Origin"))
    check("says what its pages may send", "POST" in a.headers["Access-Control-Allow-Methods"] and
          "Authorization" in a.headers["Access-Control-Allow-Headers"] and
          not a.headers["Access-Control-Allow-Credentials"], a.headers)
    for who, want in ((own, 200), (Api("wrong"), 401)):
        a = who.ask("GET", "/v1/runs", headers={"Origin": ok})
        same("and they may read what comes: %d" % want, (a.status, a.headers["Access-Control-Allow-Origin"]), (want, ok))
    a = Api("").ask("OPTIONS", "/v1/runs", headers={"Origin": ok})
    refused("what is no preflight needs a token", a, 401, "unauthenticated")
    a = own.ask("GET", "/v1/runs", headers={"Origin": "http://localhost:%d" % PORT})
    same("our own pages need no leave", (a.status, a.headers["Access-Control-Allow-Origin"]), (200, None))
    a = own.ask("GET", "/v1/runs", headers={
        "Origin": "http://evil.test", "Connection": "Upgrade", "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="})
    same("a WebSocket of another origin", a.status, 403)
    got = raw(b"GET http://evil.test/v1/version HTTP/1.1\r\nHost: localhost\r\n\r\n", tcp=True)
    check("another host in the target", got[:12] in (b"HTTP/1.1 403", b"HTTP/1.1 400"), got[:100])
    got = raw(b"GET /v1/version HTTP/1.0\r\n\r\n", tcp=True)
    check("no Host at all", got[:12] in (b"HTTP/1.1 403", b"HTTP/1.1 400"), got[:100])
    refused("also on the Unix socket an Origin counts",
            Api().ask("GET", "/v1/runs", headers={"Origin": "http://evil.test"}), 403, "denied")


def mcp(api, method, session=None, **params):
    fields = {"Accept": "application/json, text/event-stream"}
    if session:
        fields["Mcp-Session-Id"] = session
    return api.post("/mcp", {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, fields)


def handshake(api):
    return mcp(api, "initialize", protocolVersion="2025-11-25", capabilities={},
               clientInfo={"name": "t", "version": "1"}).headers["Mcp-Session-Id"]


@test
def types_of_mcp():
    for kind, status in (("text/plain", 415), ("text/plain; application/json", 415), ("application/jsonp", 415),
                         ("x=application/json", 415), ("Application/JSON ; charset=utf-8", 400)):
        same("/mcp, Content-Type: %s" % kind, own.ask("POST", "/mcp", b"{", {"Content-Type": kind}).status, status)


@test
def sessions_of_mcp():
    his = handshake(foreign)
    first, last = handshake(own), None
    for _ in range(1100):
        last = handshake(own)
    same("who makes many sessions loses his own first ones", mcp(own, "tools/list", first).status, 404)
    same("and has the last", mcp(own, "tools/list", last).status, 200)
    same("nobody else's are pushed out", mcp(foreign, "tools/list", his).status, 200)
    same("nor can one be used by another", mcp(own, "tools/list", his).status, 404)
    key = {"Idempotency-Key": "mine"}
    run = foreign.run(headers=key, command="true").json["id"]
    box = own.box(ttl="5m")
    for i in range(1100):
        own.post(box + "/files/mkdir", {"path": "d"}, {"Idempotency-Key": "m%d" % i})
    own.delete(box)
    same("nor what was answered to another", foreign.run(headers=key, command="true").json["id"], run)


run_tests()
