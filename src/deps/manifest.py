# SPDX-License-Identifier: Apache-2.0
"""What a directory says that it needs. Runs inside a sandbox, on files that nobody trusts.

	python3 manifest.py ROOT

Prints one JSON document (engine/deps_kind.h). The first of the files that is there counts. `left` is what no
index can have: URLs, paths, other sources; `indexes` are the URLs of indexes that the file names; `locked`: a
tool wrote it that had asked an index. `given` is what the driver is told beside that: {"hashes": {name:
["sha256:..."]}, "constraints": ["pandas<3"]}.

Of a lock that counts which belongs here: what the project itself needs (no groups for development, no extras
that nobody chose), on this platform. Markers are evaluated by pip's own copy of packaging.
"""
import json
import os
import re
import sys
import sysconfig

try:
    import tomllib
except ImportError:  # before 3.11
    tomllib = None
try:
    from pip._vendor.packaging.markers import Marker
    from pip._vendor.packaging.specifiers import SpecifierSet
except ImportError:  # then there is nobody to install, either
    Marker = SpecifierSet = None

BYTES_MAX = 4 << 20
DEPTH_MAX = 8
NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
HASH = re.compile(r"(sha256|sha384|sha512):[0-9a-f]{64,128}")
# PEP 508 without a URL: name, extras, versions, marker.
PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\s*(?:\[[A-Za-z0-9._, -]*\])?\s*(?:\(?[<>=!~][^;@#]*\)?)?\s*(?:;[^#]*)?")
ELSEWHERE = ("git", "hg", "svn", "url", "path", "file", "directory")


def read(path):
    if os.path.islink(path) or not os.path.isfile(path) or os.path.getsize(path) > BYTES_MAX:
        return None
    with open(path, "rb") as f:
        data = f.read()
    # pip freeze >requirements.txt, as PowerShell writes it
    for mark, name in ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        if data.startswith(mark):
            return data.decode(name, "replace").replace("\r\n", "\n")
    return data.decode("utf-8", "replace").replace("\r\n", "\n")


def normal(name):
    return re.sub(r"[-_.]+", "-", str(name)).lower()


def holds(marker):
    """Is it so here? What is no marker, or cannot be looked at, raises or holds."""
    return not marker or not Marker or Marker(marker).evaluate({"extra": ""})


def allows(versions, version):
    return not versions or not SpecifierSet or SpecifierSet(versions).contains(version, prereleases=True)


class Asked:
    def __init__(self):
        self.all, self.left, self.indexes, self.constraints, self.hashes = [], [], [], [], {}
        self.locked = False

    def add(self, line, hashes=()):
        line = " ".join(line.split())
        if line and PLAIN.fullmatch(line):
            self.all.append(line)
        elif line:
            self.left.append(line[:200])
        name = NAME.match(line)
        good = [h.lower() for h in hashes if isinstance(h, str) and HASH.fullmatch(h.lower())]
        if len(good) < len(hashes):
            raise ValueError(f"a hash of {line[:60]} is none that could be checked")
        if name and good:
            self.hashes.setdefault(normal(name.group(0)), []).extend(good)

    def pin(self, row, hashes):
        """A package of a lock."""
        name, version = row.get("name"), row.get("version")
        if not isinstance(name, str) or not isinstance(version, str) or not NAME.fullmatch(name):
            raise ValueError("a package without name or version")
        self.add(f"{name}=={version}", hashes)


OPTION = re.compile(r"(-r|-c|-e|-i|-f|--[a-z-]+)[ =]*(.*)")


class Requirements:
    """requirements.txt, and what it names."""

    def __init__(self, root, asked):
        self.root, self.asked = root, asked

    def read(self, name, depth=0, limits=False):
        text = read(os.path.join(self.root, name)) if depth < DEPTH_MAX else None
        if text is None and depth:
            raise ValueError(f"{name[:100]} is not there")
        if text is None:
            return False
        for line in text.replace("\\\n", " ").splitlines():
            line = re.sub(r"(^|\s)#.*", "", line).strip()
            option = OPTION.fullmatch(line)
            if option:
                self.option(option.group(1), option.group(2).strip(), name, depth, limits)
            elif limits and PLAIN.fullmatch(line):
                self.asked.constraints.append(line)
            elif line:
                hashes = re.findall(r"\s--hash[= ]\s*(\S+)", line)
                self.asked.add(re.sub(r"\s--(?:hash|config-settings?|global-option)[= ]\s*\S+", "", line), hashes)
        return True

    def option(self, word, value, name, depth, limits):
        if word in ("-r", "--requirement", "-c", "--constraint"):
            if value.startswith("/") or ".." in value.split("/") or ":" in value:
                self.asked.left.append(f"{word} {value}"[:200])
            else:
                self.read(os.path.join(os.path.dirname(name), value), depth + 1, limits or word in ("-c", "--constraint"))
        elif word in ("-i", "--index-url", "--extra-index-url", "-f", "--find-links"):
            self.asked.indexes.append(value[:200])
        elif word in ("-e", "--editable", "--no-index"):
            self.asked.left.append(f"{word} {value}".strip()[:200])


def poetry_versions(version):
    """^1.2 and ~1.2 as ranges; anything stranger is left to the resolver's own choice."""
    version = version.strip() if isinstance(version, str) else "*"
    m = re.fullmatch(r"([\^~])(\d+)((?:\.\d+)*)", version)
    if m:
        parts = [int(p) for p in (m.group(2) + m.group(3)).split(".")]
        at = next((i for i, p in enumerate(parts) if p), 0) if m.group(1) == "^" else min(1, len(parts) - 1)
        top = parts[:at] + [parts[at] + 1]
        return f">={'.'.join(map(str, parts))},<{'.'.join(map(str, top))}"
    if re.fullmatch(r"[<>=!~][^;]*", version):
        return version
    return f"=={version}" if re.fullmatch(r"\d[\w.*]*", version) else ""


def poetry_rows(value, chosen=False):
    """What stands behind a name: "^1", a table, or several of either for different places. chosen: by an extra, which
    is what the marker is about."""
    for row in value if isinstance(value, list) else [value]:
        row = row if isinstance(row, dict) else {"version": row}
        if (chosen or holds(row.get("markers"))) and allows(poetry_versions(row.get("python", "*")), "%d.%d.%d" % sys.version_info[:3]):
            yield row


def left_to_files(root, doc, asked):
    """dynamic = ["dependencies"]: setuptools reads them from files like requirements.txt."""
    tool = doc.get("tool", {}).get("setuptools", {}).get("dynamic", {}).get("dependencies", {})
    files = [tool["file"]] if isinstance(tool.get("file"), str) else tool.get("file", [])
    if "dependencies" not in doc.get("project", {}).get("dynamic", []):
        return False
    for name in files:
        Requirements(root, asked).option("-r", name, "pyproject.toml", 0, False)
    return bool(files)


def pyproject(root, asked):
    text = read(os.path.join(root, "pyproject.toml"))
    doc = tomllib.loads(text) if text and tomllib else {}
    project, tool = doc.get("project", {}), doc.get("tool", {}).get("poetry", {})
    if "dependencies" not in project and "dependencies" not in tool:
        return left_to_files(root, doc, asked)
    for line in project.get("dependencies", []):
        asked.add(str(line))
    for name, value in tool.get("dependencies", {}).items():
        for row in poetry_rows(value) if name.lower() != "python" and NAME.fullmatch(name) else ():
            extras = "[" + ",".join(map(str, row["extras"])) + "]" if row.get("extras") else ""
            if any(k in row for k in ELSEWHERE):
                asked.left.append(f"{name} of {next(k for k in ELSEWHERE if k in row)}"[:200])
            elif not row.get("optional"):
                asked.add(name + extras + poetry_versions(row.get("version")))
    return True


def pipfile(root, asked):
    text = read(os.path.join(root, "Pipfile"))
    doc = tomllib.loads(text) if text and tomllib else {}
    if "packages" not in doc:
        return False
    asked.indexes += [str(s["url"])[:200] for s in doc.get("source", []) if isinstance(s, dict) and s.get("url")]
    for name, row in doc["packages"].items():
        row = row if isinstance(row, dict) else {"version": row}
        version, extras = str(row.get("version", "*")), "[" + ",".join(map(str, row["extras"])) + "]" if row.get("extras") else ""
        if any(k in row for k in ELSEWHERE) or not NAME.fullmatch(name):
            asked.left.append(str(name)[:200])
        elif holds(row.get("markers")):
            asked.add(name + extras + (version if version != "*" else ""))
    return True


def pipfile_lock(root, asked):
    text = read(os.path.join(root, "Pipfile.lock"))
    if not text:
        return False
    for name, row in json.loads(text).get("default", {}).items():
        version = row.get("version", "") if isinstance(row, dict) else ""
        if not version:
            asked.left.append(str(name)[:200])
        elif holds(row.get("markers")):
            asked.add(f"{name}{version}", row.get("hashes", []))
    asked.locked = True
    return True


class Lock:
    """poetry.lock and uv.lock: [[package]] with name and version, walked from what the project needs."""

    def __init__(self, root, doc, asked):
        self.root, self.doc, self.asked = root, doc, asked
        self.by, self.seen, self.todo = {}, set(), []
        for row in doc.get("package", []):
            self.by.setdefault(normal(row.get("name")), []).append(row)

    def take(self, row, hashes):
        source = row.get("source", {})
        if any(k in source for k in ("virtual", "editable")) or source.get("directory") == ".":
            return  # the project itself
        if any(k in source for k in ELSEWHERE) or source.get("type") in ELSEWHERE:
            self.asked.left.append(str(row.get("name"))[:200])
        else:
            self.asked.pin(row, hashes)

    def walk(self, hashes_of):
        """todo: (rows that may be meant, extras)."""
        while self.todo:
            rows, extras = self.todo.pop()
            row = rows[0]
            key = (normal(row.get("name")), row.get("version"))
            if key not in self.seen:
                self.seen.add(key)
                self.take(row, hashes_of(row))
                self.follow(row, None)
            for extra in extras:
                if (*key, extra) not in self.seen:
                    self.seen.add((*key, extra))
                    self.follow(row, extra)


class Uv(Lock):
    def follow(self, row, extra):
        deps = row.get("optional-dependencies", {}).get(extra, []) if extra else row.get("dependencies", [])
        for d in deps:
            rows = [r for r in self.by.get(normal(d.get("name")), ()) if d.get("version", r.get("version")) == r.get("version")
                    and (not r.get("resolution-markers") or any(holds(m) for m in r["resolution-markers"]))]
            if holds(d.get("marker")) and rows:
                self.todo.append((rows, d.get("extra", [])))

    def read(self):
        roots = [r for r in self.doc.get("package", []) if any(k in r.get("source", {}) for k in ("virtual", "editable"))]
        roots = [r for r in roots if "." in (r["source"].get("virtual"), r["source"].get("editable"))] or roots
        self.todo = [([r], []) for r in roots or self.doc.get("package", [])]
        self.walk(lambda r: [f["hash"] for f in [r.get("sdist") or {}, *r.get("wheels", [])] if f.get("hash")])


class Poetry(Lock):
    def hashes(self, row):
        files = row.get("files") or self.doc.get("metadata", {}).get("files", {}).get(row.get("name"), [])
        return [f["hash"] for f in files if f.get("hash")]

    def meant(self, name, row, extras):
        """The one of that name whose version, and Python, fit."""
        rows = [r for r in self.by.get(normal(name), ()) if allows(poetry_versions(row.get("version")), r.get("version"))
                and allows(poetry_versions(r.get("python-versions", "*")), "%d.%d.%d" % sys.version_info[:3])]
        if rows:
            self.todo.append((rows, extras))

    def follow(self, row, extra):
        chosen = {normal(NAME.match(d).group(0)) for d in row.get("extras", {}).get(extra, []) if NAME.match(d)}
        for name, value in row.get("dependencies", {}).items():
            if extra and normal(name) not in chosen:
                continue
            for d in poetry_rows(value, bool(extra)):
                if extra or not d.get("optional"):
                    self.meant(name, d, d.get("extras", []))

    def read(self):
        rows = self.doc.get("package", [])
        own = Asked()
        if any("groups" in r for r in rows):
            for r in rows:
                marker = r.get("markers", "")
                marker = marker.get("main", "") if isinstance(marker, dict) else marker
                if "main" in r.get("groups", []) and not r.get("optional") and holds(marker):
                    self.take(r, self.hashes(r))
        elif pyproject(self.root, own):
            for line in own.all:
                extras = re.search(r"\[([^]]*)\]", line)
                if holds(line.partition(";")[2].strip()):
                    self.meant(NAME.match(line).group(0), {}, [e.strip() for e in extras.group(1).split(",")] if extras else [])
            self.asked.left += own.left
            self.walk(self.hashes)
        else:
            for r in rows:
                if r.get("category", "main") == "main" and not r.get("optional"):
                    self.take(r, self.hashes(r))


def toml_lock(root, name, asked):
    text = read(os.path.join(root, name))
    if not text or not tomllib:
        return False
    (Uv if name == "uv.lock" else Poetry)(root, tomllib.loads(text), asked).read()
    asked.locked = True
    return True


def main():
    root = sys.argv[1]
    asked, file, why = Asked(), None, None
    for name, parse in (("uv.lock", lambda: toml_lock(root, "uv.lock", asked)),
                        ("poetry.lock", lambda: toml_lock(root, "poetry.lock", asked)),
                        ("Pipfile.lock", lambda: pipfile_lock(root, asked)),
                        ("requirements.txt", lambda: Requirements(root, asked).read("requirements.txt")),
                        ("pyproject.toml", lambda: pyproject(root, asked)),
                        ("Pipfile", lambda: pipfile(root, asked))):
        try:
            if parse():
                file = name
                break
        except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as e:
            file, why = name, str(e)[:200]
            break
    given = {"hashes": asked.hashes, "constraints": asked.constraints} if asked.hashes or asked.constraints else None
    json.dump({"lock": read(os.path.join(root, "pinfold.lock")), "file": file, "asked": asked.all,
               "left": asked.left[:100], "indexes": asked.indexes[:16], "locked": asked.locked, "given": given,
               "why": why, "interpreter": sysconfig.get_config_var("SOABI") or "",
               "platform": sysconfig.get_platform()}, sys.stdout)


main()
