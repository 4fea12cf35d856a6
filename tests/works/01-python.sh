#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The standard library of Python, the parts that lean on the system.
. "$(dirname "$0")/../lib/cli.sh"

# python NAME WANT CODE [OPTION...]: the program prints this, and nothing was refused.
python()
{
	inside_json "${@:4}" --lang python -c "$3"
	json_is "$2" 'd["stdout"]["text"].strip()' "$1"
	json_is '[0, []]' '[d["exit_code"], d["denials"]]' "$1: ends well, without a denial"
}

processes()
{
	python "multiprocessing: a pool" "[0, 1, 4, 9, 16, 25, 36, 49]" '
import multiprocessing as m
def square(x): return x * x
with m.Pool(3) as pool: print(pool.map(square, range(8)))'
	python "multiprocessing: spawn, queue, lock, shared value" "40 done" '
import multiprocessing as m, sys, types
def work(n, lock, q):
    for i in range(10):
        with lock: n.value += 1
    q.put("done")
m.set_start_method("fork")
n, lock, q = m.Value("i", 0), m.Lock(), m.Queue()
ps = [m.Process(target=work, args=(n, lock, q)) for i in range(4)]
[p.start() for p in ps]; r = {q.get() for p in ps}; [p.join() for p in ps]
print(n.value, *r)'
	python "multiprocessing: shared memory" "hello" '
from multiprocessing import shared_memory as s
a = s.SharedMemory(create=True, size=1 << 20); a.buf[:5] = b"hello"
b = s.SharedMemory(a.name); print(bytes(b.buf[:5]).decode()); b.close(); a.close(); a.unlink()'
	python "concurrent.futures" "[2, 3, 5, 7]" '
from concurrent.futures import *
def prime(n): return n > 1 and all(n % i for i in range(2, n))
with ProcessPoolExecutor(2) as e:
    print([n for n, p in zip(range(10), e.map(prime, range(10))) if p])'
	python "subprocess: pipes, status, a shell" "HELLO 3 err" '
import subprocess as s
r = s.run("tr a-z A-Z; echo err >&2; exit 3", shell=True, input="hello", text=True,
          capture_output=True)
print(r.stdout, r.returncode, r.stderr.strip())'
	python "subprocess: a time-out kills" "timed out -9" '
import subprocess as s
p = s.Popen(["tail", "-f", "/dev/null"])
try: p.wait(0.1)
except s.TimeoutExpired: print("timed out", end=" ")
p.kill(); print(p.wait())'
	python "os.fork, signals, pipes" "child 42 alarm" '
import os, signal
r, w = os.pipe()
pid = os.fork()
if pid == 0: os.write(w, b"child"); os._exit(42)
print(os.read(r, 9).decode(), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), end=" ")
signal.signal(signal.SIGALRM, lambda *a: print("alarm")); signal.setitimer(signal.ITIMER_REAL, 0.01)
signal.pause()'
}

threads()
{
	python "threads, locks, events" "5000 5" '
import threading
n, lock, go, out = 0, threading.Lock(), threading.Event(), []
def work():
    global n
    go.wait()
    for i in range(1000):
        with lock: n += 1
    out.append(1)
ts = [threading.Thread(target=work) for i in range(5)]
[t.start() for t in ts]; go.set(); [t.join() for t in ts]; print(n, len(out))'
	python "asyncio: tasks, a subprocess, a server" "[0, 1, 2] sub echo:hi" '
import asyncio
async def main():
    async def one(i): await asyncio.sleep(0.01); return i  # tidy: the program under test waits
    print(await asyncio.gather(*map(one, range(3))), end=" ")
    p = await asyncio.create_subprocess_exec("echo", "sub", stdout=asyncio.subprocess.PIPE)
    print((await p.communicate())[0].decode().strip(), end=" ")
    async def serve(r, w): w.write(b"echo:" + await r.readline()); w.close()
    s = await asyncio.start_server(serve, "127.0.0.1", 0)
    r, w = await asyncio.open_connection(*s.sockets[0].getsockname())
    w.write(b"hi\n"); print((await r.read()).decode().strip()); w.close()
asyncio.run(main())'
}

services()
{
	python "socketserver on the loopback" "HELLO" '
import socket, socketserver, threading
class H(socketserver.StreamRequestHandler):
    def handle(self): self.wfile.write(self.rfile.readline().upper())
with socketserver.ThreadingTCPServer(("127.0.0.1", 0), H) as s:
    threading.Thread(target=s.serve_forever, daemon=True).start()
    c = socket.create_connection(s.server_address); c.sendall(b"hello\n")
    print(c.makefile().read().strip()); s.shutdown()'
	python "http.server and urllib" "200 <title>Directory listing" '
import http.server, threading, urllib.request
class H(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *a): pass
s = http.server.ThreadingHTTPServer(("localhost", 0), H)
threading.Thread(target=s.serve_forever, daemon=True).start()
r = urllib.request.urlopen(f"http://localhost:{s.server_port}/")
print(r.status, [l for l in r.read().decode().split("\n") if "<title>" in l][0].strip()[:24])'
	python "IPv6 loopback, UDP, Unix sockets" "six udp unix" '
import socket as s
a = s.create_server(("::1", 0), family=s.AF_INET6); c = s.create_connection(a.getsockname()[:2])
c.sendall(b"six"); print(a.accept()[0].recv(9).decode(), end=" ")
u = s.socket(s.AF_INET, s.SOCK_DGRAM); u.bind(("127.0.0.1", 0))
s.socket(s.AF_INET, s.SOCK_DGRAM).sendto(b"udp", u.getsockname())
print(u.recv(9).decode(), end=" ")
x, y = s.socketpair(); x.send(b"unix"); print(y.recv(9).decode())'
	python "sqlite3, on disk and with a journal" "[(3, 6)] ok" '
import sqlite3
c = sqlite3.connect("data.db"); c.execute("pragma journal_mode=wal")
c.execute("create table t (x)")
c.executemany("insert into t values (?)", [(1,), (2,), (3,)]); c.commit()
print(sqlite3.connect("data.db").execute("select count(*), sum(x) from t").fetchall(), end=" ")
print(c.execute("pragma integrity_check").fetchone()[0])'
	json_has '"/home/user/data.db" in files' "the database is in files[]"
}

files()
{
	python "files: mmap, locks, tempfile, links, times" "mapped locked True 3 7" '
import fcntl, mmap, os, tempfile
with open("m", "wb+") as f:
    f.truncate(4096); m = mmap.mmap(f.fileno(), 0); m[:6] = b"mapped"; m.flush()
    print(open("m", "rb").read(6).decode(), end=" ")
    fcntl.flock(f, fcntl.LOCK_EX); fcntl.lockf(f, fcntl.LOCK_EX); print("locked", end=" ")
with tempfile.TemporaryDirectory() as d: print(os.path.isdir(d), end=" ")
os.symlink("m", "s"); os.link("m", "h"); os.utime("m", (1, 7)); os.chmod("m", 0o600)
print(os.stat("m").st_nlink + os.path.islink("s"), int(os.stat("s").st_mtime))'
	python "watching: inotify through ctypes, epoll, eventfd" "event 1" '
import ctypes, os, select
c = ctypes.CDLL(None); fd = c.inotify_init(); c.inotify_add_watch(fd, b".", 0x100)
e = select.epoll(); e.register(fd, select.EPOLLIN); open("new", "w").close()
print("event" if e.poll(5) else "none", end=" "); v = os.eventfd(1); print(os.eventfd_read(v))'
	python "ids, limits, random numbers, time" "user 1024 32 True" '
import getpass, os, resource, secrets, time
print(getpass.getuser(), resource.getrlimit(resource.RLIMIT_NOFILE)[0], len(os.urandom(32)),
      time.time() > 1e9 and time.monotonic() > 0 and len(secrets.token_hex()) == 64)'
	python "a virtual environment" "in venv" '
import subprocess, venv
venv.create("v", with_pip=False, symlinks=True)
subprocess.run(["v/bin/python", "-c", """import sys
if sys.prefix != sys.base_prefix: print("in venv")"""])'
}

checks()
{
	needs python3 "python3" || return
	processes
	threads
	services
	files
}

run_checks
