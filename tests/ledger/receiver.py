# SPDX-License-Identifier: Apache-2.0
"""receiver.py http|syslog DIRECTORY: takes what a sink sends; writes its port to DIRECTORY/port, events to
DIRECTORY/got, checkpoints to DIRECTORY/notes. HTTP says no while DIRECTORY/refuse is there."""
import base64
import http.server
import os
import re
import socketserver
import sys

KIND, DIR = sys.argv[1:3]


def keep(name, data):
    with open(os.path.join(DIR, name), "ab") as f:
        f.write(data)


class Http(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if os.path.exists(os.path.join(DIR, "refuse")):
            self.send_response(503)
        else:
            lines = "ndjson" in self.headers["Content-Type"]
            keep("got" if lines else "notes", body)
            self.send_response(204)
        self.end_headers()

    def log_message(self, *args):
        pass


class Syslog(socketserver.StreamRequestHandler):
    def handle(self):
        while True:
            count = b""
            while not count.endswith(b" "):
                c = self.rfile.read(1)
                if not c:
                    return
                count += c
            frame = self.rfile.read(int(count))
            m = re.fullmatch(rb'<110>1 (\S+) \S+ pinfold - (\S+) \[pinfold@32473 chain="led\w+" at="(\d+)"\] (.*)',
                             frame, re.S)
            assert m, frame
            if m[2] == b"checkpoint":
                keep("notes", base64.b64decode(m[4]))
            else:
                keep("got", m[4] + b"\n")


with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Http if KIND == "http" else Syslog) as server:
    server.daemon_threads = True
    with open(os.path.join(DIR, "port.next"), "w") as f:
        f.write(str(server.server_address[1]))
    os.rename(os.path.join(DIR, "port.next"), os.path.join(DIR, "port"))
    server.serve_forever()
