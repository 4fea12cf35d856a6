#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Pythons that waited: what must differ between two of them does, and what must not differ from a fresh
# one does not. For root they are forks of a zygote.
# PINFOLD_TEST_SIBLINGS: how many are compared; 200 in make soak.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/daemon.sh"

SIBLINGS=${PINFOLD_TEST_SIBLINGS:-16}
WARM=3
HERE=$(cd "$(dirname "$0")" && pwd)

# What nobody else may get: M01, M06, M07.
# shellcheck disable=SC2016
DRAW='
import hashlib, os, random, secrets, ssl, sys, tempfile, threading, time, uuid, multiprocessing
values = [random.random(), random.SystemRandom().random(), random.Random().random(), uuid.uuid4(), uuid.uuid1(),
          secrets.token_hex(8), os.urandom(8).hex(), ssl.RAND_bytes(8).hex(), tempfile.mktemp(),
          next(tempfile._get_candidate_names()), os.uname().nodename, time.monotonic_ns(),
          bytes(multiprocessing.current_process().authkey).hex()]
if "numpy" in sys.modules:
    import numpy
    values += [numpy.random.rand(), numpy.random.default_rng().random(), numpy.random.RandomState().rand(),
               numpy.random.get_state()[1][0]]
maps = open("/proc/self/maps").read().split("\n")
print(*values, "|", hash("x"), [m for m in maps if "libc.so" in m][0].split("-")[0], os.getpid())'

python()
{
	waited python "$@"
}

siblings()
{
	local i

	: >"$W/seen"
	for ((i = 0; i < SIBLINGS; i++)); do
		python -c "$DRAW"
		json 'd["stdout"]["text"].strip() + "\n"' >>"$W/seen"
	done
	check "$SIBLINGS of them, no two alike" /usr/bin/python3 -I -c '
import sys
rows = [l.split("|")[0].split() for l in open(sys.argv[1]) if l.strip()]
assert len(rows) == int(sys.argv[2]) and len(rows[0]) >= 13, rows[:2]
for i, column in enumerate(zip(*rows)):
    assert len(set(column)) == len(rows), (i, sorted(column)[:6])
' "$W/seen" "$SIBLINGS"
	# M02: addresses and the hash seed are a zygote'"'"'s, which is replaced after 64 forks.
	check "addresses are shared by few" /usr/bin/python3 -I -c '
import collections, sys
rows = [l.split("|")[1].split() for l in open(sys.argv[1]) if l.strip()]
most = 64 + int(sys.argv[2])
for column in list(zip(*rows))[:2]:
    assert max(collections.Counter(column).values()) <= most, column
assert {r[2] for r in rows} == {"2"}, rows' "$W/seen" "$WARM"
}

state()
{
	cp "$HERE/state.py" "$W/"
	own "$W/state.py"
	inside_json --no-daemon "${BEST[@]}" --lang python "$W/state.py" a 'b c'
	json 'd["stdout"]["text"]' >"$W/cold"
	python "$W/state.py" a 'b c'
	json 'd["stdout"]["text"]' >"$W/fork"
	check "the state of a fresh one" /usr/bin/python3 -I -c '
import json, sys
cold, fork = (json.load(open(p)) for p in sys.argv[1:3])
assert len(cold) > 25
bad = {k: (cold[k], fork[k]) for k in cold if cold[k] != fork[k]}
assert not bad, json.dumps(bad, indent=1)' "$W/cold" "$W/fork"
}

checks()
{
	daemon_mode
	daemon_start --warm 0 --warm-python $WARM \
		--preload "json,random,uuid,tempfile,hashlib,ssl,multiprocessing,threading,logging,numpy"
	check "they wait" wait_for 30 waiting_is $WARM
	siblings
	state
	daemon_stop
	exits 0 "it ends"
	check "nothing is left" nothing_left
}

run_checks
