# SPDX-License-Identifier: Apache-2.0
"""Burns processor time, in ways that are hard to add up, for no more than MOST seconds."""
import os
import signal
import sys
import threading
import time

MOST = 8
END = time.monotonic() + MOST


def burn(seconds=MOST):
    end = min(END, time.monotonic() + seconds)
    while time.monotonic() < end:
        pass


def plain():
    burn()


def of_thread():
    """Children of a thread are not in the list of children of its process's first thread."""
    def work():
        if os.fork() == 0:
            burn()
            os._exit(0)
        os.wait()
    t = threading.Thread(target=work)
    t.start()
    t.join()


def unwaited():
    """Short ones that nobody waits for: their time is added to nobody."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while time.monotonic() < END:
        if os.fork() == 0:
            burn(0.015)
            os._exit(0)
        try:
            os.wait()
        except ChildProcessError:
            pass


def orphans():
    """Short ones that are left to init."""
    while time.monotonic() < END:
        r, w = os.pipe()
        if os.fork() == 0:
            if os.fork() == 0:
                burn(0.015)
            os._exit(0)
        os.close(w)
        os.wait()
        os.read(r, 1)
        os.close(r)


globals()[sys.argv[1]]()
print("survived")
