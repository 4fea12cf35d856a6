#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: cgroup, time
#
# Processor time is what a sandbox can take most easily from all others. A limit on it counts all
# processes together, those that have ended, too; the rate is held where a control group is; the
# clock on the wall ends what does nothing.
. "$(dirname "$0")/../lib/escape.sh"

claim "G08 processor time is bounded, however it is spent"

CPU_MS=300
SLACK_MS=350

# burns WAY: ended by --cpu-time, not much later than that. The figure is pinfold's own only where a
# control group counts; else the time on the wall is the most that one processor can have spent.
burns()
{
	local spent word

	inside_json --cpu-time ${CPU_MS}ms --time 6s --dir "$BIN" -- python3 /work/burn.py "$1"
	ran 137
	absent "$1 went on" survived
	same "$1: what ended it" "$(json '[d["status"], (d["limit"] or {}).get("kind")]')" \
		'["killed", "cpu_time"]'
	word=$(json 'd["limits"]["memory"]["held_by"]')
	spent=$(json 'd["usage"]["cpu_ms"]')
	diag "$MODE, $1: $spent ms of $CPU_MS, memory $word"
	[ "$word" = cgroup ] || return 0
	holds "$1: ended on time ($spent ms)" \
		[ "${spent%.*}" -ge "$CPU_MS" -a "${spent%.*}" -le $((CPU_MS + SLACK_MS)) ]
}

# Four that are busy, with half a processor: over ten periods they get about half of the time.
rate()
{
	local share

	inside_json --limits best-effort --cpus 0.5 --time 1s --grace 10ms --dir "$BIN" -- \
		python3 /work/burn.py many
	ran 124
	share=$(json 'int(100 * d["usage"]["cpu_ms"] / d["usage"]["wall_ms"])')
	diag "$MODE, four busy with --cpus 0.5: $share % of one processor"
	if [ "$MODE" = R ] || [ "$(json 'd["limits"]["cpus"]["held_by"]')" = cgroup ]; then
		holds "the rate is held ($share %)" [ "$share" -le 70 ]
	else
		same "no rate is claimed" "$(json 'd["limits"]["cpus"]["held_by"]')" absent
	fi
}

attack()
{
	local way

	install -m 0644 "${CASE_STEM}.py" "$BIN/burn.py"
	for way in plain many of_thread unwaited orphans; do
		burns $way
	done
	rate
}

run_case
