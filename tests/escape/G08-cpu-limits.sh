#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: cgroup
#
# Busy loops get their share of the processors and no more, and the limit of processor time counts
# all processes, also those that are gone already: a crowd of short ones adds up.
. "$(dirname "$0")/../lib/escape.sh"

claim "G08 processor time is shared out and counted"

# spent LEAST_MS MOST_MS: processor time that the last document tells.
spent()
{
	diag "$MODE: $(json '"%(cpu_ms)d ms of CPU in %(wall_ms)d ms" % d["usage"]'), wanted $1 to $2"
	same "between $1 and $2 ms of processor time" \
		"$(json 'float(a[0]) <= d["usage"]["cpu_ms"] <= float(a[1])' "$@")" true
}

attack()
{
	local burn='i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done'
	local loops='for i in 1 2 3 4 5 6 7 8; do (while :; do :; done) & done; wait'

	if [ "$MODE" = R ]; then
		# With time to end by themselves: what init could not wait for is not counted on v1.
		inside_json --cpus 0.2 --time 1s --grace 2s -- sh -c "$loops"
		ran 124
		# Of the time that it really had: on a busy machine its end comes late.
		diag "$MODE: $(json '"%(cpu_ms)d ms of CPU in %(wall_ms)d ms" % d["usage"]')"
		same "a fifth of a processor, and some to start with" "$(json \
			'50 <= d["usage"]["cpu_ms"] <= 0.2 * d["usage"]["wall_ms"] + 120')" true
		same "what holds it" "$(json 'd["limits"]["cpus"]')" '{"value": 0.2, "held_by": "cgroup"}'
	else
		inside_json --cpus 0.2 -- true
		ran
		same "what holds it" "$(json 'd["limits"]["cpus"]')" '{"value": 0.2, "held_by": "absent"}'
	fi
	# Promised are 50 ms on an idle machine; it is looked at every 20 ms, on two processors. Who is not stopped
	# goes on for twenty seconds.
	inside_json --cpus 2 --cpu-time 300ms --time 20s -- sh -c "$loops"
	ran 137
	spent 290 8000
	same "the limit is told" "$(json 'd["status"], d["limit"]["kind"], d["limit"]["value"]')" \
		'["killed", "cpu_time", 300]'
	# Short ones, waited for, and orphans that nobody but init waits for.
	inside_json --cpu-time 400ms --time 20s -- sh -c 'while :; do sh -c "$1"; done' sh "$burn"
	ran 137
	spent 380 8000
	inside_json --cpu-time 400ms --time 20s -- sh -c 'while :; do
			(sh -c "$1; : >/tmp/done" &)
			until [ -e /tmp/done ]; do read x </dev/null; done
			rm /tmp/done
		done' sh "$burn"
	ran 137
	spent 380 8000
	# And where there is no limit of it, wall clock ends it.
	inside_json --time 300ms --grace 1ms -- sh -c "$loops"
	ran 124
	same "wall clock" "$(json '290 <= d["usage"]["wall_ms"] <= 50000')" true
}

run_case
