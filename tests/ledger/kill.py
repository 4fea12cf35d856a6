# SPDX-License-Identifier: Apache-2.0
"""kill.py KILLS SEED EVENTS COMMAND...: start runs, kill each at a random moment, and compare what they
told with the ledger."""
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import threading

kills, seed, events = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
command = sys.argv[4:] + ["run", "--json", "--", "echo", "hi"]
print("# seed", seed)
rng = random.Random(seed)
told = []


def pinfold_below(pid):
    """The launcher starts it: the last of the line."""
    while True:
        try:
            child = open(f"/proc/{pid}/task/{pid}/children").read().split()
        except FileNotFoundError:
            return None
        if not child:
            return pid
        if os.readlink(f"/proc/{child[0]}/exe").endswith("pinfold"):
            return int(child[0])
        pid = int(child[0])


pause = threading.Event()
for turn in range(kills):
    p = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    pause.wait(rng.random() * 0.08)
    try:
        victim = pinfold_below(p.pid)
        if victim and victim != p.pid:
            os.kill(victim, signal.SIGKILL)
    except OSError:
        pass
    out = p.communicate()[0]
    try:
        told.append(json.loads(out)["receipt"])
    except (ValueError, KeyError):
        pass
lines = open(events, "rb").read().split(b"\n")[:-1]
for receipt in told:
    line = lines[receipt["position"]]
    assert hashlib.sha256(b"\0" + line).hexdigest() == receipt["sha256"], receipt
print(f"# {len(told)} of {kills} told of an end")
