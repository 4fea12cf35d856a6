# SPDX-License-Identifier: Apache-2.0
"""Who fills the queue waits behind himself, not in front of everybody else."""
import os
import threading

from api import BEST, Api, check, run_tests, same, test, wait_until

CROWD = 12


def run(token, ended, name):
    answer = Api(os.environ[token]).post("/v1/runs", dict(BEST, command=["sleep", "0.3"]))
    ended.append((name, answer.status))


@test
def turns():
    ended = []
    crowd = [threading.Thread(target=run, args=("TOKEN_ONE", ended, "one")) for _ in range(CROWD)]
    for thread in crowd:
        thread.start()
    check("the first ones have run, others wait", wait_until(lambda: len(ended) >= 2))
    before = len(ended)
    run("TOKEN_TWO", ended, "two")
    place = [name for name, _ in ended].index("two")
    for thread in crowd:
        thread.join()
    same("everybody was served", sorted(set(status for _, status in ended)), [200])
    # Two may end while the other starts, and two beside it.
    check("the other tenant did not wait behind the crowd", place <= before + 5 < CROWD, (before, place, ended))


run_tests()
