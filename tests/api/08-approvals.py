# SPDX-License-Identifier: Apache-2.0
"""Questions to a person: whose they are, who may answer, and that the asker hears it once."""
import fcntl
import json
import os
import socket
import struct
import sys
import threading
import time

VERSION = 0x61707231


class Asker:
    """One question in a box, as the library puts it there (engine/approval.c)."""

    def __init__(self, box, number, tenant):
        self.id = "apr" + str(number) + "a" * 25
        self.path = os.path.join(box, self.id)
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.sock.bind(self.path + ".sock")
        os.chmod(self.path + ".sock", 0o777)
        self.record = open(self.path, "w", encoding="utf-8")
        fcntl.flock(self.record, fcntl.LOCK_EX)
        now = int(time.time() * 1000)
        json.dump({"id": self.id, "kind": "transfer", "what": "in \x1b[2Jx", "sandbox": "dev", "tenant": tenant,
                   "asked_ms": now, "until_ms": now + 60000}, self.record)
        self.record.flush()
        os.chmod(self.path, 0o644)

    def hear(self):
        """The answer, and that it is taken."""
        data, fds, _, _ = socket.recv_fds(self.sock, 64, 1)
        version, answer, seconds = struct.unpack("=IIQ", data)
        with socket.socket(fileno=fds[0]) as reply:
            reply.send(struct.pack("=I", version == VERSION))
        return answer, seconds

    def close(self):
        os.unlink(self.path)
        os.unlink(self.path + ".sock")
        self.record.close()
        self.sock.close()


if sys.argv[1:2] == ["ask"]:
    asker = Asker(sys.argv[2], 2, "")
    print(asker.id, flush=True)
    print(*asker.hear(), flush=True)
    asker.close()
    sys.exit(0)

from api import Api, check, refused, run_tests, same, test  # noqa: E402

BOX = os.environ["BOX"]
one, two, run = (Api(os.environ["TOKEN_" + n]) for n in ("ONE", "TWO", "RUN"))


def answered(a, body):
    heard = []
    thread = threading.Thread(target=lambda: heard.append(a.hear()))
    thread.start()
    answer = one.post("/v1/approvals/" + a.id, body)
    thread.join(10)
    return answer.status, heard


@test
def questions():
    same("nothing is asked", one.get("/v1/approvals").json, {"items": [], "next": None})
    a = Asker(BOX, 2, "one")
    items = one.get("/v1/approvals").json["items"]
    same("one question", [i["id"] for i in items], [a.id])
    same("what it is about", (items[0]["kind"], items[0]["what"], items[0]["sandbox"]), ("transfer", "in \x1b[2Jx", "dev"))
    same("by its id", one.get("/v1/approvals/" + a.id).json, items[0])
    same("another tenant sees nothing", two.get("/v1/approvals").json["items"], [])
    refused("nor by its id", two.get("/v1/approvals/" + a.id), 404, "not_found")
    refused("nor may it answer", two.post("/v1/approvals/" + a.id, {"decision": "once"}), 404, "not_found")
    refused("without the scope nobody may", run.post("/v1/approvals/" + a.id, {"decision": "once"}), 403, "denied")
    refused("a word that is none", one.post("/v1/approvals/" + a.id, {"decision": "maybe"}), 400, "invalid_argument", "decision")
    refused("a time without one", one.post("/v1/approvals/" + a.id, {"decision": "time"}), 400, "invalid_argument", "seconds")
    for body, want in (({"decision": "once"}, (1, 0)), ({"decision": "sandbox"}, (2, 0)),
                       ({"decision": "time", "seconds": 60}, (3, 60)), ({"decision": "no"}, (4, 0))):
        same("the asker hears " + body["decision"], answered(a, body), (200, [want]))
    a.close()
    refused("then it is gone", one.post("/v1/approvals/" + a.id, {"decision": "once"}), 404, "not_found")


@test
def dead():
    a = Asker(BOX, 3, "one")
    fcntl.flock(a.record, fcntl.LOCK_UN)  # as if its process had died
    same("who died asks nothing", one.get("/v1/approvals").json["items"], [])
    check("and leaves nothing", os.listdir(BOX) == [], os.listdir(BOX))
    a.sock.close()


run_tests()
