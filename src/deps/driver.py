# SPDX-License-Identifier: Apache-2.0
# What all drivers in Python begin with: the frames of engine/deps_box.h. drivers.c puts it before each of them.
import contextlib
import hashlib
import json
import os
import shutil
import struct
import sys
import tarfile

OUT = os.fdopen(os.dup(1), "wb")
CHUNK = 1 << 20


def roomy():
    """Packages may be large: where a volume was made for them it is not in /tmp, which is memory."""
    def room(path):
        s = os.statvfs(path)
        return s.f_bavail * s.f_frsize
    home = os.path.expanduser("~")
    return "/tmp/deps" if not os.access(home, os.W_OK) or room(home) < room("/tmp") * 2 else home + "/.deps"


TMP = roomy()


def send(kind, data):
    OUT.write(kind + struct.pack("<Q", len(data)) + data)


def fail(code, message, remedy="", detail=""):
    send(b"E", json.dumps({"code": code, "message": message, "remedy": remedy, "detail": detail}).encode())
    OUT.flush()
    sys.exit(0)


def leads_out(name):
    """Of a file in an archive: whoever unpacks it where it belongs would write elsewhere."""
    return name.startswith("/") or ".." in name.split("/") or "\\" in name or "\0" in name


def read(n):
    data = sys.stdin.buffer.read(n)
    if len(data) < n:
        fail("internal", "the question was cut off")
    return data


def receive(kind):
    head = read(9)
    if head[:1] != kind:
        fail("internal", "the question is in disorder")
    return struct.unpack("<Q", head[1:])[0]


def digest_of(path, algorithm="sha256"):
    h = hashlib.new(algorithm)
    with open(path, "rb") as f:
        for block in iter(lambda: f.read(CHUNK), b""):
            h.update(block)
    return h.hexdigest()


def send_file(path, digest):
    OUT.write(b"F" + struct.pack("<Q", 64 + os.path.getsize(path)) + digest.encode())
    with open(path, "rb") as f:
        shutil.copyfileobj(f, OUT, CHUNK)


def take_files(packages):
    """What is given beside the question: a file for each package. Their paths."""
    paths = []
    os.makedirs(TMP + "/files", exist_ok=True)
    for p in packages:
        n = receive(b"F")
        if read(64).decode() != p["sha256"] or "/" in p["file"]:
            fail("internal", "the files are in disorder")
        paths.append(f"{TMP}/files/{p['file']}")
        with open(paths[-1], "wb") as f:
            for at in range(64, n, CHUNK):
                f.write(read(min(CHUNK, n - at)))
    return paths


class Pieces:
    """A file that is written as frames. tarfile's own stream would copy all that it holds at every write."""

    def __init__(self):
        self.parts, self.held, self.sent = [], 0, 0

    def write(self, data):
        self.parts.append(bytes(data))
        self.held += len(data)
        if self.held >= CHUNK:
            self.flush()
        return len(data)

    def tell(self):
        return self.sent + self.held

    def flush(self):
        send(b"T", b"".join(self.parts))
        self.sent += self.held
        self.parts, self.held = [], 0


@contextlib.contextmanager
def archive():
    """The layer, on its way out."""
    pieces = Pieces()
    with tarfile.open(fileobj=pieces, mode="w", format=tarfile.PAX_FORMAT) as tar:
        yield tar
    pieces.flush()


def drive(**modes):
    os.makedirs(TMP, exist_ok=True)
    ask = json.loads(read(receive(b"J")))
    modes[ask["mode"]](ask)
    send(b"D", b"")
    OUT.flush()
