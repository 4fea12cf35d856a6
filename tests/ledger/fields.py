# SPDX-License-Identifier: Apache-2.0
"""fields.py RECEIPT KEY PINFOLD [FIELD...]: change each field of a receipt by one bit; every change must be
found. With FIELDs, such as predicate.image, only these of the statement."""
import base64
import json
import subprocess
import sys
import tempfile

RECEIPT, KEY, PINFOLD, *ONLY = sys.argv[1:]
envelope = json.load(open(RECEIPT))
statement = json.loads(base64.b64decode(envelope["payload"]))


def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def variants(value, put):
    """Every leaf of a value, changed once; put() makes the whole."""
    if isinstance(value, dict):
        for key in value:
            yield from variants(value[key], lambda v, key=key: put({**value, key: v}))
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from variants(item, lambda v, i=i: put(value[:i] + [v] + value[i + 1:]))
        yield put(value + ["x"])
    elif isinstance(value, bool) or value is None:
        yield put("x")
    elif isinstance(value, int):
        yield put(value ^ 1)
    else:
        at = len(value) // 2
        yield put(value[:at] + chr(ord(value[at]) ^ 1) + value[at + 1:] if value else "x")


def with_statement(s):
    payload = base64.b64encode(canonical(s).encode()).decode()
    return {**envelope, "payload": payload}


def is_good(text):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
        f.write(text)
        f.flush()
        return subprocess.run([PINFOLD, "verify", "--key", KEY, f.name], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL).returncode == 0


assert is_good(canonical(envelope)), "it was good"
def field(name):
    """What is there, and what puts another there."""
    *way, last = name.split(".")
    whole = json.loads(json.dumps(statement))
    inner = whole
    for key in way:
        inner = inner[key]

    def put(v):
        inner[last] = v
        return with_statement(whole)
    return inner[last], put


n = 0
if ONLY:
    todo = [v for name in ONLY for v in map(canonical, variants(*field(name)))]
else:
    todo = list(map(canonical, variants(statement, with_statement)))
    todo += map(canonical, variants(envelope, lambda v: v))
for changed in todo:
    assert not is_good(changed), "a field can be another"
    n += 1
assert n > (3 if ONLY else 25), n
