# SPDX-License-Identifier: Apache-2.0
"""What servers.py has for real clients: files below DIR/files, git repositories below DIR/git."""
import os
import subprocess
import urllib.parse

PREFIXES = ("/files/", "/git/")


def send(handler, status, kind, body):
    handler.send_response(status)
    handler.send_header("Content-Type", kind)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    if handler.command != "HEAD":
        handler.wfile.write(body)


def listing(path):
    rows = "".join(f'<a href="{n}">{n}</a>\n' for n in sorted(os.listdir(path)))
    return f"<!DOCTYPE html><html><body>\n{rows}</body></html>".encode()


def files(handler, root):
    path = root + urllib.parse.unquote(handler.path.partition("?")[0])
    if os.path.isdir(path):
        send(handler, 200, "text/html", listing(path))
    elif os.path.isfile(path):
        with open(path, "rb") as f:
            send(handler, 200, "application/octet-stream", f.read())
    else:
        send(handler, 404, "text/plain", b"not here\n")


def git(handler, root, body):
    path, _, query = handler.path.partition("?")
    env = {"PATH": "/usr/bin:/bin", "GIT_PROJECT_ROOT": root + "/git", "GIT_HTTP_EXPORT_ALL": "1",
           "REQUEST_METHOD": handler.command, "PATH_INFO": path[4:], "QUERY_STRING": query,
           "CONTENT_TYPE": handler.headers.get("Content-Type", ""), "CONTENT_LENGTH": str(len(body)),
           "REMOTE_USER": "somebody", "REMOTE_ADDR": "198.51.100.1",
           "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*",
           "HTTP_CONTENT_ENCODING": handler.headers.get("Content-Encoding", ""),
           "GIT_PROTOCOL": handler.headers.get("Git-Protocol", "")}
    done = subprocess.run(["git", "http-backend"], input=body, stdout=subprocess.PIPE, env=env)
    head, _, rest = done.stdout.partition(b"\r\n\r\n")
    fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if line)
    send(handler, int(fields.get("Status", "200").split()[0]), fields.get("Content-Type", ""), rest)


def answer(handler, root, body):
    if handler.path.startswith("/git/"):
        git(handler, root, body)
    else:
        files(handler, root)
