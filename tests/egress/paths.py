# SPDX-License-Identifier: Apache-2.0
"""Inside a sandbox: GET /open/** is allowed and /open/admin/** denied. Ask for other things by paths that
somebody could read as those. Prints the paths that passed."""
import socket
import ssl

TIMEOUT = 30
CONTEXT = ssl.create_default_context()
PATHS = ["/open/a", "/open/%61?x=/open/../b", "/open/", "/open/../secret", "/open/%2e%2e/secret",
         "/open/..%2fsecret", "/open/%2e%2e%2fsecret", "/open/..;/secret", "/open/;/../secret",
         "/open//secret", "//secret", "/open/%252e%252e/secret", "/open\\..\\secret", "/open/%5c../secret",
         "/OPEN/a", "/Open/a", "/open%2Fa", "/open;x/a", "/open/./a", "/open/%00", "/open/%0d%0aX:y",
         "/open/%ff", "/open/admin/x", "/open/ADMIN/x", "/open/%61dmin/x", "/open/admin;x/x",
         "/open/admin%2fx", "/open/a/../admin/x", "/secret", "/", "*", "open/a", "/open/%zz",
         "http://b.wild.test/open/a", "https://four.test/open/a", "https://b.wild.test:444/open/a"]


def ask(path, first="GET", more="", body=""):
    raw = socket.create_connection(("b.wild.test", 443), TIMEOUT)
    with CONTEXT.wrap_socket(raw, server_hostname="b.wild.test") as s:
        s.sendall(f"{first} {path} HTTP/1.1\r\nHost: b.wild.test\r\n{more}\r\n{body}".encode())
        return s.recv(4096).split(b" ")[1:2] == [b"200"]


for path in PATHS:
    if ask(path):
        print("passed:", path)
for first in "POST", "get", "Get", "DELETE", "PROPFIND":
    if ask("/open/a", first):
        print("method:", first)
for name in "X-HTTP-Method-Override", "X-Method-Override", "x-http-method":
    if ask("/open/a", more=f"{name}: DELETE\r\n"):
        print("method in", name)
for name in "X-Original-URL", "x-rewrite-url":
    for path in "/secret", "/open/admin/x", "/open/../secret", "https://b.wild.test/secret", "open/a":
        if ask("/open/a", more=f"{name}: {path}\r\n"):
            print("path in", name, path)
if not ask("/open/a", more="X-Rewrite-URL: /open/a?b\r\n"):
    print("a path in a field that is allowed is refused")
if ask("/open/a", more="Content-Length: 2\r\n", body="ab"):
    print("body passed")
