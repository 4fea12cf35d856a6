#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""An interpreter that stays: a file goes in, pieces of code run one after the other, a picture comes out.

Standard library only. With `pinfold serve` running:

    python3 examples/analyst.py /run/pinfold/pinfold-http.sock sales.png
"""
import base64
import http.client
import json
import socket
import sys

DATA = "month,sold\nJanuary,12\nFebruary,30\nMarch,21\n"
PIECES = (
    "import pandas as pd\nsales = pd.read_csv('sales.csv')\nlen(sales)",
    "print(sales.nlargest(1, 'sold').to_string(index=False))",
    "sales.profit.mean()",  # a mistake: the session stays
    "sales.plot.bar(x='month', y='sold')",
)


class Pinfold(http.client.HTTPConnection):
    """The API on its Unix socket, where the caller's uid says who he is."""

    def __init__(self, path):
        super().__init__("localhost")
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)

    def call(self, method, path, body=None):
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        self.request(method, path, data, {"Content-Type": "application/json"} if data else {})
        answer = self.getresponse()
        text = answer.read()
        if answer.status >= 300:
            error = json.loads(text)["error"]
            raise RuntimeError(f"{error['code']}: {error['message']} ({error['remedy']})")
        return json.loads(text) if text else None


def main(path, picture):
    api = Pinfold(path)
    # Where the daemon has no control groups, an ordinary user's often has none, it says what holds instead.
    box = "/v1/sandboxes/" + api.call("POST", "/v1/sandboxes", {"ttl": "5m", "limits": "best-effort"})["id"]
    try:
        api.call("PUT", f"{box}/files?path=/home/user/sales.csv", DATA.encode())
        session = f"{box}/sessions/" + api.call("POST", f"{box}/sessions", {"lang": "python"})["id"]
        for code in PIECES:
            done = api.call("POST", f"{session}/execute", {"code": code})
            print(done["stdout"]["text"], end="")
            if done["status"] == "error":
                print(f"{done['error']['name']}: {done['error']['value']}")
            for result in done["results"]:
                if "image/png" in result["data"]:
                    with open(picture, "wb") as f:
                        f.write(base64.b64decode(result["data"]["image/png"]))
                    print(f"wrote {picture}")
                elif result["is_main"]:
                    print(result["data"]["text/plain"])
    finally:
        api.call("DELETE", box)


if __name__ == "__main__":
    main(*sys.argv[1:])
