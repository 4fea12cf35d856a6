#!/usr/bin/python3 -I
# SPDX-License-Identifier: Apache-2.0
"""hostile-archives.py DIR: writes archives that mean harm, one a file, named for what they try."""
import gzip
import io
import json
import lzma
import os
import sys
import tarfile


def entry(name, data=b"", **fields):
    info = tarfile.TarInfo(name)
    info.size = len(data)
    for key, value in fields.items():
        setattr(info, key, value)
    return info, io.BytesIO(data)


def link(name, target, kind=tarfile.SYMTYPE):
    return entry(name, type=kind, linkname=target)


def directory(name, **fields):
    return entry(name, type=tarfile.DIRTYPE, mode=fields.pop("mode", 0o755), **fields)


def tar_bytes(*entries):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for info, data in entries:
            data.seek(0)
            tar.addfile(info, data)
    return out.getvalue()


def write(name, data):
    with open(os.path.join(sys.argv[1], name), "wb") as f:
        f.write(data)


def header(name, size_field, kind=b"0", mtime=b"00000000000\0"):
    """A header by hand, with a checksum that fits."""
    b = bytearray(512)
    b[0:len(name)] = name
    b[100:108] = b"0000644\0"
    b[108:116] = b"0001750\0"
    b[116:124] = b"0001750\0"
    b[124:136] = size_field
    b[136:148] = mtime
    b[148:156] = b" " * 8
    b[156:157] = kind
    b[257:265] = b"ustar\x0000"
    b[148:156] = b"%06o\0 " % sum(b)
    return bytes(b)


def binary(value):
    """A size in base 256."""
    return bytes([0x80 if value >= 0 else 0xFF]) + value.to_bytes(11, "big", signed=True)


good = entry("good.txt", b"good\n")

# Names that lead out.
write("dotdot.tar", tar_bytes(good, entry("../x", b"out")))
write("dotdot-deep.tar", tar_bytes(good, entry("a/b/../../../../x", b"out")))
write("dotdot-first.tar", tar_bytes(entry("../x", b"out"), good))
write("absolute.tar", tar_bytes(good, entry("/tmp/pinfold-abs", b"out")))
write("long-name.tar", tar_bytes(good, entry("n" * 256, b"x")))
write("long-path.tar", tar_bytes(good, entry("/".join(["d" * 200] * 22), b"x")))

# Links, and what comes through them.
write("through-link.tar", tar_bytes(link("d", "/tmp"), entry("d/x", b"out")))
write("through-link-dir.tar", tar_bytes(link("d", ".."), directory("d/e"), entry("d/e/x", b"out")))
write("through-chain.tar", tar_bytes(directory("a"), link("a/b", ".."), link("c", "a/b"), entry("c/x", b"out")))
write("link-over-dir.tar", tar_bytes(directory("d"), entry("d/f", b"1"), link("d", "/tmp"), entry("d/x", b"out")))
write("hard-out.tar", tar_bytes(good, link("h", "../../etc/shadow", tarfile.LNKTYPE)))
write("hard-absolute.tar", tar_bytes(good, link("h", "/etc/passwd", tarfile.LNKTYPE)))
write("hard-through-link.tar", tar_bytes(link("d", "/etc"), link("h", "d/passwd", tarfile.LNKTYPE)))
write("hard-nowhere.tar", tar_bytes(good, link("h", "missing", tarfile.LNKTYPE)))
write("hard-itself.tar", tar_bytes(good, link("h", "h", tarfile.LNKTYPE)))
write("empty-link.tar", tar_bytes(good, link("l", "")))

# Numbers that lie.
write("size-huge.tar", header(b"big", binary(1 << 62)) + b"x" * 512)
write("size-negative.tar", header(b"neg", binary(-512)) + b"\0" * 1024)
write("size-more.tar", header(b"more", b"00000010000\0") + b"x" * 512)
write("pax-giga.tar", header(b"pax", b"%011o\0" % (1 << 30), b"x") + b"9 path=x\n" + b"\0" * 503)
write("pax-broken.tar", header(b"pax", b"%011o\0" % 512, b"x") + b"99999 path=x\n".ljust(512, b"\0")
      + header(b"after", b"00000000000\0") + b"\0" * 1024)
write("checksum.tar", b"\0" * 0 + header(b"sum", b"00000000000\0").replace(b"sum", b"SUM") + b"\0" * 1024)
write("cut.tar", tar_bytes(good, entry("long", os.urandom(100000)))[:50000])
write("cut.tar.gz", gzip.compress(tar_bytes(good, entry("long", os.urandom(100000))))[:50000])
write("noise.tar", os.urandom(1 << 20))
write("empty.tar", b"")

# Bombs.
bomb = header(b"zeros", b"%011o\0" % (160 << 20)) + bytes(160 << 20)
write("bomb.tar.gz", gzip.compress(bomb, 6))
write("bomb.tar.xz", lzma.compress(bomb, preset=0))
write("twice.tar.gz", gzip.compress(gzip.compress(tar_bytes(good))))

# What must not get in, in an archive that is fine otherwise.
strange = entry("attr", b"x")
strange[0].pax_headers = {
    "SCHILY.xattr.user.ok": "1", "SCHILY.xattr.user.overlay.opaque": "y",
    "SCHILY.xattr.trusted.overlay.redirect": "/etc", "SCHILY.xattr.security.capability": "cap",
    "SCHILY.xattr.system.posix_acl_access": "acl", "LIBARCHIVE.xattr.user.overlay.metacopy": "eA==",
}
poisoned = directory("poisoned")
poisoned[0].pax_headers = {"SCHILY.xattr.user.overlay.opaque": "y", "SCHILY.xattr.user.overlay.redirect": "/etc"}
late = entry("late", b"x")
late[0].pax_headers = {"mtime": "9223372036854775808"}
write("stripped.tar", tar_bytes(
    entry("null", type=tarfile.CHRTYPE, devmajor=1, devminor=3),
    entry("disk", type=tarfile.BLKTYPE, devmajor=8, devminor=0),
    entry("whiteout", type=tarfile.CHRTYPE), entry("fifo", type=tarfile.FIFOTYPE),
    entry("setuid", b"x", mode=0o6755), directory("setgid", mode=0o2755), strange, poisoned, late,
    entry("root-owned", b"x", uid=0, gid=0), entry("twice", b"first"), entry("twice", b"second"),
    entry("C:\\x", b"x"), entry("-rf", b"x"), entry("new\nline", b"x"), entry("inv\udcff", b"x"),
    entry("./dot/./slash//x", b"x"), link("out", "/etc/passwd"), link("up", "../../..")))

# Images.
def image(name, layers, manifest=None):
    files = [entry("%064x/layer.tar" % i, data) for i, data in enumerate(layers)]
    manifest = manifest or [{"Config": "c.json", "Layers": ["%064x/layer.tar" % i for i in range(len(layers))]}]
    write(name, tar_bytes(*files, entry("manifest.json", json.dumps(manifest).encode())))


base = tar_bytes(directory("d"), entry("d/old", b"old"), entry("gone", b"gone"), entry("kept", b"kept"),
                 directory("o"), entry("o/lower", b"lower"))
top = gzip.compress(tar_bytes(entry(".wh.gone"), entry("d/new", b"new"), entry("o/upper", b"upper"),
                              entry("o/.wh..wh..opq"), entry("kept", b"changed")))
image("image.tar", [base, top])
image("image-bomb.tar", [base, gzip.compress(bomb, 6)])
image("image-dotdot.tar", [base, tar_bytes(entry("../x", b"out"))])
image("image-whiteout-out.tar", [base, tar_bytes(entry("../.wh.x"))])
image("image-whiteout-dots.tar", [base, tar_bytes(entry("d/.wh..."), entry("d/.wh..wh..wh..opq"), entry(".wh."))])
image("image-through-link.tar", [tar_bytes(link("d", "/tmp")), tar_bytes(entry("d/x", b"out"))])
image("image-missing.tar", [base], [{"Layers": ["nowhere/layer.tar"]}])
image("image-many.tar", [base], [{"Layers": ["%064x/layer.tar" % 0] * 1000}])
write("manifest-of-nobody.tar", tar_bytes(entry("manifest.json", b'{"name": "an extension"}'), good))


def oci(name, layers, digest=lambda d: "sha256:" + __import__("hashlib").sha256(d).hexdigest()):
    blobs = [(digest(data), data) for data in layers]
    manifest = json.dumps({"schemaVersion": 2, "layers": [{"digest": d} for d, _ in blobs]}).encode()
    blobs.append((digest(manifest), manifest))
    index = json.dumps({"manifests": [{"digest": digest(manifest)}]}).encode()
    write(name, tar_bytes(directory("blobs"), *[entry("blobs/" + d.replace(":", "/"), data) for d, data in blobs],
                          entry("index.json", index), entry("oci-layout", b'{"imageLayoutVersion": "1.0.0"}')))


oci("oci.tar", [base, top])
oci("oci-digest-out.tar", [base], lambda d: "sha256:../../../etc")
loop = json.dumps({"manifests": [{"digest": "sha256:aa"}]}).encode()
write("oci-loop.tar", tar_bytes(entry("blobs/sha256/aa", loop), entry("index.json", loop),
                                entry("oci-layout", b'{"imageLayoutVersion": "1.0.0"}')))
