#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What an agent's loop needs of the API, step by step: a build in the background whose output is followed, an answer
on its standard input, an error to act on, a workspace that is taken back, and its file fetched.

Standard library only. With `pinfold serve --listen 127.0.0.1:8787` running:

    PINFOLD_TOKEN=$(pinfold token new --tenant agent --ttl 1h) python3 examples/agent.py http://127.0.0.1:8787
"""
import json
import os
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

BUILD = 'for part in one two; do echo "built $part"; sleep 0.2; done; echo "ship?"; read word; echo "you said $word"'


class Refused(Exception):
    """Pinfold did not do what was asked. A program that fails is a result, and not this."""


class Pinfold:
    def __init__(self, url, token):
        self.url, self.token = url, token

    def raw(self, method, path, body=None, **query):
        """Bytes. Who is told to come again later does, a few times."""
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        url = self.url + path + ("?" + urllib.parse.urlencode(query) if query else "")
        fields = {"Authorization": "Bearer " + self.token, "Content-Type": "application/json"}
        for _ in range(5):
            try:
                with urllib.request.urlopen(urllib.request.Request(url, data, fields, method=method)) as answer:
                    return answer.read()
            except urllib.error.HTTPError as e:
                error = json.loads(e.read())["error"]
                if not e.headers["Retry-After"]:
                    raise Refused(f"{error['code']}: {error['message']} ({error['remedy']})") from None
                time.sleep(int(e.headers["Retry-After"]))
        raise Refused(f"{error['code']}: {error['message']}")

    def call(self, method, path, body=None, **query):
        text = self.raw(method, path, body, **query)
        return json.loads(text) if text else None

    def follow(self, process, until=None):
        """What a background process prints, until it has ended or printed that."""
        offset, text = 0, ""
        while True:
            part = self.call("GET", process + "/output", offset=offset, wait="10s")
            text += "".join(piece["text"] for piece in part["output"])
            offset = part["next_offset"]
            ended = not part["process"]["running"] and offset == part["process"]["output_bytes"]
            if ended or (until and until in text):
                return text, part["process"]


def background(api):
    # Where the daemon has no control groups, an ordinary user's often has none, it says what holds instead.
    box = "/v1/sandboxes/" + api.call("POST", "/v1/sandboxes", {"ttl": "5m", "limits": "best-effort"})["id"]
    try:
        pid = api.call("POST", box + "/exec", {"command": BUILD, "background": True})["pid"]
        process = f"{box}/processes/{pid}"
        text, _ = api.follow(process, "ship?")
        api.call("POST", process + "/stdin", {"data": "yes\n", "close": True})
        text, now = api.follow(process)
        print(text.rstrip("\n"))
        print(f"{now['status']} with {now['exit_code']}")
    except Refused as e:
        print(e)
    finally:
        api.call("DELETE", box)


def workspace(api):
    api.call("POST", "/v1/workspaces", {"name": "demo"})
    try:
        line = {"command": "cat > notes && wc -l notes", "stdin": "a\nb\n", "limits": "best-effort"}
        print(api.call("POST", "/v1/workspaces/demo/exec", line)["stdout"]["text"], end="")
        api.call("POST", "/v1/workspaces/demo/exec", {"command": "rm notes", "limits": "best-effort"})
        print([f"{c['path']} {c['change']}" for c in api.call("GET", "/v1/workspaces/demo/diff")["items"]])
        api.call("POST", "/v1/workspaces/demo/undo")
        # Any file, to the byte: what a command prints is kept whole.
        run = api.call("POST", "/v1/workspaces/demo/exec", {"command": ["cat", "notes"], "limits": "best-effort"})
        print(api.raw("GET", f"/v1/runs/{run['id']}/stdout"))
    finally:
        api.call("DELETE", "/v1/workspaces/demo")


def main(url):
    api = Pinfold(url, os.environ["PINFOLD_TOKEN"])
    background(api)
    workspace(api)
    try:
        api.call("POST", "/v1/runs", {"command": "true", "timeout": 5})
    except Refused as e:
        print(e)


if __name__ == "__main__":
    main(*sys.argv[1:])
