# SPDX-License-Identifier: Apache-2.0
"""An index of R's packages for tests: src/contrib/PACKAGES and archives, on 127.0.0.1.

	python3 cran.py FILE	writes "PORT" to FILE when it listens, and serves until it is ended

Packages are made here, of R alone. What it is asked is written to FILE.log.
"""
import gzip
import hashlib
import http.server
import io
import os
import sys
import tarfile

FILES = {}  # path below src/contrib: bytes
INDEX = []

# What a package does while it is built: looks for secrets, for a network, and writes where it can.
SPY = """spied <- c(if (nzchar(Sys.getenv("SECRET_OF_OURS"))) "secret",
	if (length(list.files("/root")) || file.exists("/etc/shadow")) "files",
	if (!inherits(suppressWarnings(try(socketConnection("127.0.0.1", %PORT%, timeout = 2), silent = TRUE)), "try-error")) "network")
try(writeLines("spoilt <- TRUE", "/usr/local/lib/R/site-library/spoilt"), silent = TRUE)
try(dir.create(file.path(Sys.getenv("R_LIBS"), "stowaway")), silent = TRUE)
spy <- function() if (length(spied)) spied else "nothing"
"""


def pack(name, version, code, extra=(), inside=None, **fields):
    description = {"Package": name, "Version": version, "Title": "T", "Description": "D.", "License": "MIT", **fields, **(inside or {})}
    files = {"DESCRIPTION": "".join(f"{k}: {v}\n" for k, v in description.items()),
             "NAMESPACE": 'exportPattern(".")\n', "R/code.R": code}
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as t:
        for path, text in files.items():
            info = tarfile.TarInfo(f"{name}/{path}")
            info.size, info.mode = len(text.encode()), 0o644
            t.addfile(info, io.BytesIO(text.encode()))
        for info in extra:
            t.addfile(info)
    return gzip.compress(out.getvalue(), mtime=0)


def add(name, version, code, old=False, md5=None, **more):
    data = pack(name, version, code, **more)
    fields = {k: v for k, v in more.items() if k not in ("extra", "inside")}
    FILES[(f"Archive/{name}/" if old else "") + f"{name}_{version}.tar.gz"] = data
    if not old:
        row = {"Package": name, "Version": version, **fields, "MD5sum": md5 or hashlib.md5(data).hexdigest()}
        INDEX.append("".join(f"{k}: {v}\n" for k, v in row.items()))


def link(name, to):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = tarfile.SYMTYPE, to
    return info


def fill(port):
    add("plum", "1.2", 'plum <- function() "1.2"')
    add("plum", "1.0", 'plum <- function() "1.0"', old=True)
    add("damson", "2.0-1", 'damson <- function() paste("damson on", plum::plum())', Imports="plum (>= 1.1)", Depends="R (>= 3.5)")
    add("future9", "1.0", "x <- 1", Depends="R (>= 9.0)")
    add("spy", "1.0", SPY.replace("%PORT%", str(port)))
    add("changed", "1.0", "x <- 1", md5="0" * 32)
    add("climber", "1.0", "x <- 1", extra=[tarfile.TarInfo("climber/../../evil")])
    add("rooted", "1.0", "x <- 1", extra=[tarfile.TarInfo("/tmp/evil")])
    add("linker", "1.0", "x <- 1", extra=[link("linker/R/out.R", "/etc/passwd")])
    add("liar", "1.0", "x <- 1", inside={"Package": "plum"})
    add("broken", "1.0", "x <- (")
    add("lonely", "1.0", "x <- 1", Imports="nowhere")
    INDEX.append("Package: ../evil\nVersion: 1.0\n")
    INDEX.append("Package: odd\nVersion: 1.0\nPath: ../../../etc\n\x00\xff: x\n")


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        with open(sys.argv[1] + ".log", "a", encoding="utf-8") as f:
            f.write(self.path + "\n")

    def do_GET(self):
        path = self.path.removeprefix("/src/contrib/")
        data = "\n".join(INDEX).encode() if path == "PACKAGES" else FILES.get(path)
        if path == "PACKAGES.gz":
            data = gzip.compress("\n".join(INDEX).encode())
        self.send_response(200 if data is not None else 404)
        self.send_header("Content-Length", str(len(data or b"")))
        self.end_headers()
        self.wfile.write(data or b"")


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    fill(server.server_address[1])
    with open(sys.argv[1] + ".new", "w", encoding="utf-8") as f:
        f.write(str(server.server_address[1]))
    os.rename(sys.argv[1] + ".new", sys.argv[1])
    server.serve_forever()


main()
