#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# How many sandboxes wait: as many as are wanted at a time, between a floor and a ceiling of memory;
# fewer when the host is short of it.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/daemon.sh"

FLOOR=3
MANY=9
COST=$((576 << 10)) # of a plain one, at least

all_ran()
{
	crowd_wait
	check "$1: all of them ran" test "$(printf '%s\n' "${CROWD_STATUS[@]}" | sort -u)" = 0
}

follows_demand()
{
	daemon_start --warm $FLOOR --warm-python 0
	check "the floor waits" wait_for 10 waiting_is $FLOOR
	inside "${BEST[@]}" --daemon -- true
	check "one run changes nothing" wait_for 10 waiting_is $FLOOR
	all_at_once $MANY -- true
	all_ran "a crowd"
	check "more wait after a crowd" wait_for 10 waiting_beyond $((FLOOR + 1))
	check "never more than came" test "$(guests | wc -w)" -le $((MANY + 1))
	inside_json "${BEST[@]}" --daemon -- true
	json_is warm 'd["start"]' "one of them is taken"
	check "when nobody asks, the floor again" wait_for 60 waiting_is $FLOOR
	daemon_stop
	check "nothing is left" nothing_left
}

# The kinds share one ceiling, and it is above the floor.
below_ceiling()
{
	local most=$(((4 << 20) / COST))

	daemon_start --warm 1 --warm-python 0 --warm-memory 4M
	all_at_once $((2 * most)) -- true
	all_ran "a larger crowd"
	check "more wait" wait_for 10 waiting_beyond 1
	check "but no more than fit" not wait_for 2 waiting_beyond "$most"
	daemon_stop
	daemon_start --warm $((3 * most)) --warm-python 0 --warm-memory 4M
	check "a floor that does not fit" wait_for 10 waiting_beyond $((most / 2))
	check "is less of one" not wait_for 2 waiting_beyond "$most"
	daemon_stop
}

not()
{
	! "$@"
}

pressure_is()
{
	printf 'some avg10=%s avg60=0.00 avg300=0.00 total=1\nfull avg10=%s avg60=0.00 avg300=0.00 total=1\n' \
		"$1" "$2" >"$W/pressure.new"
	own "$W/pressure.new"
	mv "$W/pressure.new" "$W/pressure"
}

gives_back()
{
	pressure_is 0.00 0.00
	CALL_ENV=("PINFOLD_PRESSURE=$W/pressure")
	daemon_start --warm $FLOOR --warm-python 0
	CALL_ENV=()
	wait_for 10 waiting_is $FLOOR
	all_at_once $MANY -- true
	all_ran "before it is short"
	check "more wait before" wait_for 10 waiting_beyond $FLOOR
	pressure_is 25.00 0.00
	check "short of memory: the floor" wait_for 10 waiting_is $FLOOR
	pressure_is 25.00 25.00
	check "very short: none" wait_for 10 waiting_is 0
	inside_json "${BEST[@]}" --daemon -- echo served
	json_is cold 'd["start"]' "it still serves"
	check "and makes none to wait" not wait_for 3 waiting_beyond 0
	pressure_is 0.50 0.00
	check "it is over" wait_for 10 waiting_beyond $((FLOOR - 1))
	daemon_stop
	check "the file was not written to" grep -q 'some avg10=0.50' "$W/pressure"
}

checks()
{
	daemon_mode
	follows_demand
	below_ceiling
	gives_back
	check "nothing is left in the end" nothing_left
}

run_checks
