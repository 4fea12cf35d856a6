# SPDX-License-Identifier: Apache-2.0
"""posture.py UID GID PID...: what /proc says of each process, in words that stay the same.

UID and GID are those of the launcher. Numbers that differ from run to run or from host to host are
replaced: ids of the sandbox's range by their distance from its start, namespaces by `own` or
`host`, objects behind descriptors by their kind. A limit that is the one of this program, so was
not set, is `inherited`.
"""
import fcntl
import os
import re
import sys

STATUS = ("Umask", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs",
          "Seccomp", "Seccomp_filters", "Threads", "SigBlk", "SigIgn")
NAMESPACES = ("cgroup", "ipc", "mnt", "net", "pid", "time", "user", "uts")
CONTROLLERS = ("memory", "pids", "cpu")
SEALS = {1: "seal", 2: "shrink", 4: "grow", 8: "write", 16: "future_write", 32: "exec"}


def read(pid, name):
    with open(f"/proc/{pid}/{name}", encoding="utf-8", errors="replace") as f:
        return f.read()


def status(pid):
    fields = dict(line.split(":", 1) for line in read(pid, "status").splitlines())
    return {k: " ".join(v.split()) for k, v in fields.items()}


def id_map(pid, kind):
    """[(inside, outside, count)]"""
    return [tuple(map(int, line.split())) for line in read(pid, f"{kind}_map").splitlines()]


def outside_name(number, launcher, start):
    """An id of the host as a word."""
    if number == 0:
        return "host-root"
    if number == launcher:
        return "launcher"
    return f"range+{number - start}"


def ids(pid, fields, launcher):
    for kind, field in (("uid", "Uid"), ("gid", "Gid")):
        entries = id_map(pid, kind)
        others = [out for _, out, _ in entries if out not in (0, launcher[kind])]
        start = min(others, default=0)
        for inside, out, count in entries:
            yield f"{kind}_map {inside} -> {outside_name(out, launcher[kind], start)} x{count}"
        numbers = {kind: fields[field]}
        if kind == "gid":
            numbers["groups"] = fields["Groups"]
        for word, text in numbers.items():
            names = {outside_name(int(n), launcher[kind], start) for n in text.split()}
            yield f"{word} {' '.join(sorted(names)) or 'none'}"


def namespaces(pid):
    for name in NAMESPACES:
        own = os.readlink(f"/proc/{pid}/ns/{name}") != os.readlink(f"/proc/self/ns/{name}")
        yield f"namespace {name} {'own' if own else 'host'}"


def leads_to(path, root):
    try:
        return os.path.samestat(os.stat(path + "/.." * 40), root)
    except OSError:
        return False


def descriptors(pid):
    root = os.stat("/")
    for fd in sorted(os.listdir(f"/proc/{pid}/fd"), key=int):
        target = os.readlink(f"/proc/{pid}/fd/{fd}")
        target = re.sub(r":\[\d+\]", "", target)
        target = re.sub(r"/\S*/pinfold-case\.\w+/[RU]", "$M", target)
        info = dict(re.findall(r"(\w+):\t(\S+)", read(pid, f"fdinfo/{fd}")))
        flags = int(info["flags"], 8)
        mode = ("r", "w", "rw")[flags & os.O_ACCMODE] + (" cloexec" if flags & os.O_CLOEXEC else "")
        if leads_to(f"/proc/{pid}/fd/{fd}", root):
            mode += ", `..` leads to the root of the host"
        yield f"fd {fd} {target} {mode}"


def limits(pid):
    own = {line[:26].strip(): line[26:].split() for line in read("self", "limits").splitlines()[1:]}
    for line in read(pid, "limits").splitlines()[1:]:
        name, values = line[:26].strip(), line[26:].split()
        words = " ".join(values[:2]) if values != own[name] else "inherited"
        yield f"limit {name}: {words}"


def cgroups(pid):
    """For each controller that matters, and for the tree that kills: a group of the run's own?"""
    groups = {}
    for line in read(pid, "cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        for name in controllers.split(","):
            groups[name] = path
    for name in (*CONTROLLERS, ""):
        path = groups.get(name, groups.get("", ""))
        own = re.search(r"sbx[a-z2-7]{26}", path)
        yield f"cgroup {name or 'unified'}: {'own' if own else 'none'}"


def mounts(pid):
    found = set()
    for line in read(pid, "mountinfo").splitlines():
        left, right = line.split(" - ", 1)
        words = left.split()
        place, flags, peers, kind = words[4], words[5], words[6:], right.split()[0]
        # Which of these there are depends on the host's packages and kernel; their flags do not.
        if place.startswith("/etc/"):
            place, kind = "/etc/*", "host"
        elif re.fullmatch(r"/proc/[^/]+", place) and place != "/proc/sys":
            place, kind = "/proc/*", "mask"
        flags = re.sub(r",(relatime|noatime)", "", flags)
        found.add(f"mount {place} {kind} {flags} {' '.join(peers) or 'private'}")
    return sorted(found)


def program(pid):
    exe = os.readlink(f"/proc/{pid}/exe")
    seals = "none"
    fd = os.open(f"/proc/{pid}/exe", os.O_RDONLY)
    try:
        bits = fcntl.fcntl(fd, fcntl.F_GET_SEALS)
        seals = " ".join(name for bit, name in SEALS.items() if bits & bit)
    except OSError:
        pass
    os.close(fd)
    yield f"program {exe if exe.startswith('/memfd') else 'file'}, seals {seals}"
    yield f"arguments {read(pid, 'cmdline')!r}"
    names = sorted(e.partition("=")[0] for e in read(pid, "environ").split("\0") if e)
    yield f"environment {' '.join(names) or 'empty'}"


def others(pid, fields, session):
    # A process that is not dumpable belongs, in /proc, to root and not to its own user.
    dumpable = os.stat(f"/proc/{pid}/environ").st_uid == int(fields["Uid"].split()[1])
    yield f"dumpable {'yes' if dumpable else 'no'}"
    stat = read(pid, "stat").rpartition(")")[2].split()
    yield f"session {'own' if stat[3] != session else 'of the launcher'}"
    yield f"terminal {stat[4]}"
    yield f"nice {int(stat[16]) - os.nice(0)}"  # who tests may be nice himself
    yield f"oom_score_adj {read(pid, 'oom_score_adj').strip()}"
    yield f"personality {read(pid, 'personality').strip()}"
    yield f"coredump_filter {read(pid, 'coredump_filter').strip()}"
    yield f"root {os.readlink(f'/proc/{pid}/root')}, cwd {os.readlink(f'/proc/{pid}/cwd')}"


def main():
    launcher = {"uid": int(sys.argv[1]), "gid": int(sys.argv[2])}
    session = str(os.getsid(0))
    for place, pid in enumerate(sys.argv[3:]):
        fields = status(pid)
        inside = fields.get("NSpid", "?").split()[-1]
        print(f"process {place}: pid {'1' if inside == '1' else 'N'} inside")
        lines = [f"{name} {fields.get(name, '-')}" for name in STATUS]
        for part in (program(pid), ids(pid, fields, launcher), namespaces(pid), descriptors(pid),
                     limits(pid), cgroups(pid), others(pid, fields, session), mounts(pid)):
            lines += part
        for line in lines:
            print("  " + line)


main()
