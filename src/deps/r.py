# SPDX-License-Identifier: Apache-2.0
"""The driver of R's packages, inside a sandbox (engine/deps_box.h has the frames).

	{"mode": "resolve", "asked": ["jsonlite>=1.8"], "locked": [{"name": ...}], "index": {"urls": ["..."]}}
		-> J {"interpreter", "platform", "packages": [...]}, F for each file, D
	{"mode": "fetch", "packages": [...], "index": ...}	-> F for each file, D
	{"mode": "install", "packages": [...]} and an F for each	-> J {"modules": [[...], ...]}, T..., D

An index is what R calls a repository: src/contrib/PACKAGES says versions, needs and MD5 sums, older versions
are below src/contrib/Archive. R's packages are sources, whose installing executes them: that is done where
nothing can be reached. What a package writes outside of the packages that were asked for is dropped.
"""
import http.client
import re
import subprocess
import tarfile
import urllib.error
import urllib.parse
import urllib.request
import zlib

OTHER = "ask for another version, or tell who keeps the index"
HTTP_SECONDS = 20
INDEX_MAX = 256 << 20
FILE_MAX = 1 << 30
PACKAGES_MAX = 2000
ENTRIES_MAX = 200000
NAME = re.compile(r"[A-Za-z][A-Za-z0-9.]*[A-Za-z0-9]")
VERSION = re.compile(r"[0-9]+(?:[.-][0-9]+)*")
NEEDS = ("Depends", "Imports", "LinkingTo")
LOOK = """cat(paste0("R-", R.version$major, ".", sub("[.].*", "", R.version$minor)), R.version$platform,
	paste0(R.version$major, ".", R.version$minor), paste(Sys.getenv("R_LIBS_SITE"), .Library.site[1], sep = ":"), sep = "\\n")
cat("\\n")
i <- utils::installed.packages()
cat(paste(i[, "Package"], i[, "Version"]), sep = "\\n")"""


class Host:
    """The R that is there, and what it has."""

    def __init__(self):
        with open(TMP + "/look.R", "w", encoding="utf-8") as f:
            f.write(LOOK)
        try:
            text = subprocess.run(["Rscript", "--no-init-file", TMP + "/look.R"], stdin=subprocess.DEVNULL, capture_output=True,
                                  check=True, text=True, errors="replace").stdout.splitlines()
        except (OSError, subprocess.CalledProcessError):
            fail("unsupported", "there is no R in sandboxes of this host", "install r-base-core", "r")
        self.interpreter, self.platform, self.version, places = text[:4]
        self.has = dict(line.split(" ", 1) for line in text[4:] if " " in line)
        usr = [p.rstrip("/") for p in places.split(":") if p.startswith("/usr/")]
        local = [p for p in usr if p.startswith("/usr/local/")]
        if not usr:
            fail("unsupported", "R looks for packages nowhere below /usr here", "bring packages in with --dir", "r")
        self.site = (local or usr)[0].removeprefix("/usr/")


def number(version):
    return tuple(int(n) for n in re.split(r"[.-]", version))


def fits(version, limits):
    """1.2 is less than 1.2.0, as R has it."""
    tests = {">=": lambda a, b: a >= b, "<=": lambda a, b: a <= b, ">": lambda a, b: a > b,
             "<": lambda a, b: a < b, "==": lambda a, b: a == b, "!=": lambda a, b: a != b}
    return all(tests[op](number(version), number(limit)) for op, limit in limits)


def parse_need(text):
    """`name`, `name (>= 1.2)`, `name>=1.2`: the name and its limits."""
    m = re.fullmatch(r"\s*([A-Za-z][A-Za-z0-9.]*)\s*(.*?)\s*", text, re.S)
    limits = []
    for part in re.split(r",", m.group(2).strip("() \t\n")) if m and m.group(2) else []:
        one = re.fullmatch(r"\s*(>=|<=|==|!=|>|<)\s*([0-9][0-9.-]*)\s*", part)
        if not one or not VERSION.fullmatch(one.group(2)):
            return None, None
        limits.append((one.group(1), one.group(2)))
    return (m.group(1), limits) if m else (None, None)


def records(text):
    """Records of Debian's form: field -> text."""
    for block in re.split(r"\n\s*\n", text):
        fields, last = {}, None
        for line in block.split("\n"):
            if line[:1] in (" ", "\t") and last:
                fields[last] += " " + line.strip()
            elif ":" in line:
                last, _, value = line.partition(":")
                fields[last] = value.strip()
        if fields:
            yield fields


def open_url(url):
    return urllib.request.urlopen(url, timeout=HTTP_SECONDS)


def lost(url, why):
    fail("timeout", f"the index {urllib.parse.urlsplit(url).hostname} does not answer: {str(why)[:200]}",
         "look at R's configuration (options(repos)), or where there is a network: pinfold deps fetch", "index")


def bounded(answer, most, url):
    data = answer.read(most + 1)
    if len(data) > most:
        fail("limit", f"{url} is larger than {most >> 20} MiB", "ask for fewer or smaller packages", "size")
    return data


def read_index(base):
    """PACKAGES of one index: text."""
    for name in ("PACKAGES.gz", "PACKAGES"):
        url = f"{base}/src/contrib/{name}"
        try:
            with open_url(url) as answer:
                data = bounded(answer, INDEX_MAX, url)
            if name.endswith(".gz"):
                d = zlib.decompressobj(31)
                data = d.decompress(data, INDEX_MAX)
                if d.unconsumed_tail:
                    fail("limit", f"{url} is larger than {INDEX_MAX >> 20} MiB", "ask for fewer or smaller packages", "size")
            return data.decode("utf-8", "replace")
        except urllib.error.HTTPError as e:
            if e.code != 404:
                lost(url, e)
        except (OSError, ValueError, http.client.HTTPException) as e:
            lost(url, e)
        except (zlib.error, EOFError) as e:
            fail("conflict", f"the index says what nobody understands: {e}", "look at R's configuration (options(repos))", "index")
    fail("missing", f"{base} has no src/contrib/PACKAGES", "look at R's configuration (options(repos))", "index")
    return ""


class Index:
    """Of each name the newest version that this R can have; the first index that has it counts."""

    def __init__(self, urls, host):
        self.rows, self.urls = {}, [u.rstrip("/") for u in urls]
        for base in self.urls:
            here = {}
            for r in records(read_index(base)):
                name, version = r.get("Package", ""), r.get("Version", "")
                if not NAME.fullmatch(name) or not VERSION.fullmatch(version) or not runs(r, host):
                    continue
                if "Path" in r and not re.fullmatch(r"[A-Za-z0-9._/-]+", r["Path"]):
                    continue
                if name not in here or number(version) > number(here[name]["Version"]):
                    here[name] = {**r, "base": base}
            self.rows = {**here, **self.rows}


def runs(row, host):
    for text in row.get("Depends", "").split(","):
        name, limits = parse_need(text) if text.strip() else (None, None)
        if name == "R" and not fits(host.version, limits):
            return False
    return True


def needs(row):
    for field in NEEDS:
        for text in row.get(field, "").split(","):
            if text.strip():
                name, limits = parse_need(text)
                if name and name != "R":
                    yield name, limits


def url_of(row):
    middle = row["Path"].strip("/") + "/" if row.get("Path") else ""
    return f"{row['base']}/src/contrib/{middle}{row['Package']}_{row['Version']}.tar.gz"


def archived(index, name, version):
    """A version that is not the newest: what it needs is in its file alone."""
    for base in index.urls:
        url = f"{base}/src/contrib/Archive/{name}/{name}_{version}.tar.gz"
        path = f"{TMP}/files/{name}_{version}.tar.gz"
        if get(url, path):
            return {**described(name, version, path), "base": base, "url": url}
    return None


def choose(index, name, limits, locked, why):
    row = index.rows.get(name)
    for version in [locked[name]["version"]] if name in locked else []:
        if fits(version, limits) and not (row and row["Version"] == version):
            old = archived(index, name, version)
            if old:
                return old
    if row and fits(row["Version"], limits):
        return row
    for op, version in limits:
        if op == "==" and (found := archived(index, name, version)) and fits(version, limits):
            return found
    said = ", ".join(f"{op} {v}" for op, v in limits)
    if row:
        fail("missing", f"the index has {name} {row['Version']}, and {why} wants {said}", "ask for another version", "version")
    fail("missing", f"the index has no package {name}" + (f", which {why} needs" if why != "somebody" else ""),
         "look at the name; R's differ in upper and lower case", "package")
    return None


def get(url, path):
    """One file to the disk. False: it is not there."""
    try:
        with open_url(url) as answer, open(path, "wb") as f:
            f.write(bounded(answer, FILE_MAX, url))
    except urllib.error.HTTPError as e:
        if e.code in (404, 403, 410):
            return False
        lost(url, e)
    except (OSError, ValueError, http.client.HTTPException) as e:
        lost(url, e)
    return True


def described(name, version, path):
    """Is it an archive of that package, with nothing that leads out of it? Its DESCRIPTION."""
    bad = f"{name} {version}: its file "
    text = None
    try:
        with tarfile.open(path, "r:gz") as tar:
            for n, i in enumerate(tar):
                parts = i.name.removeprefix("./").rstrip("/").split("/")
                if n > ENTRIES_MAX:
                    fail("limit", bad + "has too many entries", "ask for fewer or smaller packages", "size")
                if i.name.startswith("/") or ".." in parts or parts[0] != name or len(i.name) > 1000:
                    fail("conflict", bad + f"has a name that leads out of it: {i.name[:80]}", OTHER, "archive")
                if not i.isreg() and not i.isdir():
                    fail("conflict", bad + f"has something that is neither file nor directory: {i.name[:80]}", OTHER, "archive")
                if parts[1:] == ["DESCRIPTION"] and i.isreg() and i.size < CHUNK:
                    text = tar.extractfile(i).read().decode("utf-8", "replace")
    except (tarfile.TarError, OSError, EOFError, zlib.error) as e:
        fail("conflict", bad + f"is no archive: {e}", OTHER, "archive")
    row = next(records(text or ""), {})
    if row.get("Package") != name or row.get("Version") != version:
        fail("conflict", bad + "is of another package, or version", OTHER, "archive")
    return row


def resolve(ask):
    host, asked = Host(), []
    index = Index(ask["index"]["urls"], host)
    locked = {p["name"]: p for p in ask.get("locked") or []}
    for text in ask["asked"]:
        name, limits = parse_need(text)
        if not name or not NAME.fullmatch(name):
            fail("invalid", f"{text[:100]}: not a package of R's", "write NAME, or NAME>=VERSION", "package")
        asked.append((name, limits, None))
    chosen, by, todo = {}, {}, asked
    while todo:
        name, limits, wanter = todo.pop(0)
        if wanter:
            by.setdefault(name, set()).add(wanter)
        if name in host.has and fits(host.has[name], limits):
            continue
        if name in chosen:
            if not fits(chosen[name]["Version"], limits):
                fail("conflict", f"{wanter or 'somebody'} wants another version of {name} than {chosen[name]['Version']}", "ask for versions that go together", "version")
            continue
        if len(chosen) == PACKAGES_MAX:
            fail("limit", f"more than {PACKAGES_MAX} packages", "ask for fewer or smaller packages", "size")
        chosen[name] = choose(index, name, limits, locked, wanter or "somebody")
        todo += [(n, l, name) for n, l in needs(chosen[name])]
    answer(host, index, chosen, by, {name for name, _, _ in asked}, locked)


def answer(host, index, chosen, by, asked, locked):
    packages, files = [], {}
    for name, row in sorted(chosen.items()):
        p = {"name": name, "version": row["Version"], "file": f"{name}_{row['Version']}.tar.gz",
             "url": relative(row.get("url") or url_of(row), index.urls[0]), "needed_by": sorted(by.get(name, [])),
             "requested": name in asked, "license": row.get("License", "")[:100]}
        path = f"{TMP}/files/{p['file']}"
        if "url" not in row and not get(url_of(row), path):
            fail("missing", f"the index names {name} {row['Version']}, and does not have its file", "try again later", "package")
        if "url" not in row and row.get("MD5sum") and digest_of(path, "md5") != row["MD5sum"]:
            fail("conflict", f"{p['file']} is not what the index says (MD5sum)", "try again later, or another index", "hash")
        described(name, row["Version"], path)
        p["sha256"], p["size"] = digest_of(path, "sha256"), os.path.getsize(path)
        old = locked.get(name)
        if old and old["version"] == p["version"] and old["sha256"] != p["sha256"]:
            fail("conflict", f"{p['file']} is not what the lock says", "somebody may have changed it; "
                 "pinfold deps update makes the lock anew", "hash")
        packages.append(p)
        files[name] = path
    send(b"J", json.dumps({"interpreter": host.interpreter, "platform": host.platform, "packages": packages}).encode())
    for p in packages:
        send_file(files[p["name"]], p["sha256"])


def relative(url, base):
    a, b = urllib.parse.urlsplit(url), urllib.parse.urlsplit(base)
    return a.path if (a.scheme, a.netloc) == (b.scheme, b.netloc) else url


def fetch(ask):
    base = ask["index"]["urls"][0]
    for p in ask["packages"]:
        if "/" in p["file"]:
            fail("internal", "the files are in disorder")
        path, first = f"{TMP}/files/{p['file']}", urllib.parse.urljoin(base, p.get("url", ""))
        later = [f"{u.rstrip('/')}/src/contrib/{d}{p['file']}" for u in ask["index"]["urls"]
                 for d in ("", f"Archive/{p['name']}/")]
        for url in [first, *later]:
            if url.startswith(("http://", "https://")) and get(url, path) and digest_of(path, "sha256") == p["sha256"]:
                break
        else:
            fail("conflict", f"{p['file']}: no index has one with the hash of the lock", "pinfold deps update makes the lock anew", "hash")
        send_file(path, p["sha256"])


def entry(info):
    info.uid = info.gid = 0
    info.uname = info.gname = "root"
    info.mode = 0o755 if info.isdir() or info.mode & 0o100 else 0o644
    return info if info.isdir() or info.isreg() else None


def in_order(rows):
    """Who is needed comes first."""
    done, order = set(), []

    def visit(name, path):
        if name in done or name not in rows or name in path:
            return
        for n, _ in needs(rows[name]):
            visit(n, path | {name})
        done.add(name)
        order.append(name)

    sys.setrecursionlimit(PACKAGES_MAX * 2 + 1000)
    for name in sorted(rows):
        visit(name, frozenset())
    return order


def build(name, path, library):
    env = {k: v for k, v in os.environ.items() if not k.startswith("R_")}
    env.update(R_LIBS=library, R_LIBS_USER=library, MAKEFLAGS="-j2")
    log = TMP + "/log"
    with open(log, "wb") as f:
        status = subprocess.run(["R", "CMD", "INSTALL", "--no-html", "--no-multiarch", "--no-lock", "--no-test-load",
                                 "--library=" + library, path], stdin=subprocess.DEVNULL, stdout=f, stderr=f, env=env, cwd=TMP,
                                check=False).returncode
    if status == 0 and os.path.isfile(f"{library}/{name}/DESCRIPTION"):
        return
    with open(log, encoding="utf-8", errors="replace") as f:
        text = " ".join(f.read().split())[-400:]
    fail("conflict", f"{name} could not be built: {text}", "what it needs of the system has to be on the host", "build")


def install(ask):
    host, rows, paths, library = Host(), {}, {}, TMP + "/library"
    os.makedirs(library)
    for p, path in zip(ask["packages"], take_files(ask["packages"])):
        if not NAME.fullmatch(p["name"]):
            fail("internal", "the files are in disorder")
        paths[p["name"]] = path
        rows[p["name"]] = described(p["name"], p["version"], paths[p["name"]])
    for name in in_order(rows):
        build(name, paths[name], library)
    # What loads a package reads this of it; what lists packages does not.
    send(b"J", json.dumps({"modules": [[f"{host.site}/{p['name']}/Meta/nsInfo.rds"] for p in ask["packages"]]}).encode())
    with archive() as tar:
        parts = host.site.split("/")
        for n in range(1, len(parts) + 1):
            info = tarfile.TarInfo("/".join(parts[:n]))
            info.type, info.mode, info.uname, info.gname = tarfile.DIRTYPE, 0o755, "root", "root"
            tar.addfile(info)
        for name in sorted(rows):
            tar.add(f"{library}/{name}", arcname=f"{host.site}/{name}", filter=entry)


os.makedirs(TMP + "/files")
drive(resolve=resolve, fetch=fetch, install=install)
