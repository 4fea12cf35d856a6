#!/usr/bin/python3 -I
# SPDX-License-Identifier: Apache-2.0
"""kill.py: as model.py, but in each step pinfold is killed at a random moment, sometimes with what
settles behind it. Afterwards every workspace is as before or as after that step, and no process is
left. --steps is the number of kills."""
import copy
import ctypes
import json
import os
import pathlib
import select
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import model  # noqa: E402

PR_SET_CHILD_SUBREAPER = 36
QUIET = ("diff", "info", "log", "ls")


def children():
    return [int(pid) for task in os.listdir("/proc/self/task")
            for pid in pathlib.Path(f"/proc/self/task/{task}/children").read_text().split()]


class Killer(model.Model):
    gc_share = 0  # a kill may leave it half done: forgotten, and not yet merged

    def __init__(self, args):
        super().__init__(args)
        self.armed, self.kills = False, 0
        self.took = {}  # seconds that each verb takes when it is let alone, about
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)

    def pinfold(self, *words, fails=False):
        if not self.armed or fails or words[0] in QUIET:
            return super().pinfold(*words, fails=fails)
        self.armed = False
        took = self.took.get(words[0], 0.5)
        begun = time.monotonic()
        running = self.start(words)
        handle = os.pidfd_open(running.pid)
        ended = select.select([handle], [], [], self.random.uniform(0, 1.2 * took))[0]
        os.close(handle)
        # A machine that gets busier is never late enough, unless we are later each time.
        self.took[words[0]] = time.monotonic() - begun if ended else took * 1.05
        running.kill()
        if self.random.random() < 0.3:
            self.kill_children()
        out, err = self.end_of(running)
        self.history.append((words, running.returncode))
        if running.returncode == -signal.SIGKILL:
            self.kills += 1
            return None
        if running.returncode:
            raise model.Different(f"status {running.returncode}: {err.decode(errors='replace')}")
        return out.decode()

    @staticmethod
    def kill_children():
        for pid in children():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def do_many(self, name):
        """A step is one call that can be killed."""
        self.do_exec(name)

    def reap(self):
        """Everything that is left becomes our child, and has to end by itself."""
        until = time.monotonic() + model.PATIENCE
        while True:
            try:
                if os.waitpid(-1, os.WNOHANG) == (0, 0):
                    if time.monotonic() > until:
                        names = [pathlib.Path(f"/proc/{p}/comm").read_text() for p in children()]
                        raise model.Different(f"processes are left: {names}")
                    time.sleep(0.002)  # tidy: as wait_for does
            except ChildProcessError:
                return

    def settle_on(self, before, after):
        """Which of the two is it? Each workspace as a whole, and all of them as one."""
        names = {w["name"] for w in json.loads(self.pinfold("ls", "--json"))["items"]}
        if names not in (set(before), set(after)):
            raise model.Different(f"neither before nor after: {sorted(names)}")
        logs = {name: self.log(name) for name in names}
        for state in (after, before):
            if names == set(state) and all(logs[n] == state[n].rows() for n in names):
                return state
        raise model.Different("neither before nor after:\n" + "\n".join(
            f"{n}: {logs[n]}\nbefore {n in before and before[n].rows()}\nafter "
            f"{n in after and after[n].rows()}" for n in names))

    def step(self, i):
        before = copy.deepcopy(self.workspaces)
        while self.kills < i:
            self.armed = True
            name = self.act()
            self.armed = False
            if self.kills == i:
                self.workspaces = self.settle_on(before, self.workspaces)
                self.look_twice(name)
            before = copy.deepcopy(self.workspaces)
        self.forget_trees()

    def look_twice(self, name):
        """It is so, and stays so when what settles behind a command has been there."""
        if name in self.workspaces:
            self.compare(name)
        self.reap()
        if self.kills % 4 == 0:
            self.pinfold("fsck")
        if name in self.workspaces:
            self.compare(name)

    def run(self):
        super().run()
        self.reap()


if __name__ == "__main__":
    sys.exit(model.main(Killer))
