# SPDX-License-Identifier: Apache-2.0
"""Prints whatever differs from run to run on a machine where nothing is pinned."""
import datetime
import os
import random
import resource
import secrets
import socket
import subprocess
import tempfile
import threading
import time
import uuid

begin = time.time()
print(datetime.datetime.now().isoformat(), time.time_ns(), time.monotonic(), time.perf_counter_ns())
print(time.process_time(), os.times(), resource.getrusage(resource.RUSAGE_SELF))
print(time.tzname, time.localtime(), socket.gethostname(), os.getpid(), os.cpu_count())
print(len(os.sched_getaffinity(0)), hash("text"), id(object()), os.urandom(8), secrets.token_hex(4))
print(random.random(), uuid.uuid1(), uuid.uuid4(), tempfile.mkdtemp(), tempfile.mkstemp())
print(open("/dev/urandom", "rb").read(6), list({"a", "b", "c"}))
open("made", "w").write("made")
info = os.stat("made")
print(info.st_mtime_ns, info.st_ctime_ns, info.st_dev)
print(subprocess.run("date; sleep 0.1; date +%s.%N; echo $RANDOM; mktemp -u; openssl rand -hex 4",
                     shell=True, capture_output=True, text=True).stdout)
done = []
threads = [threading.Thread(target=lambda n=n: done.append((time.sleep(n / 20), random.random())))  # tidy: what sleeps is the program
           for n in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(done, threading.Event().wait(0.05), round(time.time() - begin, 3))
print(os.getloadavg())
