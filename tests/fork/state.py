# SPDX-License-Identifier: Apache-2.0
# What a program can ask about its process, as one JSON object: the same in a fork and in a fresh one.
import atexit, ctypes, gc, json, logging, os, resource, signal, socket, sys, threading, time, warnings
try:
    import multiprocessing, numpy, ssl, tempfile, uuid  # what 01-siblings.sh has imported: it leaves traces
except ImportError:
    pass


def status():
    keys = ("Umask", "Tgid", "PPid", "TracerPid", "Uid", "Gid", "Groups", "NStgid", "NSpid", "NSpgid", "NSsid",
            "Threads", "SigQ", "SigPnd", "ShdPnd", "SigBlk", "SigIgn", "SigCgt", "CapInh", "CapPrm", "CapEff",
            "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp", "Seccomp_filters", "Cpus_allowed", "CoreDumping")
    lines = (line.split(":", 1) for line in open("/proc/self/status"))
    return {k: v.split() for k, v in lines if k in keys}


def attempt(call, *args):
    try:
        call(*args)
        return "done"
    except OSError as e:
        return e.errno


libc = ctypes.CDLL(None, use_errno=True)
PR_GET_DUMPABLE, PR_GET_PDEATHSIG, PR_GET_CHILD_SUBREAPER, PR_GET_SECUREBITS = 3, 2, 37, 27
pdeathsig, subreaper = ctypes.c_int(), ctypes.c_int()
libc.prctl(PR_GET_PDEATHSIG, ctypes.byref(pdeathsig))
libc.prctl(PR_GET_CHILD_SUBREAPER, ctypes.byref(subreaper))

print(json.dumps({
    "argv": [sys.argv, len(sys.orig_argv), sys.path, sys.executable, sys.prefix, repr(sys.flags), sys.warnoptions],
    "main": [__name__, repr(__builtins__)[:20]],
    "streams": [[s.name, s.mode, s.encoding, s.errors, s.line_buffering, s.fileno(), s.isatty()]
                for s in (sys.stdin, sys.stdout, sys.stderr)],
    "signals": [str(signal.getsignal(s)) for s in range(1, 65) if s not in (32, 33)],
    "timers": [signal.getitimer(i) for i in range(3)],
    "fds": sorted((int(fd), os.readlink("/proc/self/fd/" + fd).split(":")[0]) for fd in os.listdir("/proc/self/fd")
                  if os.path.exists("/proc/self/fd/" + fd)),
    "threads": [threading.active_count(), threading.main_thread().native_id, threading.current_thread().name,
                os.listdir("/proc/self/task")],
    "env": sorted(os.environ.items()),
    "place": [os.getcwd(), os.readlink("/proc/self/root"), os.readlink("/proc/self/cwd"), os.umask(0o22)],
    "ids": [os.getpid(), os.getppid(), os.getpgid(0), os.getsid(0), os.getresuid(), os.getresgid(), os.getgroups()],
    "loggers": [str(logging.root), logging.root.handlers, sorted(logging.root.manager.loggerDict)],
    "atexit": atexit._ncallbacks(),
    "gc": [gc.isenabled(), gc.get_threshold(), gc.get_debug(), gc.garbage],
    "warnings": len(warnings.filters),
    "limits": [resource.getrlimit(i) for i in range(16)],
    "priority": [os.getpriority(os.PRIO_PROCESS, 0), os.sched_getscheduler(0), sorted(os.sched_getaffinity(0))],
    "prctl": [libc.prctl(PR_GET_DUMPABLE), pdeathsig.value, subreaper.value, libc.prctl(PR_GET_SECUREBITS)],
    "oom": open("/proc/self/oom_score_adj").read(),
    "owner": os.stat("/proc/self/status").st_uid,
    "cgroup": open("/proc/self/cgroup").read(),
    "mounts": [line.split()[4:7] for line in open("/proc/self/mountinfo")],
    "processes": sorted(int(p) for p in os.listdir("/proc") if p.isdigit()),
    "status": status(),
    "recursion": [sys.getrecursionlimit(), sys.getswitchinterval(), sys.getfilesystemencoding()],
    "zone": time.tzname,
    "timeout": socket.getdefaulttimeout(),
    "calls": [attempt(os.mkdir, "/usr/x"), attempt(os.mkdir, "/etc/x"), attempt(os.chroot, "/"),
              attempt(os.setuid, 0), attempt(os.nice, -1), attempt(os.mkdir, "/tmp/x"),
              libc.unshare(0x10000000), libc.setns(0, 0), libc.ptrace(16, 1, 0, 0), libc.mount(0, 0, 0, 0, 0),
              attempt(open, "/proc/1/environ"), attempt(os.listdir, "/proc/1/fd"), attempt(open, "/proc/1/mem")],
}, default=str))
