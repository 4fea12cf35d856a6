# SPDX-License-Identifier: Apache-2.0
"""kill.py KILLS SEED EVENTS DAEMON COMMAND...: start runs, kill each at a random moment, and compare what they
told with the ledger. DAEMON is 0, or the pid of one: then each turn is a run in it and one without it at the
same time, of which one is killed, and the last that is killed is the daemon."""
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import threading

kills, seed, events, daemon = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
command = sys.argv[5:] + ["run", "--json"]
print("# seed", seed)
rng = random.Random(seed)
told = {way: [] for way in (["--daemon", "--no-daemon"] if daemon else ["--no-daemon"])}


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


def kill_run(run):
    try:
        victim = pinfold_below(run.pid)
        if victim and victim != run.pid:
            os.kill(victim, signal.SIGKILL)
    except OSError:
        pass


pause = threading.Event()
for turn in range(kills):
    runs = {way: subprocess.Popen(command + (["--limits", "best-effort"] if daemon else []) + [way, "--", "echo", "hi"],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) for way in told}
    pause.wait(rng.random() * 0.08)
    if daemon and turn == kills - 1:
        os.kill(daemon, signal.SIGKILL)
    else:
        kill_run(runs[rng.choice(list(runs))])
    for way, run in runs.items():
        try:
            receipt = json.loads(run.communicate()[0])["receipt"]
            told[way] += [receipt] if receipt else []
        except (ValueError, KeyError):
            pass
lines = open(events, "rb").read().split(b"\n")[:-1]
for receipt in sum(told.values(), []):
    line = lines[receipt["position"]]
    assert hashlib.sha256(b"\0" + line).hexdigest() == receipt["sha256"], receipt
assert not daemon or all(told.values()), told
print(*(f"# {len(t)} of {kills} {way} told of an end" for way, t in told.items()), sep="\n")
