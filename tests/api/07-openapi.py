# SPDX-License-Identifier: Apache-2.0
"""Every operation of the document, with the example that it gives, and the shape of its answer."""
import json
import re

from api import BEST, Api, check, run_tests, same, serve, test

api = Api()
document = api.get("/openapi.json").json
SCHEMAS = document["components"]["schemas"]
TYPES = {"string": str, "integer": int, "number": (int, float), "boolean": bool, "object": dict,
         "array": list, "null": type(None)}
ENDS = ("sandbox.delete", "session.delete", "workspace.delete", "file.delete", "run.cancel",
        "process.signal", "sandbox.pause", "port.close")
OPERATIONS = [(m.upper(), p, op) for p, methods in document["paths"].items() for m, op in methods.items()]


def shape(value, schema, where="answer"):
    """What is wrong with it."""
    if "$ref" in schema:
        schema = SCHEMAS[schema["$ref"].split("/")[-1]]
    kinds = schema.get("type", list(TYPES))
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if not any(isinstance(value, TYPES[k]) and not (isinstance(value, bool) and "boolean" not in kinds)
               for k in kinds):
        return ["%s is %r, not %s" % (where, value, kinds)]
    wrong = []
    if isinstance(value, dict):
        for key, inner in schema.get("properties", {}).items():
            if key in value:
                wrong += shape(value[key], inner, where + "." + key)
        if schema.get("properties"):
            wrong += [where + "." + k + " is not in the document" for k in value
                      if k not in schema["properties"]]
    if isinstance(value, list) and "items" in schema:
        for one in value[:3]:
            wrong += shape(one, schema["items"], where + "[]")
    return wrong


class Place:
    """All that a path can name; made anew for each operation that needs it."""

    def __init__(self):
        self.box = api.box(ttl="5m", allow=["example.org"])
        self.id = self.box.split("/")[-1]
        self.run = api.post(self.box + "/exec", {"command": "echo x"}).json["id"]
        self.session = api.post(self.box + "/sessions", {"lang": "python"}).json["id"]
        self.pid = api.post(self.box + "/exec", {
            "command": "cat; sleep 600", "background": True, "pty": True}).json["pid"]
        api.put(self.box + "/files?path=a", b"x")
        serve(api, self.box)
        api.delete("/v1/workspaces/demo")
        api.delete("/v1/workspaces/demo-b")

    def workspace(self):
        api.post("/v1/workspaces", {"name": "demo"})
        api.post("/v1/workspaces/demo/exec", dict(BEST, command="echo x > f"))

    def fill(self, path):
        which = self.run if path.startswith("/v1/runs") else self.id
        path = path.replace("{id}", which).replace("{pid}", str(self.pid)).replace("{sid}", self.session)
        path = path.replace("{port}", "8080").replace("{path}", "a")
        return path.replace("{name}", "demo")


def call(place, method, path, op):
    need = [p["name"] for p in op.get("parameters", []) if p["in"] == "query" and p.get("required")]
    path = place.fill(path) + ("?" + "&".join(n + "=a" for n in need) if need else "")
    content = op.get("requestBody", {}).get("content", {})
    body = None
    if "application/octet-stream" in content:
        body = bytes(10240) if path.endswith("/tar") else b"bytes" # an empty archive
    if "application/json" in content:
        media = content["application/json"]
        body = dict(media.get("example", {}))
        if "limits" in media["schema"].get("properties", {}):
            body.update(BEST)
    response = api.open(method, path, body)
    events = response.headers.get("content-type", "").startswith("text/event-stream")
    text = b"" if events or response.status == 204 else response.read()
    response.connection.close()
    return response.status, response.headers.get("content-type", ""), text


@test
def examples():
    place = None
    for method, path, op in OPERATIONS:
        name = op["operationId"]
        if name.startswith("approval."):
            continue # there is none to look at
        if name == "run.file":
            continue # of a run that keeps one: 01-runs.py
        if place is None:
            place = Place()
        if path.startswith("/v1/workspaces/"):
            place.workspace()
        status, kind, text = call(place, method, path, op)
        if status == 501:
            check("%s is unsupported, and says so" % name, json.loads(text)["error"]["remedy"])
            continue
        if name == "session.input":
            check("%s is for code that asks" % name, status == 409, (status, text))
            continue
        if name == "workspace.sync":
            check("%s wants a stream" % name, b"invalid_argument.upgrade" in text, text)
            continue
        answers = op["responses"]
        good = check("%s: %s %s: %d as the document says" % (name, method, path, status),
                     status < 300 and str(status) in answers, (status, text[:300]))
        content = answers.get(str(status), answers.get("200", {})).get("content", {})
        if good and text and "application/json" in content:
            wrong = shape(json.loads(text), content["application/json"]["schema"])
            check("%s: the answer's shape" % name, not wrong, wrong)
        elif good and status != 204:
            check("%s: %s" % (name, kind), kind.split(";")[0] in content or
                  "application/octet-stream" in content, (kind, list(content)))
        if name in ENDS:
            api.delete(place.box)
            place = None
    if place:
        api.delete(place.box)
    api.delete("/v1/workspaces/demo")
    api.delete("/v1/workspaces/demo-b")


# As the contract has them.
ROUTES = """
POST /v1/runs; GET /v1/runs, /v1/runs/{id}, /v1/runs/{id}/stdout, /v1/runs/{id}/stderr
POST /v1/sandboxes; GET, DELETE /v1/sandboxes/{id}
POST /v1/sandboxes/{id}/pause, /v1/sandboxes/{id}/resume, /v1/sandboxes/{id}/fork, /v1/sandboxes/{id}/extend
POST /v1/sandboxes/{id}/exec; GET /v1/sandboxes/{id}/processes
POST /v1/sandboxes/{id}/processes/{pid}/signal, /v1/sandboxes/{id}/processes/{pid}/stdin
GET, PUT, DELETE /v1/sandboxes/{id}/files; GET /v1/sandboxes/{id}/files/list, /v1/sandboxes/{id}/files/watch
POST /v1/sandboxes/{id}/sessions, /v1/sandboxes/{id}/sessions/{sid}/execute
POST, GET /v1/workspaces; GET, DELETE /v1/workspaces/{name}
POST /v1/workspaces/{name}/exec, /v1/workspaces/{name}/snapshots, /v1/workspaces/{name}/undo
POST /v1/workspaces/{name}/rollback, /v1/workspaces/{name}/fork, /v1/workspaces/{name}/sync
GET /v1/workspaces/{name}/diff, /v1/workspaces/{name}/log
GET, POST /v1/approvals/{id}; GET /v1/events, /healthz, /readyz, /metrics
"""


@test
def routes():
    have = {(m, p) for m, p, _ in OPERATIONS}
    want = set()
    for part in ROUTES.replace("\n", ";").split(";"):
        words = part.replace(",", " ").split()
        want |= {(m, p) for m in words if m.isupper() for p in words if p.startswith("/")}
    same("every route of the contract", sorted(want - have), [])


@test
def parts():
    ids = [op["operationId"] for _, _, op in OPERATIONS]
    same("operations have names of their own", len(ids), len(set(ids)))
    for _, path, op in OPERATIONS:
        inside = re.findall(r"{(\w+)}", path)
        named = [p["name"] for p in op.get("parameters", []) if p["in"] == "path"]
        if inside != named or not op.get("summary"):
            check("%s: parameters %s" % (op["operationId"], inside), False, named)
    bodies = [(op["operationId"], op["requestBody"]["content"]["application/json"])
              for m, _, op in OPERATIONS if m == "POST" and "requestBody" in op]
    standards = [(op["operationId"], p["name"], p["schema"]) for _, _, op in OPERATIONS for p in op.get("parameters", [])]
    standards += [(name, key, s) for name, media in bodies for key, s in media["schema"]["properties"].items()]
    same("a default is of its type", [(o, n) for o, n, s in standards if "default" in s and "type" in s and
                                      not isinstance(s["default"], TYPES[s["type"]])], [])
    unit = {"milliseconds": {"ttl", "time", "grace", "cpu_time", "wait"}, "bytes": {"memory", "disk", "output"}}
    told = [(o, n, one.get("description")) for o, n, s in standards for one in s.get("oneOf", [])
            if one.get("type") == "integer" and (n in unit["milliseconds"] or n in unit["bytes"])]
    same("what a plain number means is said", [t for t in told if t[1] not in unit.get(t[2], ())], [])
    check("of all of them", {t[1] for t in told} == unit["milliseconds"] | unit["bytes"], told)
    missing = [name for name, media in bodies
               if media["schema"].get("required") and "example" not in media]
    same("what needs a body has an example of it", missing, [])
    a = api.post("/v1/runs", {"command": 5}).json
    same("errors have the shape of Error", shape(a, {"$ref": "#/components/schemas/Error"}), [])
    same("HEAD of the document", api.ask("HEAD", "/openapi.json").status, 200)


run_tests()
