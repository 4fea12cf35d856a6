# SPDX-License-Identifier: Apache-2.0
"""Quotas: two tenants and their races, rates, sums, and the hard stop."""
import os
import threading

from api import BEST, MODE, Api, check, refused, run_tests, same, test, wait_until

one, two = Api(os.environ["TOKEN_ONE"]), Api(os.environ["TOKEN_TWO"])
four, five = Api(os.environ["TOKEN_FOUR"]), Api(os.environ["TOKEN_FIVE"])
admin = Api(os.environ["TOKEN_ADMIN"])
SMALL = dict(BEST, memory="64M", disk="16M")


def usage(api):
    return api.get("/v1/usage").json["usage"]


@test
def race():
    """A hundred starts at once against five places, from as many connections."""
    answers, most = [], []
    go = threading.Event()
    over = threading.Event()

    def start(i):
        a = Api(os.environ["TOKEN_ONE"])
        go.wait()
        if i % 2:
            answers.append(a.post("/v1/sandboxes", dict(SMALL, ttl="2m")))
        else:
            answers.append(a.run(command=["sleep", "1"], **{k: v for k, v in SMALL.items()
                                                            if k not in BEST}))

    def look():
        while not over.is_set():
            most.append(usage(one)["live"])
    threads = [threading.Thread(target=start, args=(i,)) for i in range(100)]
    watcher = threading.Thread(target=look)
    for t in threads:
        t.start()
    watcher.start()
    go.set()
    for t in threads:
        t.join()
    over.set()
    watcher.join()
    check("a limit of five is reached", max(most) == 5, max(most))
    check("and never passed", max(most) <= 5, max(most))
    bad = [a for a in answers if a.status not in (200, 201)]
    check("the others are refused", len(bad) >= 90 and all(a.status == 429 for a in bad),
          [a.status for a in answers])
    same("with the quota's name", {a.code for a in bad}, {"limit_exceeded.live"})
    check("and when to come back", all(a.headers["Retry-After"] == "1" for a in bad))
    check("another tenant is not in their way", two.run(command=["true"], memory="64M",
                                                       disk="16M").status == 200)
    made = [a.json["id"] for a in answers if a.status == 201]
    check("the daemon has no more than were let in",
          len(one.get("/v1/sandboxes").json["items"]) == len(made) <= 5, made)
    for box in made:
        one.delete("/v1/sandboxes/" + box)
    same("when they end there is room at once", one.post("/v1/sandboxes", SMALL).status, 201)
    for box in one.get("/v1/sandboxes").json["items"]:
        one.delete("/v1/sandboxes/" + box["id"])
    check("nothing stays counted", wait_until(lambda: usage(one)["live"] == 0), usage(one))


@test
def sums():
    same("one was started before", usage(two)["runs_per_minute"], 1)
    refused("more memory than the quota", two.run(command=["true"], memory="700M"), 429,
            "limit_exceeded", "memory")
    a = two.run(command=["true"], memory="700M")
    same("of which waiting helps nothing", a.headers["Retry-After"], None)
    refused("more disk", two.run(command=["true"], memory="600M", disk="291M"), 429,
            "limit_exceeded", "disk")
    a = two.run(command=["true"], memory="64M")
    same("the fifth in a minute", (a.status, a.code), (429, "limit_exceeded.runs_per_minute"))
    check("is told when", 1 <= int(a.headers["Retry-After"]) <= 61, a.headers["Retry-After"])
    same("what starts nothing is not counted", two.get("/v1/runs").status, 200)
    u = two.get("/v1/usage").json
    same("usage has the quotas", (u["tenant"], u["quotas"]["runs_per_minute"],
                                  u["quotas"]["memory"], u["quotas"]["budget"]),
         ("two", 4, 600 << 20, None))


@test
def who_sees():
    refused("all tenants are for admin", one.get("/v1/tenants"), 403, "denied")
    names = {t["tenant"] for t in admin.get("/v1/tenants").json["items"]}
    check("who sees them", {"one", "two"} <= names, names)
    text = admin.get("/metrics").body.decode()
    check("metrics have tenants", 'pinfold_tenant_live{tenant="one"} 0' in text and
          'pinfold_tenant_refused_total{tenant="one",quota="live"}' in text, text[-900:])
    for name in ("pinfold_run_phase_seconds_bucket{phase=\"start\",le=\"0.0005\"}",
                 "pinfold_run_phase_seconds_count{phase=\"command\"}",
                 "pinfold_limits_hit_total{limit=\"memory\"}", "pinfold_denials_total ",
                 "pinfold_pool_waiting{kind=\"plain\"}", "pinfold_queue_max "):
        check("and " + name.split("{")[0], name in text)


@test
def hard_stop():
    """A budget of two units: a GiB for two seconds."""
    box = four.post("/v1/sandboxes", dict(BEST, memory="512M", disk="16M", name="dev"))
    same("a sandbox", box.status, 201)
    a = four.run(command=["sleep", "100"], memory="512M")
    same("a run over the budget is ended", (a.status, a.json["status"], a.json["exit_code"]),
         (200, "killed", None))
    same("and told why", [a.json["limit"][k] for k in ("kind", "value", "unit")], ["budget", 2, "units"])
    check("in words", "used up its budget of 2 units" in a.json["limit"]["hint"], a.json["limit"])
    check("the sandbox is ended, too", wait_until(
        lambda: not four.get("/v1/sandboxes").json["items"]), four.get("/v1/sandboxes"))
    a = four.post("/v1/sandboxes/dev/exec", {"command": ["true"]})
    same("who looks for it is told why", (a.status, a.code), (429, "limit_exceeded.budget"))
    a = four.run(command=["true"])
    same("nothing starts before the period is over", (a.status, a.code),
         (429, "limit_exceeded.budget"))
    check("which is when", 0 < int(a.headers["Retry-After"]) <= 3600, a.headers["Retry-After"])
    u = four.get("/v1/usage").json
    same("usage says so", (u["over"], u["usage"]["live"]), ("budget", 0))
    same("others go on", one.run(command=["true"]).status, 200)


@test
def processor_time():
    if MODE == "R":
        a = five.run(command="while :; do :; done", time="60s")
        same("a run that uses up the processor time is ended",
             (a.json["status"], a.json["limit"] and a.json["limit"]["kind"]),
             ("killed", "cpu_seconds"))
    else:
        # Without a control group nobody knows before the end.
        a = five.run(command=["python3", "-c", "import time\nwhile time.process_time() < 1.2: pass"])
        same("a run is counted when it has ended", (a.status, a.json["exit_code"]), (200, 0))
    a = five.run(command=["true"])
    same("and nothing starts any more", (a.status, a.code), (429, "limit_exceeded.cpu_seconds"))


run_tests()
