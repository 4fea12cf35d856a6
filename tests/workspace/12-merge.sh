#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Layers are merged behind commands: never more than 16 are mounted, and nothing of the history can tell.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/workspace.sh"

COMMANDS=60

# Each command adds, changes and removes, and makes a directory anew now and then; what it cannot do, it
# does not. $1: its number. Files with two names are not written again: there they differ (docs).
STEP='exec 2>/dev/null; n=$1; echo $n >>log; echo $n >f$((n % 7)); mkdir -p d/$((n % 5)); echo $n >d/$((n % 5))/x$n
[ $((n % 4)) != 0 ] || rm -f f$(((n + 3) % 7)) d/$(((n + 1) % 5))/x$((n - 4))
[ $((n % 9)) != 0 ] || { rm -rf d/$((n % 5)); mkdir d/$((n % 5)); echo $n >d/$((n % 5))/anew; }
[ $((n % 13)) != 0 ] || { rm -rf d; echo $n >d; }
[ $((n % 13)) != 1 ] || [ $n = 1 ] || { rm -f d; mkdir -p d/again; ln -s again d/link; }
[ $((n % 11)) != 0 ] || { mkdir -p dir; mv dir moved$n; mkdir dir; echo $n >soft; ln soft hard$n; rm soft; echo $n >two$n; ln two$n three$n; chmod 700 dir; }
true'
MOUNTED='import re
print(max(len(re.findall("lowerdir", l)) and sum(1 for w in re.findall(r"lowerdir\+?=([^, ]*)", l) for x in w.split(":") if x)
          for l in open("/proc/self/mountinfo")))'

# stood NAME: everything that is there, in one line.
stood()
{
	pinfold exec --env TIMES=0 --env LINKS=0 --env BLOCKS=0 --env OWNERS=0 --lang python "$1" - <"$TEST_DIR/listing.py"
	sha256sum <"$OUT" | cut -d' ' -f1
}

# plain N: the same command in a directory of the host.
plain()
{
	(cd "$W/plain" && umask 022 && exec sh -c "$STEP" sh "$1")
}

# plainly: what stood would say of that.
plainly()
{
	(cd "$W/plain" && TIMES=0 LINKS=0 BLOCKS=0 OWNERS=0 /usr/bin/python3 -I "$TEST_DIR/listing.py" | sha256sum | cut -d' ' -f1)
}

layers()
{
	pinfold info --json "$1"
	doc 'd["layers"]'
}

short()
{
	[ "$(layers "$1")" -lt 8 ]
}

many_commands()
{
	local n most=0 mounted=0 now

	fresh w
	mkdir "$W/plain"
	for n in $(seq $COMMANDS); do
		pinfold exec w -- sh -c "$STEP" sh "$n"
		[ "$RC" = 0 ] || { not_ok "command $n [$MODE]"; explain; }
		plain "$n"
		now=$(layers w)
		[ "$now" -le "$most" ] || most=$now
		[ $((n % 10)) != 0 ] || {
			WANT[n]=$(plainly)
			pinfold exec w --lang python -c "$MOUNTED"
			now=$(cat "$OUT")
			[ "$now" -le "$mounted" ] || mounted=$now
			pinfold log --json w
			AT[n]=$(doc 'd["items"][1]["snapshot"]')
			pinfold snap w "mark-$n"
		}
	done
	check "$COMMANDS commands, and never more than 15 layers below (at most $most)" test "$most" -le 15
	check "never more than 16 mounted (at most $mounted below)" test "$mounted" -gt 1 -a "$mounted" -le 16
	check "it gets shorter by itself" wait_for 40 short w
	check "the files are as in a plain directory" test "$(stood w)" = "${WANT[COMMANDS]}"
	rm -rf "$W/plain"
}

# At every tenth command, by its number and by its label.
back_and_forth()
{
	local n

	for n in $(seq 10 10 $COMMANDS); do
		pinfold rollback w "${AT[n]}"
		check "rollback to command $n" test "$(stood w)" = "${WANT[n]}"
		pinfold fork --at "mark-$n" w "fork$n"
		check "fork at its label" test "$(stood "fork$n")" = "${WANT[n]}"
	done
	pinfold undo w $((2 * COMMANDS / 10))
	check "undo of all that" test "$(stood w)" = "${WANT[COMMANDS]}"
	pinfold log --json --all w
	doc_has '[s["label"] for s in reversed(d["items"]) if s["label"]] == ["mark-%d" % n for n in range(10, 61, 10)]' \
		"labels are where they were"
	pinfold rollback w mark-60
	# Each is one: 60 commands, 6 that counted mounts, the rollback.
	pinfold undo w 47
	exits 0 "undo far back"
	check "over merged layers" test "$(stood w)" = "${WANT[20]}"
}

# ghosts DIR: a directory of its own that lost a file, one that was there before and did, and what is seen
# of them when the layers that say so are one.
ghosts()
{
	local n

	sh_in g 'cd $1; mkdir p; echo 1 >p/x; echo 2 >p/y' "$1"
	sh_in g 'cd $1; rm p/x; rm -f below/x; rm -rf below/anew; mkdir below/anew' "$1"
	for n in $(seq 9); do
		sh_in g 'echo $2 >$1/n$2' "$1" "$n"
	done
	check "$1: layers are merged" wait_for 40 short g
	sh_in g 'cd $1; ls -l p; cd below && find . | sort' "$1"
	check "$1: no name is listed that is not there" test "$RC" = 0 -a -z "$(grep -v '^pinfold: limits' "$ERR")" -a "$(grep -c ' x$' "$OUT")" = 0
	check "$1: what was hidden stays hidden" test "$(tail -n 3 "$OUT" | tr '\n' ' ')" = ". ./anew ./y "
}

all_ghosts()
{
	mkdir -p "$W/shown/below/anew"
	touch "$W/shown/below/x" "$W/shown/below/y" "$W/shown/below/anew/old"
	own "$W/shown"
	fresh g --dir "$W/shown"
	sh_in g 'mkdir -p below/anew; touch below/x below/y below/anew/old'
	ghosts /home/user
	ghosts /work
	if [ "$MODE" = R ]; then
		pinfold exec --user root g -- sh -c 'mkdir -p /usr/local/p; touch /usr/local/p/x; rm -f /usr/bin/yes'
		pinfold exec --user root g -- rm /usr/local/p/x
		for n in $(seq 9); do
			pinfold exec --user root g -- sh -c "echo $n >/usr/local/n$n"
		done
		check "/usr: layers are merged" wait_for 40 short g
		sh_in g 'ls -l /usr/local/p /usr/bin/ >/dev/null && ls /usr/bin/yes'
		check "/usr: no name is listed that is not there" test "$RC" = 2 -a "$(wc -l <"$ERR")" = 1
	fi
	pinfold rm g
}

# hasty SEED ARG...: as pinfold; who settles behind it is killed at a random moment.
hasty()
{
	local CALL_WRAP=(/usr/bin/python3 -I "$W/hasty.py" "$1")

	pinfold "${@:2}"
}

# What settles is killed at random moments; the next one finds all as it was.
killed()
{
	local n kills=0 want

	fresh k
	mkdir "$W/plain"
	install -m 0755 "$TEST_DIR/hasty.py" "$W/hasty.py"
	for n in $(seq 45); do
		hasty "$n" exec k -- sh -c "$STEP" sh "$n"
		[ "$RC" = 0 ] || { not_ok "command $n [$MODE]"; explain; }
		kills=$((kills + $(grep -c '^killed$' "$ERR")))
		plain "$n"
	done
	want=$(plainly)
	check "who settles was killed $kills times" test "$kills" -gt 2
	check "the files are right" test "$(stood k)" = "$want"
	pinfold exec k -- sh -c 'echo >last'
	check "then it gets shorter" wait_for 40 short k
	check "no layer is open, dead or without its row" wait_for 40 settled
	check "the database is whole" test "$(sql 'PRAGMA integrity_check')" = ok
	pinfold undo k 2
	check "and one goes back as ever" test "$(stood k)" = "$want"
	rm -rf "$W/plain"
}

empty()
{
	[ -z "$(ls "$M/home/layers")" ]
}

checks()
{
	local n

	many_commands
	back_and_forth
	all_ghosts
	killed
	pinfold rm w
	pinfold rm k
	check "forks stand without the workspace they came from" test "$(stood fork30)" = "${WANT[30]}"
	for n in $(seq 10 10 $COMMANDS); do
		pinfold rm "fork$n"
	done
	check "when all are removed, no layer is left" wait_for 40 empty
}

run_checks
