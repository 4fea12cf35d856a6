# SPDX-License-Identifier: Apache-2.0
"""The driver of the distribution's packages: apt, as root of a sandbox (engine/deps_box.h has the frames).

	{"mode": "resolve", "asked": ["jq", "tree=2.1.0-1"]}
		-> J {"interpreter", "platform", "packages": [...]}, F for each file, D
	{"mode": "fetch", "packages": [...]}	-> F for each file, D
	{"mode": "install", "packages": [...]} and an F for each	-> J {"links": [...]}, T..., D
	{"mode": "ground"}	-> T..., D

Below /host lies what it needs of the host (sandbox/spec.h). Resolving and fetching reach the archives that apt's
configuration names; what comes has to be signed, as apt wants it. Installing reaches nothing: there the
packages' own scripts run. Only what the host does not have is installed, over the host's /usr.

The archive that installing makes has what is new in /usr. Of /etc, /var/lib and /opt it has each name whole
below which something is new, at TREE, and `links` says which.

A sandbox that an ordinary user made has one id, and the host's directories are of none: nothing could be put
there. So a layer with the directories of /usr that packages share, and nothing else, lies between, which
"ground" makes.
"""
import re
import subprocess
import tarfile

TMP = "/tmp/deps"
TREE = "local/lib/pinfold/tree"
LINKS_MAX = 64
GROUND_DEPTH = 4 # of all directories; deeper ones if several packages have files there
# Ours in every sandbox, or of no use without a running system.
LEFT = {"etc/" + n for n in (
    "passwd", "passwd-", "group", "group-", "shadow", "shadow-", "gshadow", "gshadow-", "subuid", "subgid", "hosts",
    "hostname", "resolv.conf", "nsswitch.conf", "ssl", "apt", "dpkg", "mtab", "machine-id", "localtime", "timezone",
    "pinfold-ca.pem", "pinfold-certs.pem", "systemd", "init.d", "rc0.d", "rc1.d", "rc2.d", "rc3.d", "rc4.d", "rc5.d",
    "rc6.d", "rcS.d", "cron.d", "cron.daily", "logrotate.d", "pam.d", "apparmor.d", ".pwd.lock")} | {
    "var/lib/" + n for n in ("dpkg", "apt", "systemd", "dbus", "pam", "ucf", "misc")}
# What is not to happen: services that start; files that are given to others where there are no others.
NO_START = "/usr/sbin/policy-rc.d"
NO_OWNERS = ["/usr/local/sbin/chown", "/usr/local/sbin/chgrp", "/usr/local/sbin/dpkg-statoverride"]
OURS = {NO_START, *NO_OWNERS}
CONF = """
APT::Sandbox::User "root";
APT::Install-Recommends "false";
APT::Keep-Downloaded-Packages "true";
APT::Get::Assume-Yes "true";
Dir::Cache::pkgcache "pkgcache.bin";
Dir::Cache::srcpkgcache "srcpkgcache.bin";
Acquire::Languages "none";
Acquire::Retries "1";
Acquire::http::Timeout "20";
Acquire::https::Timeout "20";
Acquire::AllowInsecureRepositories "false";
Acquire::AllowWeakRepositories "false";
Acquire::AllowDowngradeToInsecureRepositories "false";
APT::Get::AllowUnauthenticated "false";
DPkg::Use-Pty "false";
DPkg::Path "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
DPkg::Options { "--force-confdef"; "--force-confold"; "--force-unsafe-io"; };
#clear Acquire::http::Proxy;
#clear Acquire::https::Proxy;
#clear Acquire::http::Proxy-Auto-Detect;
#clear Acquire::https::Proxy-Auto-Detect;
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear DPkg::Pre-Invoke;
#clear DPkg::Post-Invoke;
#clear DPkg::Pre-Install-Pkgs;
"""


def copy(source, target):
    """What may be read of it; links stay links."""
    if os.path.islink(source):
        os.symlink(os.readlink(source), target)
    elif os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
        try:
            names = os.listdir(source)
        except OSError:
            return
        for name in names:
            copy(os.path.join(source, name), os.path.join(target, name))
    elif os.path.isfile(source) and os.access(source, os.R_OK):
        shutil.copyfile(source, target)
        st = os.stat(source)
        os.utime(target, ns=(st.st_atime_ns, st.st_mtime_ns)) # apt asks for lists that are newer


def add_users():
    """Those that every Debian has; the rest comes with packages, and stays here."""
    for kind in ("passwd", "group"):
        with open(f"/etc/{kind}", encoding="utf-8") as f:
            known = {line.split(":")[0] for line in f}
        try:
            with open(f"/usr/share/base-passwd/{kind}.master", encoding="utf-8") as f:
                more = [line for line in f if line.split(":")[0] not in known]
        except OSError:
            more = []
        with open(f"/etc/{kind}", "a", encoding="utf-8") as f:
            f.writelines(more)


def prepare():
    """/etc and dpkg's database as the host has them, to be changed here."""
    if not os.path.exists("/usr/bin/apt-get") or not os.path.exists("/host/dpkg/status"):
        fail("unsupported", "this host has no apt", "bring in what is needed with --dir, or use --image", "apt")
    for name in os.listdir("/host/etc"):
        if not os.path.lexists("/etc/" + name):
            copy("/host/etc/" + name, "/etc/" + name)
    add_users()
    for name in ("dpkg/info", "dpkg/updates", "dpkg/triggers", "dpkg/parts", "dpkg/alternatives", "apt/lists/partial"):
        os.makedirs("/var/lib/" + name)
    for name in ("/var/cache/apt/archives/partial", "/var/log/apt", "/etc/apt/apt.conf.d", "/etc/apt/preferences.d"):
        os.makedirs(name, exist_ok=True)
    for name in ("status", "arch", "diversions", "alternatives"):
        if os.path.exists("/host/dpkg/" + name):
            copy("/host/dpkg/" + name, "/var/lib/dpkg/" + name)
    with open("/etc/apt/apt.conf", "a", encoding="utf-8") as f:
        f.write(CONF)
        if os.path.exists("/etc/pinfold-certs.pem"):
            f.write('Acquire::https::CAInfo "/etc/pinfold-certs.pem";\n')


def run(words, log):
    env = {k: v for k, v in os.environ.items() if "proxy" not in k.lower()}
    env.update(DEBIAN_FRONTEND="noninteractive", DEBCONF_NONINTERACTIVE_SEEN="true", LC_ALL="C.UTF-8",
               HOME="/root", USER="root", PATH="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
    with open(log, "ab") as f:
        return subprocess.run(words, stdin=subprocess.DEVNULL, stdout=f, stderr=f, env=env, cwd=TMP,
                              check=False).returncode


def first(pattern, text):
    found = re.search(pattern, text)
    return found.group(1 if found.re.groups else 0)[:300] if found else None


def explain(log):
    """From apt's words to ours."""
    with open(log, encoding="utf-8", errors="replace") as f:
        text = f.read()[-40000:]
    none = first(r"Unable to locate package (\S+)", text) or \
        first(r"Package '?([^\s']+)'? has no installation candidate", text)
    version = first(r"Version '([^']+)' for '[^']+' was not found", text)
    signed = first(r"(?:is not signed|couldn't be verified|GPG error|NO_PUBKEY|BADSIG|EXPKEYSIG)[^\n]*", text)
    changed = first(r"(\S+)  Hash Sum mismatch", text) or first(r"File has unexpected size[^\n]*", text)
    lost = first(r"(?:Could not resolve|Could not connect|Connection failed|Connection timed out|Unable to connect"
                 r"|Failed to fetch|Some index files failed)[^\n]*", text)
    script = first(r"installed (\S+ package \S+ script) subprocess returned error", text)
    if changed:
        fail("conflict", f"a file of the archive is not what its list says: {changed}",
             "somebody may have changed it; try again, or another mirror", "hash")
    if signed:
        fail("denied", f"an archive is not signed by a key that this host trusts: {signed}",
             "look at /etc/apt/sources.list.d and its keys (Signed-By)", "signature")
    if lost and not none:
        fail("timeout", f"an archive does not answer: {lost}", "look at /etc/apt/sources.list.d, or have the "
             "packages where there is a network: pinfold deps fetch", "index")
    if version:
        fail("missing", f"the archives do not have version {version}", "apt policy NAME says which there are", "version")
    if none:
        fail("missing", f"the archives that this host's apt knows have no package {none}",
             "look at the name: apt search", "package")
    if "need to be removed" in text or "unmet dependencies" in text or "held broken packages" in text:
        why = " ".join(line.strip() for line in text.splitlines() if " Depends: " in line or " Conflicts: " in line)
        fail("conflict", f"the packages do not fit what this host has: {why[:400]}", "ask for other versions", "versions")
    if script:
        last = " ".join(text.split("subprocess returned error")[0].split())[-400:]
        fail("conflict", f"the {script} failed: {last}", "the package cannot be installed in a sandbox", "script")
    fail("internal", "apt: " + " ".join(text.split())[-500:])


def platform():
    arch = subprocess.run(["dpkg", "--print-architecture"], stdout=subprocess.PIPE, check=True, text=True).stdout.strip()
    with open("/usr/lib/os-release", encoding="utf-8") as f:
        said = dict(re.findall(r'^(ID|VERSION_ID)="?([A-Za-z0-9._-]+)"?$', f.read(), re.M))
    return {"interpreter": f"{said.get('ID', 'linux')}-{said.get('VERSION_ID', '0')}", "platform": f"linux-{arch}"}


def update(log):
    for name in os.listdir("/host/lists"):
        if name not in ("partial", "lock", "auxfiles"):
            copy("/host/lists/" + name, "/var/lib/apt/lists/" + name)
    if run(["apt-get", "update", "--error-on=any"], log) != 0:
        explain(log)


def control(path):
    text = subprocess.run(["dpkg-deb", "-f", path], stdout=subprocess.PIPE, check=True).stdout
    return dict(re.findall(r"^([A-Za-z-]+): (.*)$", text.decode("utf-8", "replace"), re.M))


def file_name(name, version, arch):
    return re.sub(r"[^A-Za-z0-9._+~-]", "-", f"{name}_{version}_{arch}.deb")


def needed_by(all_fields):
    found = {}
    for fields in all_fields:
        words = ", ".join(fields.get(k, "") for k in ("Depends", "Pre-Depends"))
        for name in re.findall(r"(?:^|[,|])\s*([a-z0-9][a-z0-9.+-]+)", words):
            found.setdefault(name, set()).add(fields["Package"])
    return found


def resolve(ask):
    log, asked = TMP + "/log", ask["asked"]
    locked = {p["name"]: p["version"] for p in ask.get("locked") or [] if isinstance(p, dict)}
    words = [a if "=" in a or a not in locked else f"{a}={locked[a]}" for a in asked]
    update(log)
    install_words = ["apt-get", "install", "--no-upgrade", "--no-remove"]
    if run([*install_words, "--download-only", "--", *words], log) != 0:
        explain(log)
    place = "/var/cache/apt/archives"
    debs = [os.path.join(place, n) for n in sorted(os.listdir(place)) if n.endswith(".deb")]
    fields = [control(path) for path in debs]
    by, names, packages = needed_by(fields), {a.partition("=")[0] for a in asked}, []
    for path, f in zip(debs, fields):
        name, version = f["Package"], f["Version"]
        packages.append({"name": name, "version": version, "file": file_name(name, version, f["Architecture"]),
                         "sha256": digest_of(path), "size": os.path.getsize(path), "arch": f["Architecture"],
                         "needed_by": sorted(by.get(name, [])), "requested": name in names})
    send(b"J", json.dumps({**platform(), "packages": packages}).encode())
    for path, p in zip(debs, packages):
        send_file(path, p["sha256"])


def fetch(ask):
    """By name and version, so that apt has checked it before we do."""
    log, place = TMP + "/log", TMP + "/files"
    os.makedirs(place)
    update(log)
    for p in ask["packages"]:
        if run(["sh", "-c", 'cd "$1" && exec apt-get download "$2"', "sh", place, f"{p['name']}={p['version']}"], log) != 0:
            explain(log)
        made = os.listdir(place)
        path = os.path.join(place, made[0]) if len(made) == 1 else None
        if not path or digest_of(path) != p["sha256"]:
            fail("conflict", f"{p['name']} {p['version']} is not what its hash says", "somebody may have changed it; "
                 "pinfold deps update makes the lock anew", "hash")
        send_file(path, p["sha256"])
        os.unlink(path)


def has_one_id():
    with open("/proc/self/uid_map", encoding="ascii") as f:
        return f.read().split()[2] == "1"


def head(name, size):
    """Of a member of an archive as ar makes it."""
    return f"{name:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{size:<10}`\n".encode()


def give_to_root(path):
    """A package whose files are all root's, for want of others."""
    parts = []
    for name, word in (("control.tar", "--ctrl-tarfile"), ("data.tar", "--fsys-tarfile")):
        parts.append((name, TMP + "/" + name))
        with subprocess.Popen(["dpkg-deb", word, path], stdout=subprocess.PIPE) as p, \
                tarfile.open(fileobj=p.stdout, mode="r|") as old, \
                tarfile.open(parts[-1][1], "w", format=tarfile.GNU_FORMAT) as new:
            for info in old:
                info.uid = info.gid = 0
                info.uname = info.gname = "root"
                new.addfile(info, old.extractfile(info) if info.isreg() else None)
    with open(path, "wb") as f:
        f.write(b"!<arch>\n" + head("debian-binary", 4) + b"2.0\n")
        for name, part in parts:
            n = os.path.getsize(part)
            f.write(head(name, n))
            with open(part, "rb") as g:
                shutil.copyfileobj(g, f, CHUNK)
            f.write(b"\n" * (n % 2))


def checked_files(packages):
    paths = take_files(packages)
    for p, path in zip(packages, paths):
        said = control(path)
        if (said.get("Package"), said.get("Version")) != (p["name"], p["version"]):
            fail("conflict", f"{p['file']} says that it is {said.get('Package', 'nothing')[:60]}, not {p['name']}",
                 "do not use this package", "deb")
    return paths


def mark(name):
    """A file that everything which changes from now on is newer than: the kernel's clock has ticks."""
    with open(name, "w", encoding="utf-8"):
        pass
    while True:
        with open(name + ".next", "w", encoding="utf-8"):
            pass
        if os.stat(name + ".next").st_ctime_ns > os.stat(name).st_ctime_ns:
            return name
        os.unlink(name + ".next")


def newer(begun, stamp):
    """What came to be since `stamp`, but for directories, which change with what is in them. A directory that is
    as it was when we began is the host's, and so is everything below it: that needs not be looked at."""
    places = [p for p in ("/usr", "/etc", "/opt", "/var/lib") if os.path.isdir(p)]
    words = ["-type", "d", "!", "-cnewer", begun, "-prune", "-o", "!", "-type", "d", "-cnewer", stamp, "-print0"]
    found = subprocess.run(["find", *places, *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout
    return [os.fsdecode(n) for n in found.split(b"\0") if n]


def links_of(changed):
    """Names of /etc, /var/lib and /opt below which something is new."""
    found = set()
    for path in changed:
        name = re.match(r"/((?:etc|opt|var/lib)/[^/]+)", path)
        if name and name.group(1) not in LEFT and re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,60}", name.group(1).split("/")[-1]):
            found.add(name.group(1))
    return sorted(found)


def entry(info):
    info.uid = info.gid = 0
    info.uname = info.gname = "root"
    info.mode = 0o755 if info.isdir() or info.mode & 0o100 else 0o644
    return info if info.isdir() or info.isreg() or info.issym() or info.islnk() else None


def pack(changed, links):
    with archive() as t:
        for path in sorted(changed):
            if path not in OURS:
                t.add(path, path[len("/usr/"):], recursive=False, filter=entry)
        for link in links:
            t.add("/" + link, f"{TREE}/{link}", filter=entry)


def has_libraries():
    """dpkg's database has been empty but for these packages."""
    for name in os.listdir("/var/lib/dpkg/info"):
        if name.endswith(".list"):
            with open("/var/lib/dpkg/info/" + name, encoding="utf-8", errors="replace") as f:
                if re.search(r"/lib/.*\.so(\.|$)", f.read(), re.M):
                    return True
    return False


def put_program(path, status):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.lexists(path):
        os.unlink(path) # the host's
    with open(path, "w", encoding="utf-8") as f:
        f.write(f"#!/bin/sh\nexit {status}\n")
    os.chmod(path, 0o755)


def shared():
    """Directories that several packages have files in."""
    seen, several = set(), set()
    for name in os.listdir("/host/dpkg/info"):
        if name.endswith(".list"):
            with open("/host/dpkg/info/" + name, encoding="utf-8", errors="replace") as f:
                paths = {line for line in f.read().split("\n") if line.startswith("/usr/")}
            several |= seen & paths
            seen |= paths
    return several


def ground(_):
    found = shared()
    for at, dirs, _files in os.walk("/usr"):
        found.update(os.path.join(at, d) for d in dirs)
        if at.count("/") >= GROUND_DEPTH:
            dirs.clear()
    with archive() as t:
        for path in sorted(found):
            if os.path.isdir(path) and not os.path.islink(path):
                t.add(path, path[len("/usr/"):], recursive=False, filter=entry)


def install(ask):
    log = TMP + "/log"
    paths = checked_files(ask["packages"])
    put_program(NO_START, 101)
    if has_one_id():
        for path in paths:
            give_to_root(path)
        for path in NO_OWNERS:
            put_program(path, 0)
    with open("/etc/apt/sources.list", "w", encoding="utf-8"):
        pass
    stamp = mark(TMP + "/stamp")
    words = ["apt-get", "install", "--no-remove", "--allow-downgrades", "--allow-change-held-packages"]
    if run([*words, *paths], log) != 0:
        explain(log)
    if has_libraries():
        run(["ldconfig"], log)
    changed = newer(ask["begun"], stamp)
    links = links_of(changed)
    if len(links) > LINKS_MAX:
        fail("limit", f"the packages have more than {LINKS_MAX} names in /etc, /var/lib and /opt", "ask for fewer", "links")
    send(b"J", json.dumps({"links": links}).encode())
    pack([p for p in changed if p.startswith("/usr/")], links)


def begin(mode):
    def begun(ask):
        ask["begun"] = mark(TMP + "/begun")
        if mode is not ground:
            prepare()
        mode(ask)
    return begun


drive(resolve=begin(resolve), fetch=begin(fetch), install=begin(install), ground=begin(ground))
