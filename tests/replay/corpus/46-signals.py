# SPDX-License-Identifier: Apache-2.0
# Children that are stopped while they sleep say how long they lived; one who sleeps is woken again and again.
import os
import signal
import subprocess
import sys
import threading
import time

CHILD = """
import signal, sys, time
began = time.monotonic()
def ended(number, frame):
    print("ended by", number, "after", round(time.monotonic() - began, 3), round(time.time(), 3))
    sys.exit(3)
signal.signal(signal.SIGTERM, ended)
print("up", flush=True)
time.sleep(30)  # tidy: what sleeps is the program
"""
for turn in range(3):
    p = subprocess.Popen([sys.executable, "-c", CHILD], stdout=subprocess.PIPE, text=True)
    p.stdout.readline()
    p.terminate()
    print(turn, p.communicate()[0].strip(), p.returncode)
try:
    subprocess.run(["sleep", "9"], timeout=0.1)
except subprocess.TimeoutExpired as e:
    print(e)

woken = []
signal.signal(signal.SIGUSR1, lambda number, frame: woken.append(number))
wake = threading.Thread(target=lambda: [os.kill(os.getpid(), signal.SIGUSR1) for _ in range(5)])
began = time.monotonic()
wake.start()
time.sleep(0.2)  # tidy: what sleeps is the program
wake.join()
print(len(woken) > 0, round(time.monotonic() - began, 2))
