# SPDX-License-Identifier: Apache-2.0
"""The driver of Python packages: pip, inside a sandbox (engine/deps_box.h has the frames).

	{"mode": "resolve", "asked": ["pandas>=2"], "locked": [{"name": ...}], "index": {"url": "...",
	 "extra": [], "trusted": []}, "source": false, "age_hours": 72}
		-> J {"interpreter", "platform", "packages": [...]}, F for each file, D
	{"mode": "check", "packages": [...], "index": ..., "age_hours": 72}	-> D
	{"mode": "build", "packages": [one], "index": ...} and its F	-> J {"file", "sha256", "size"}, F, D
	{"mode": "fetch", "packages": [...], "index": ...}	-> F for each file, D
	{"mode": "install", "packages": [...]} and an F for each	-> T..., [J {"modules": [[...], ...], "contents": [...]}], D
	{"mode": "repack", "packages": [one], "content": "..."}	-> T..., D: of what is installed here, a wheel again

Resolving and fetching reach the index and nothing else. Installing reaches nothing: what it makes of the
files follows from the files alone. Of a package nothing is executed, but for sources, which have to be allowed:
pip executes them while resolving, to ask what they need, and while building, which is done for each alone.
"""
import calendar
import configparser
import csv
import email.parser
import importlib.util
import io
import re
import resource
import subprocess
import sysconfig
import tarfile
import time
import warnings
import zipfile
import zlib
from importlib import _bootstrap_external

TARGET = "/usr/local"
HTTP_SECONDS = 20
FILE_MAX = 4 << 30
MEMORY_MAX = 3 << 29
TELLING_MAX = 64
NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")


def online(mode):
    """One that asks an index. Who installs does without what that needs, which takes as long as many wheels."""
    def start(ask):
        global html, http, urllib
        import html.parser
        import http.client
        import urllib.error
        import urllib.parse
        import urllib.request
        mode(ask)

    return start


def normal(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def index_words(index):
    words = ["--index-url", index["url"]]
    for url in index.get("extra", []):
        words += ["--extra-index-url", url]
    for host in index.get("trusted", []):
        words += ["--trusted-host", host]
    return words


def bound():
    """An index that answers without end must not have all of the memory."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_MAX, MEMORY_MAX))


# Files that pip downloads to find out what they need are kept: else they would be fetched twice. A pip that
# does it in another way keeps none.
KEEPING = """
import os, runpy, sys
place = sys.argv.pop(1)
try:
    from pip._internal.network import download
    plain = download.Downloader.__call__
    def keep(self, *words, **more):
        made = plain(self, *words, **more)
        try:
            os.link(made[0], os.path.join(place, os.path.basename(made[0])))
        except (OSError, TypeError, IndexError):
            pass
        return made
    download.Downloader.__call__ = keep
except (ImportError, AttributeError):
    pass
runpy.run_module('pip', run_name='__main__', alter_sys=True)
"""
KEPT = TMP + "/kept"


def pip(words, log):
    """Run it; what it says goes to `log`. Its exit status."""
    env = {**os.environ, "PIP_BREAK_SYSTEM_PACKAGES": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1",
           "PIP_NO_INPUT": "1", "PIP_CONFIG_FILE": "/dev/null", "PIP_ROOT_USER_ACTION": "ignore",
           "PIP_NO_CACHE_DIR": "1", "PIP_PROGRESS_BAR": "off", "PIP_RETRIES": "1",
           "PIP_TIMEOUT": str(HTTP_SECONDS), "PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": TMP}
    with open(log, "wb") as f:
        return subprocess.run([sys.executable, "-c", KEEPING, KEPT, *words], stdin=subprocess.DEVNULL, stdout=f, stderr=f,
                              env=env, cwd=TMP, check=False, preexec_fn=bound).returncode


def host_of(url):
    return urllib.parse.urlsplit(url).hostname or url


def lost(index, why, name=""):
    """Nobody answers: not a word about whether there is such a package."""
    fail("timeout", f"{name + ': ' if name else ''}the index {host_of(index['url'])} does not answer: {why[:200]}",
         "look at pip's configuration (index-url), or where there is a network: "
         f"pinfold deps add {name or 'NAME'}, then pinfold deps fetch", "index")


def refuse_foreign(hosts, index):
    foreign = [h for h in hosts if h not in {host_of(u) for u in [index["url"], *index.get("extra", [])]}]
    if foreign:
        fail("denied", f"the index sends to another host, {foreign[0]}, which pip's configuration does not name",
             "name it as extra-index-url of pip if it belongs to the index", "index")


def answers(url, index):
    """(status, why): of a page of the index; 0 where there is no answer at all."""
    try:
        with urllib.request.urlopen(url, timeout=HTTP_SECONDS) as answer:  # its head is enough
            return answer.status, ""
    except urllib.error.HTTPError as e:
        refuse_foreign([host_of(e.url or url)], index)
        return e.code, f"{e.code} {e.reason}"
    except (OSError, ValueError, http.client.HTTPException) as e:
        return 0, str(getattr(e, "reason", e))


def explain_none(asked, index):
    """pip takes an index that is down for one that has no such package: we look ourselves."""
    name = re.match(r"[A-Za-z0-9._-]*", asked).group(0)
    there = False
    for url in [index["url"], *index.get("extra", [])]:
        status, why = answers(url.rstrip("/") + "/" + normal(name) + "/", index)
        if status == 0 or status >= 500 or status == 429:
            lost(index, why, name)
        there = there or status == 200
    if there:
        fail("missing", f"the index has {name}, but nothing of {asked} that can be installed here as it is",
             f"one without a wheel has to be built: pinfold deps add --source {name}", "package")
    fail("missing", f"the index has no package {name}", "look at the name", "package")


def explain(log, index):
    """From pip's words to ours."""
    with open(log, encoding="utf-8", errors="replace") as f:
        text = f.read()[-20000:]
    if re.search("No module named '?pip", text):
        fail("unsupported", "pip is not there: python3 -m pip", "install the package python3-pip", "pip")
    broken = re.search(r"(?:Failed to establish a new connection|Name or service not known|Temporary failure in name"
                     r"|Connection refused|ConnectTimeoutError|ReadTimeoutError|Read timed out|Tunnel connection failed"
                     r"|Connection aborted|ProxyError|RemoteDisconnected|SSLError|IncompleteRead|Connection broken)[^\n]*", text)
    none = re.search(r"No matching distribution found for ([^\n]+)", text)
    versions = re.search(r"Could not find a version that satisfies the requirement (\S+)[^\n]*\(from versions: ([^)]*)\)", text)
    if broken:
        refuse_foreign(sorted(set(re.findall(r"host='([^']+)'", text))), index)
        page = re.search(r"url: /\S*?/?([^/\s]+)/? \(", text)
        lost(index, broken.group(0), page.group(1) if page and NAME.fullmatch(page.group(1)) else "")
    if none and versions and versions.group(2).strip() not in ("none", ""):
        fail("missing", f"no version of {none.group(1).strip()} fits this interpreter; there are {versions.group(2)[-200:]}",
             "ask for one of these, or let it be built: pinfold deps add --source", "version")
    if none:
        explain_none(none.group(1).strip(), index)
    if "ResolutionImpossible" in text or "conflicting dependencies" in text:
        why = "; ".join(line.strip() for line in text.splitlines() if " depends on " in line)[:400]
        fail("conflict", f"the packages exclude each other: {why}", "ask for other versions", "versions")
    other = re.search(r"DO NOT MATCH THE HASHES[^\n]*\n\s*(\S+)(?: from|:)", text)
    bare = re.search(r"(?:missing from some requirements|These do not:)[^\n]*\n\s*([A-Za-z0-9._-]+)", text)
    if other:
        fail("conflict", f"{other.group(1)[:100]}: the index has no file with a hash that the manifest has of it",
             "somebody may have changed it; look at the manifest before you take a new hash", "hash")
    if bare:
        fail("conflict", f"{bare.group(1)} is needed, too, and the manifest has no hash of it",
             "write hashes of all, as pip wants it, or of none", "hash")
    if "HASH" in text or "hashes" in text.lower() and "match" in text.lower():
        fail("conflict", "a file of the index is not what its hash says", "somebody may have changed it; "
             "pinfold deps update makes the lock anew", "hash")
    if "MemoryError" in text:
        fail("limit", "the index answers without end", "look at pip's configuration (index-url)", "index")
    if "Traceback" in text and re.search(r"pip/_internal/(?:index|models)/", text):
        fail("conflict", "what the index answers cannot be read: " + text.strip().splitlines()[-1][:200],
             "look at pip's configuration (index-url)", "index")
    bad = re.search(r"(\S+) has an invalid wheel[^\n]*", text)
    if bad:
        fail("conflict", bad.group(0)[:300], "do not use this package", "wheel")
    last = [line for line in text.splitlines() if line.strip()][-3:]
    fail("internal", "pip: " + " ".join(last)[:500])


def relative(url, index):
    a, b = urllib.parse.urlsplit(url), urllib.parse.urlsplit(index["url"])
    return urllib.parse.urlunsplit(("", "", a.path, a.query, "")) if (a.scheme, a.netloc) == (b.scheme, b.netloc) else \
        urllib.parse.urlunsplit((a.scheme, a.netloc.rpartition("@")[2], a.path, a.query, ""))


def uploaded(name, index):
    """When files of a package came to the index (PEP 700), by their names; {}: it does not say."""
    url = index["url"].rstrip("/") + "/" + normal(name) + "/"
    ask = urllib.request.Request(url, headers={"Accept": "application/vnd.pypi.simple.v1+json"})
    try:
        with urllib.request.urlopen(ask, timeout=HTTP_SECONDS) as answer:
            if "json" not in answer.headers.get("Content-Type", ""):
                return {}
            doc = json.loads(answer.read(32 << 20))
        return {f["filename"]: f["upload-time"] for f in doc.get("files", []) if "upload-time" in f}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def check_age(packages, index, hours):
    """A version that came just now may be gone tomorrow, and known as an attack."""
    import datetime
    now = datetime.datetime.now(datetime.timezone.utc)
    for p in packages:
        when = uploaded(p["name"], index).get(p["file"])
        try:
            then = datetime.datetime.fromisoformat(when.replace("Z", "+00:00")) if when else None
        except ValueError:
            then = None
        if not then:
            continue
        p["uploaded"] = then.astimezone(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        old = (now - then).total_seconds() / 3600
        if hours and old < hours:
            fail("denied", f"{p['name']} {p['version']} came to the index {max(0, int(old))} hours ago, "
                 f"less than {hours}", f"ask for an older version ({p['name']}<{p['version']}), "
                 "or say that it may be this young: PINFOLD_DEPS_AGE=0, or pinfold deps add --age 0", "age")


def needed_by(reports):
    """Who of the set asks for whom."""
    found = {}
    for r in reports:
        for line in r["metadata"].get("requires_dist", []):
            name = re.match(r"[A-Za-z0-9._-]+", line)
            if name and "extra ==" not in line:
                found.setdefault(normal(name.group(0)), set()).add(normal(r["metadata"]["name"]))
    return found


def name_of(asked):
    return normal(NAME.match(asked.strip()).group(0))


def with_hashes(asked, hashes):
    """Where every line has some, pip is told, and takes no other file; else check_hashes() alone looks."""
    rows = [(line, hashes.get(name_of(line))) for line in asked]
    if not all(h and "==" in line for line, h in rows):
        return asked
    return [line + "".join(f" --hash={word}" for word in h) for line, h in rows]


def check_hashes(packages, files, hashes):
    """Those of the user's own manifest or lock."""
    for p in packages:
        wanted = hashes.get(p["name"])
        if wanted and not any(digest_of(files[p["name"]], w.partition(":")[0]) == w.partition(":")[2] for w in wanted):
            fail("conflict", f"{p['file']} of the index has none of the hashes that the manifest has of it",
                 "somebody may have changed it; look at the manifest before you take a new hash", "hash")


def license_of(meta):
    """What a package says of its licence in one line: newer ones by an expression, others in words, by the index's own
    words, or by a text that is too long to be a name."""
    said = str(meta.get("license_expression") or meta.get("license") or "").strip()
    if said and "\n" not in said and len(said) <= 100:
        return said
    classes = [str(c).rpartition(" :: ")[2] for c in meta.get("classifier") or () if str(c).startswith("License :: ")]
    return classes[0][:100] if len(classes) == 1 else said.partition("\n")[0][:100]


def resolve(ask):
    index, report, log = ask["index"], TMP + "/report.json", TMP + "/log"
    os.makedirs(KEPT)
    given = ask.get("given") or {}
    limits, hashes = given.get("constraints", []), given.get("hashes", {})
    limited = {name_of(line) for line in limits}
    with open(TMP + "/asked.txt", "w", encoding="utf-8") as f:
        f.write("\n".join(with_hashes(ask["asked"], hashes)) + "\n")
    with open(TMP + "/locked.txt", "w", encoding="utf-8") as f:
        f.write("\n".join([*limits, *(f"{p['name']}=={p['version']}" for p in ask.get("locked", [])
                                      if p["name"] not in limited)]) + "\n")
    words = ["install", "--dry-run", "--report", report, "-r", TMP + "/asked.txt", "-c", TMP + "/locked.txt"]
    if ask.get("anew"):
        words.append("--ignore-installed")
    if not ask.get("source"):
        words += ["--only-binary", ":all:"]
    if pip(words + index_words(index), log) != 0:
        explain(log, index)
    with open(report, encoding="utf-8") as f:
        reports = json.load(f)["install"]
    by, packages = needed_by(reports), []
    for r in reports:
        info, meta = r["download_info"], r["metadata"]
        sums = (info.get("archive_info") or {}).get("hashes") or {}
        digest = sums.get("sha256") or ((info.get("archive_info") or {}).get("hash") or "").partition("sha256=")[2]
        file = urllib.parse.unquote(urllib.parse.urlsplit(info["url"]).path).rpartition("/")[2]
        packages.append({"name": normal(meta["name"]), "version": meta["version"], "file": file, "sha256": digest,
                         "url": relative(info["url"], index), "needed_by": sorted(by.get(normal(meta["name"]), [])),
                         "requested": bool(r.get("requested")), "license": license_of(meta)})
    files = download(packages, index)
    check_hashes(packages, files, hashes)
    check_age(packages, index, ask.get("age_hours", 0))
    for p in packages:
        p["size"] = os.path.getsize(files[p["name"]])
    send(b"J", json.dumps({"interpreter": sysconfig.get_config_var("SOABI"), "platform": sysconfig.get_platform(),
                           "packages": packages}).encode())
    for p in packages:
        send_file(files[p["name"]], p["sha256"])


def get(p, index, path):
    """One file, straight to the disk. False: it is not where the lock says."""
    url = urllib.parse.urljoin(index["url"], p["url"])
    h, n = hashlib.sha256(), 0
    try:
        with urllib.request.urlopen(url, timeout=HTTP_SECONDS) as answer, open(path, "wb") as f:
            for block in iter(lambda: answer.read(CHUNK), b""):
                h.update(block)
                n += len(block)
                if n > FILE_MAX:
                    fail("limit", f"{p['file']} is larger than {FILE_MAX >> 30} GiB", "", "size")
                f.write(block)
    except (OSError, ValueError, http.client.HTTPException):
        return False
    if p["sha256"] and h.hexdigest() != p["sha256"]:
        fail("conflict", f"{p['file']} is not what its hash says", "somebody may have changed it; "
             "pinfold deps update makes the lock anew", "hash")
    p["sha256"] = h.hexdigest()
    return True


def get_by_pip(p, index, place):
    """By name and hash: an index may have moved it."""
    log, wanted = TMP + "/log", TMP + "/wanted.txt"
    with open(wanted, "w", encoding="utf-8") as f:
        f.write(f"{p['name']}=={p['version']} --hash=sha256:{p['sha256']}\n")
    words = ["download", "--no-deps", "--require-hashes", "-d", place, "-r", wanted]
    words += ["--only-binary", ":all:"] if p["file"].endswith(".whl") else []
    if pip(words + index_words(index), log) != 0:
        explain(log, index)
    return os.path.isfile(os.path.join(place, p["file"]))


def was_kept(p, path):
    """pip had it already, and it is what its hash says."""
    kept = os.path.join(KEPT, p["file"])
    if not os.path.isfile(kept):
        return False
    digest = digest_of(kept)
    if p["sha256"] and digest != p["sha256"]:
        return False
    p["sha256"] = digest
    os.replace(kept, path)
    return True


def download(packages, index):
    """Their files, by name. An index that gives no hashes is believed once: the lock has them from then on."""
    place, files = TMP + "/files", {}
    os.makedirs(place, exist_ok=True)
    for p in packages:
        path = os.path.join(place, p["file"])
        if "/" in p["file"] or not (was_kept(p, path) or get(p, index, path) or get_by_pip(p, index, place)):
            fail("conflict", f"{p['name']}: the index gave another file than {p['file']}", "", "hash")
        files[p["name"]] = path
    return files


def build(ask):
    """A source archive becomes a wheel, here, where there is nothing to be had but the index, and for no other."""
    p, place, log = ask["packages"][0], TMP + "/built", TMP + "/log"
    path = take_files([p])[0]
    if pip(["wheel", "--no-deps", "-w", place, path, *index_words(ask["index"])], log) != 0:
        with open(log, encoding="utf-8", errors="replace") as f:
            text = " ".join(f.read().split())[-400:]
        fail("conflict", f"{p['name']} {p['version']} could not be built: {text}", "ask for a version that has a wheel", "build")
    made = [f for f in os.listdir(place) if f.endswith(".whl")]
    if len(made) != 1:
        fail("conflict", f"{p['name']}: building it made no wheel", "", "build")
    wheel = os.path.join(place, made[0])
    digest = digest_of(wheel)
    send(b"J", json.dumps({"file": made[0], "sha256": digest, "size": os.path.getsize(wheel)}).encode())
    send_file(wheel, digest)


def new_page():
    """A page of the index as PEP 503 has it, to be fed: its `files` are file -> SHA-256, or None."""
    class Page(html.parser.HTMLParser):
        def __init__(self):
            super().__init__()
            self.files = {}

        def handle_starttag(self, tag, attrs):
            url = urllib.parse.urlsplit(dict(attrs).get("href") or "") if tag == "a" else None
            if url:
                digest = re.search(r"sha256=([0-9a-f]{64})", url.fragment)
                self.files[urllib.parse.unquote(url.path).rpartition("/")[2]] = digest and digest.group(1)

    return Page()


def listed(name, index):
    """What the index itself says of the files of a package."""
    found = {}
    for base in [index["url"], *index.get("extra", [])]:
        ask = urllib.request.Request(base.rstrip("/") + "/" + name + "/",
                                     headers={"Accept": "application/vnd.pypi.simple.v1+json, text/html;q=0.1"})
        try:
            with urllib.request.urlopen(ask, timeout=HTTP_SECONDS) as answer:
                text, kind = answer.read(32 << 20).decode("utf-8", "replace"), answer.headers.get("Content-Type", "")
            if "json" in kind:
                found.update({f["filename"]: f.get("hashes", {}).get("sha256") for f in json.loads(text)["files"]})
            else:
                page = new_page()
                page.feed(text)
                found.update(page.files)
        except (OSError, ValueError, KeyError, TypeError, http.client.HTTPException):
            continue
    return found


def check(ask):
    """Sources ran where these were found: is it what the index has? Nothing of a package runs here."""
    index, place = ask["index"], TMP + "/files"
    os.makedirs(place)
    for p in ask["packages"]:
        files = listed(p["name"], index)
        there = p["file"] in files and "/" not in p["file"]
        said = files.get(p["file"])
        if there and not said and get({**p, "sha256": ""}, index, os.path.join(place, p["file"])):
            said = digest_of(os.path.join(place, p["file"]))
        if not there or said != p["sha256"]:
            fail("conflict", f"{p['name']} {p['version']}: the index has no such file as was found while sources were built",
                 "do not build these packages", "source")
    check_age(ask["packages"], index, ask.get("age_hours", 0))


def fetch(ask):
    packages = ask["packages"]
    if any(p.get("source") for p in packages):
        fail("missing", "what was built from source is not in the cache any more: "
             + ", ".join(p["name"] for p in packages if p.get("source")), "build it again with pinfold deps update --source")
    files = download(packages, ask["index"])
    for p in packages:
        send_file(files[p["name"]], p["sha256"])


def is_taken(name):
    """A command that the host has, too: whoever starts python3, or git, means that one."""
    command = name.removeprefix("local/bin/")
    return command != name and any(os.path.lexists(f"{d}/{command}") for d in ("/usr/bin", "/usr/sbin", "/usr/local/bin"))


def entry(info):
    if is_taken(info.name):
        return None
    info.uid = info.gid = 0
    info.uname = info.gname = "root"
    script = info.name.startswith("local/bin/")
    info.mode = 0o755 if info.isdir() or script or info.mode & 0o100 else 0o644
    return info if info.isdir() or info.isreg() else None


class Odd(Exception):
    """A wheel that we leave to pip."""


def places():
    """Where a wheel's parts belong, relative to /usr."""
    scheme = "posix_local" if "posix_local" in sysconfig.get_scheme_names() else sysconfig.get_default_scheme()
    site = sysconfig.get_path("purelib", scheme)
    if site != sysconfig.get_path("platlib", scheme) or not site.startswith(TARGET + "/"):
        raise Odd("another layout")
    site = site.removeprefix("/usr/")
    return {"": site, "purelib": site, "platlib": site, "scripts": "local/bin", "data": "local"}


SCRIPT = """#!/usr/bin/python3
import sys
from {module} import {name}
if __name__ == '__main__':
    sys.argv[0] = sys.argv[0].removesuffix('.exe')
    sys.exit({call}())
"""


def commands(text):
    """Programs that a wheel wants to have made: name -> text."""
    config = configparser.ConfigParser(delimiters=("=",), interpolation=None, strict=False)
    config.optionxform = str
    config.read_string(text)
    made = {}
    for section in ("console_scripts", "gui_scripts"):
        for name, where in config.items(section) if config.has_section(section) else ():
            m = re.fullmatch(r"([\w.]+)\s*:\s*([\w.]+)\s*(?:\[.*\])?", where)
            if not m or not re.fullmatch(r"\w[\w.-]*", name):
                raise Odd("a program of a strange name")
            made["local/bin/" + name] = SCRIPT.format(module=m.group(1), name=m.group(2).split(".")[0], call=m.group(2)).encode()
    return made


def unpacked(wheels):
    """name below /usr -> (wheel, its entry) or bytes; what comes later counts, as with pip."""
    where, files = places(), {}
    for z in wheels:
        for i in z.infolist():
            top, _, rest = i.filename.partition("/")
            kind, name = "", i.filename
            if top.endswith(".data"):
                kind, _, name = rest.partition("/")
            if i.is_dir():
                continue
            if kind not in where or not name or "//" in i.filename or "." in i.filename.split("/"):
                raise Odd("a strange part")
            files[f"{where[kind]}/{name}"] = (z, i)
            if kind == "" and re.fullmatch(r"[^/]+\.dist-info/entry_points\.txt", name):
                files.update(commands(z.read(i).decode()))
    return files


def compiled(path, source, mtime):
    try:
        code = compile(source, "/usr/" + path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None  # as pip: whoever imports it is told
    return _bootstrap_external._code_to_timestamp_pyc(code, mtime, len(source))


# A header of ustar: name, mode, uid, gid, size, time, its own sum, kind; then who, and nothing.
HEAD = b"%s%07o\0" + b"0000000\0" * 2 + b"%011o\0%011o\0" + b" " * 8 + b"%s" + bytes(100) + b"ustar\0" + b"00" + \
    b"root".ljust(32, b"\0") * 2 + b"0000000\0" * 2 + bytes(167)


class Layer:
    """The archive that becomes the layer; directories come before what is in them."""

    def __init__(self, tar):
        self.tar, self.dirs = tar, set()

    def add(self, name, size, data, mtime, mode=0o644):
        here = os.path.dirname(name)
        if here not in self.dirs:
            parts = here.split("/")
            for n in range(1, len(parts) + 1):
                self.enter("/".join(parts[:n]), mtime)
        self.put(name, size, mtime, mode, data)

    def enter(self, path, mtime):
        if path in self.dirs:
            return
        self.dirs.add(path)
        self.put(path, 0, mtime, 0o755, None)

    def put(self, name, size, mtime, mode, data):
        if not name.isascii() or len(name) > 100 or not 0 <= mtime < 1 << 33 or size >= 1 << 33:
            info = tarfile.TarInfo(name)
            info.size, info.mtime, info.mode, info.uname, info.gname = size, mtime, mode, "root", "root"
            info.type = tarfile.REGTYPE if data else tarfile.DIRTYPE
            self.tar.addfile(info, data)
            return
        # What tarfile would write, without the half of all time that it takes for that.
        head = HEAD % (name.encode().ljust(100, b"\0"), mode, size, mtime, b"0" if data else b"5")
        self.tar.fileobj.write(head[:148] + b"%06o\0 " % sum(head) + head[156:])
        self.tar.offset += 512 + -(-size // 512) * 512
        if data:  # no less than was said, or the rest would be read as something else
            tarfile.copyfileobj(data, self.tar.fileobj, size, EOFError, CHUNK)
            self.tar.fileobj.write(bytes(-size % 512))


class Hashed:
    """A file that is hashed as it is read."""

    def __init__(self, file):
        self.file, self.hash = file, hashlib.sha256()

    def read(self, n):
        data = self.file.read(n)
        self.hash.update(data)
        return data


def unpack(paths, tar):
    """Wheels as they lie there: no file is written on the way, and pip need not start. Raises Odd before
    anything was said. For each wheel, member -> line_of() of what became of it."""
    wheels = [zipfile.ZipFile(p) for p in paths]
    try:
        files = unpacked(wheels)
    except (configparser.Error, UnicodeError) as e:
        raise Odd(str(e)) from e
    parents = {os.path.dirname(n) for n in files}
    if any(n in parents or n + "/" in files for n in files) or any(len(n) > 4000 for n in files):
        raise Odd("a file where a directory is")
    layer, lines = Layer(tar), {z: {} for z in wheels}
    for name in sorted(n for n in files if not is_taken(n)):
        if isinstance(files[name], bytes):
            layer.add(name, len(files[name]), io.BytesIO(files[name]), 1577934246, 0o755)
            continue
        z, i = files[name]
        mtime = calendar.timegm((*i.date_time, 0, 0, 0))
        script = name.startswith("local/bin/")
        mode = 0o755 if script or i.external_attr >> 16 & 0o100 else 0o644
        if not script and not name.endswith(".py"):
            with z.open(i) as f:
                hashed = Hashed(f)
                layer.add(name, i.file_size, hashed, mtime, mode)
            lines[z][i.filename] = line_of(i.filename, mode, mtime, hashed.hash)
            continue
        data = z.read(i)
        if script and data.startswith(b"#!python"):
            data = b"#!/usr/bin/python3" + data[data.index(b"\n") if b"\n" in data else len(data):]
        layer.add(name, len(data), io.BytesIO(data), mtime, mode)
        lines[z][i.filename] = line_of(i.filename, mode, mtime, hashlib.sha256(data))
        code = None if script else compiled(name, data, mtime)
        if code:
            layer.add(importlib.util.cache_from_source(name), len(code), io.BytesIO(code), mtime)
    return [(z, lines[z]) for z in wheels]


def line_of(member, mode, mtime, digest):
    return f"{member}\0{mode:o}\0{mtime}\0{digest.hexdigest()}\n".encode("utf-8", "surrogateescape")


def content_of(lines):
    return hashlib.sha256(b"".join(lines[m] for m in sorted(lines))).hexdigest()


def record_of(p):
    """Where a wheel says which files it has."""
    return "-".join(p["file"].split("-")[:2]) + ".dist-info/RECORD"


def members(record):
    return {row[0] for row in csv.reader(io.StringIO(record.decode())) if row}


def content(p, z, lines):
    """A hash of all that became of a wheel, or None: it could not be made again of that."""
    try:
        of_dates = all(time.gmtime(calendar.timegm((*i.date_time, 0, 0, 0)))[:6] == i.date_time for i in z.infolist())
        whole = {i.filename for i in z.infolist() if not i.is_dir()} == set(lines) == members(z.read(record_of(p)))
        return content_of(lines) if whole and of_dates else None
    except (KeyError, ValueError, csv.Error, zipfile.BadZipFile, zlib.error):
        return None


def place_of(member, where):
    top, _, rest = member.partition("/")
    kind, _, name = rest.partition("/") if top.endswith(".data") else ("", "", member)
    return f"/usr/{where[kind]}/{name}"


def repack(ask):
    """The layer that a package is in lies on /usr here. Files of others are not there to be had: all of
    it has to be what was installed."""
    p, where, lines = ask["packages"][0], places(), {}
    pieces = Pieces()
    try:
        with open(place_of(record_of(p), where), "rb") as f:
            names = sorted(members(f.read()))
        with zipfile.ZipFile(pieces, "w") as z:
            for name in names:
                if leads_out(name):
                    raise ValueError(name)
                with open(place_of(name, where), "rb") as f:
                    st, hashed = os.fstat(f.fileno()), Hashed(f)
                    info = zipfile.ZipInfo(name, time.gmtime(int(st.st_mtime))[:6])
                    mode = st.st_mode & 0o777
                    info.external_attr, info.file_size = mode << 16, st.st_size
                    with z.open(info, "w") as to:
                        shutil.copyfileobj(hashed, to, CHUNK)
                lines[name] = line_of(name, mode, int(st.st_mtime), hashed.hash)
    except (OSError, ValueError, KeyError, csv.Error, zipfile.LargeZipFile):
        lines = {}
    if not lines or (ask["content"] is not None and content_of(lines) != ask["content"]):
        fail("conflict", f"{p['name']} {p['version']} is not what was installed", "", "layer")
    pieces.flush()


def importable(paths):
    """Of each wheel the modules that it has: directory below /usr -> names in it."""
    site, found = places()[""], []
    for path in paths:
        with zipfile.ZipFile(path) as z:
            names = [n for n in z.namelist() if n.endswith((".py", ".so")) and not n.split("/")[0].endswith((".dist-info", ".data"))]
        dirs = {}
        for n in names:
            here, _, name = f"{site}/{n}".rpartition("/")
            dirs.setdefault(here, set()).add(name)
        found.append(dirs)
    return found


def with_cache(path):
    return [path, importlib.util.cache_from_source(path)] if path.endswith(".py") else [path]


def telling(dirs, site, shared):
    """Files that are opened by whoever imports one of these modules: of a package its beginning, of one that
    has none (a namespace) all that lie there, or the directory where these are many. None: nobody can tell."""
    found, taken, wide = [f"{site}/{name}" for name in dirs.get(site, ())], [site], []
    for here in sorted(dirs, key=lambda d: (d.count("/"), d)):
        mine = {f"{here}/{n}" for n in dirs[here]} - shared
        first = [f for f in mine if f.rpartition("/")[2].split(".")[0] == "__init__"]
        if not mine or any(here == t or (t != site and here.startswith(t + "/")) for t in taken):
            continue
        if first:
            taken.append(here)
        elif len(mine) > TELLING_MAX // 4:
            wide += [here, here + "/__pycache__"]
        found += first or (mine if len(mine) <= TELLING_MAX // 4 else [])
    all_of_it = {w for f in found if f not in shared for w in with_cache(f)}.union(wide)
    return sorted(all_of_it) if len(all_of_it) <= TELLING_MAX else []


def modules(paths):
    """For each wheel what tells that it is used."""
    site, all_dirs = places()[""], importable(paths)
    seen, shared = set(), set()
    for dirs in all_dirs:
        mine = {f"{here}/{n}" for here in dirs for n in dirs[here]}
        shared |= mine & seen
        seen |= mine
    return [telling(dirs, site, shared) for dirs in all_dirs]


def install(ask):
    more = {}
    paths = take_files(ask["packages"])
    for p, path in zip(ask["packages"], paths):
        check_wheel(p, path)
    try:
        more["modules"] = modules(paths)
    except Odd:
        pass  # then nobody knows
    with archive() as tar:
        try:
            made = unpack(paths, tar)
            more["contents"] = [content(p, z, lines) for p, (z, lines) in zip(ask["packages"], made)]
        except Odd:
            install_by_pip(paths, tar)
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as e:
            fail("conflict", f"the packages could not be installed: {e}", "", "install")
    if more:
        send(b"J", json.dumps(more).encode())


def install_by_pip(paths, tar):
    log = TMP + "/log"
    words = ["install", "--no-index", "--no-deps", "--no-cache-dir", "--ignore-installed", "--no-warn-script-location",
             "--only-binary", ":all:", "--root", TMP + "/root", *paths]
    os.makedirs(TMP + "/root")
    if pip(words, log) != 0:
        with open(log, encoding="utf-8", errors="replace") as f:
            text = " ".join(f.read().split())[-400:]
        fail("conflict", f"the packages could not be installed: {text}", "", "install")
    top = TMP + "/root/usr"
    if not os.path.isdir(top):
        fail("unsupported", "pip installs to another place than /usr here", "", "install")
    for name in sorted(os.listdir(top)):
        tar.add(os.path.join(top, name), arcname=name, filter=entry)


def check_wheel(p, path):
    """A name that leads out of its place is an attack, whatever pip makes of it."""
    try:
        with zipfile.ZipFile(path) as z:
            names = z.namelist()
            if sum(i.file_size for i in z.infolist()) > 8 << 30:
                fail("limit", f"{p['file']} is too large when it is unpacked", "", "size")
            meta = [n for n in names if re.fullmatch(r"[^/]+\.dist-info/METADATA", n)]
            said = email.parser.Parser().parsestr(z.read(meta[0]).decode("utf-8", "replace"), headersonly=True) if meta else {}
    except (zipfile.BadZipFile, OSError, RuntimeError, NotImplementedError) as e:
        fail("conflict", f"{p['file']} is no wheel: {e}", "", "wheel")
    for name in names:
        if leads_out(name):
            fail("denied", f"{p['file']} has a file whose name leads out of its place: {name[:100]}",
                 "do not use this package", "wheel")
    if normal(said.get("Name", "")) != p["name"] or said.get("Version", "").strip() != p["version"]:
        fail("conflict", f"{p['file']} says that it is {said.get('Name', 'nothing')[:60]} {said.get('Version', '')[:40]}, not "
             f"{p['name']} {p['version']}",
             "do not use this package", "wheel")


warnings.simplefilter("ignore")  # of packages' texts
drive(resolve=online(resolve), check=online(check), build=online(build), fetch=online(fetch), install=install, repack=repack)
