#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: package-hash, package-names, package-age, package-typo
#
# Packages that attack who installs them, indexes that attack who asks them, caches and locks that somebody
# changed. Not in make check: make check-packages.
. "$(dirname "$0")/../lib/deps.sh"
. "$(dirname "$0")/../lib/workspace.sh"

# attack CODE MODULE NAME: nothing of it is installed, and the error has that code.
attack()
{
	inside --deps auto --lang python -c "import $2; print('ran')"
	refuses "$1" "" "$3"
}

indexes()
{
	local module

	attack denied.wheel climber "names that lead out of the package"
	attack conflict.hash changed "a file that is not what the index says"
	attack conflict.wheel liar "a wheel that says it is another"
	attack conflict.install padded "a wheel with a file that ends too soon"
	attack denied.age infant "a version of today"
	attack denied.name reqeusts "a name that looks like another"
	attack conflict locked "a wheel with a file that says it is encrypted"
	for module in bomb brackets shapeless; do
		inside --deps auto --lang python -c "import $module"
		exits 125 "an answer that grows when it is read ($module)"
		check "is an error that says so ($module)" grep -qE '^pinfold: (limit_exceeded|timeout|conflict|not_found)' "$ERR"
		diag "$(head -c 300 "$ERR")"
	done
	inside --package shadow -- sh -c 'python3 -c "print(1)"; cat /dev/null; shadow; ls /usr/local/bin/cat'
	check "a command that the host has is not a package's" test "$(head -n 2 "$OUT" | tr '\n' ' ')" = "1 the package is run "
	attack timeout.index short "an answer that is cut off"
	inside --deps auto --lang python -c 'import away'
	exits 125 "an index that sends elsewhere"
	CALL_ENV+=(PINFOLD_DEPS_TIME=10s)
	inside --deps auto --lang python -c 'import slow'
	refuses limit_exceeded time "an answer that comes byte by byte"
	unset 'CALL_ENV[-1]'
	inside --deps auto --lang python -c 'import huge'
	exits 125 "an answer without end"
	check "is told as a limit or as a lost index" grep -qE 'limit_exceeded|timeout' "$ERR"
}

cached()
{
	local file

	inside --deps auto --lang python -c 'import lone; print(lone.value)'
	prints 42 "a package"
	pinfold deps gc --all
	exits 0 "its layer is removed"
	check "and its download" test -z "$(ls "$M/home/deps/files")"
	inside --deps auto --lang python -c 'import lone; print(lone.value)'
	prints 42 "and made again"
	# No layer, a download, which is not what it was.
	pinfold deps gc --all
	mkdir -p "$W/cached"
	own "$W/cached"
	pinfold deps add --lock "$W/cached/pinfold.lock" lone
	for file in "$M/home/deps/files/"*; do
		chmod u+w "$file"
		printf 'evil' | dd of="$file" conv=notrunc bs=1 seek=100 2>/dev/null
	done
	inside --deps auto --lang python -c 'import lone; print(lone.value)'
	refuses conflict.cache lone "a file of the cache that somebody changed"
	inside --deps auto --lang python -c 'import lone; print(lone.value)'
	prints 42 "and is fetched anew the next time"
}

# Only with --source; and then inside, with nothing to be had.
sources()
{
	local d=$W/src

	mkdir -p "$d"
	own "$d"
	attack not_found.package secretive "a source archive, by default"
	pinfold deps add --source --lock "$d/pinfold.lock" secretive
	exits 0 "built, when it may be"
	echo 'import secretive; print(secretive.seen, secretive.network)' >"$d/main.py"
	own "$d"
	inside --deps auto --dir "$d" --workdir /work -- python3 main.py
	prints "[] False" "its setup.py saw no secret and no network"
	check "and wrote nothing outside" test ! -e /usr/evil
	pinfold deps add --source --lock "$d/meddled.lock" meddler apple
	refuses conflict.source apple "one that changes what is said of another package"
	pinfold deps add --source --only-binary --lock "$d/meddled.lock" secretive
	refuses invalid_argument --only-binary "both to build and not to"
	inside --deps auto --only-binary --dir "$d" --workdir /work -- python3 main.py
	refuses denied.source secretive "a lock with what was built, where nothing may be"
	CALL_ENV+=(PINFOLD_DEPS_TIME=15s)
	pinfold deps add --source --lock "$d/other.lock" bomber
	unset 'CALL_ENV[-1]'
	exits 125 "a setup.py that forks without end"
	check "ends" test -s "$ERR"
}

locks()
{
	local d=$W/locked

	mkdir -p "$d"
	own "$d"
	pinfold deps add --lock "$d/pinfold.lock" pear
	exits 0 "a lock"
	echo 'import pear; print(pear.__version__)' >"$d/main.py"
	sed -i -E 's/("sha256":")[0-9a-f]{8}/\100000000/' "$d/pinfold.lock"
	own "$d"
	inside --deps auto --dir "$d" --workdir /work -- python3 main.py
	exits 125 "a lock with a wrong hash"
	check "is not installed" grep -qE 'conflict|not_found' "$ERR"
	printf '{"version":1,"python":{"interpreter":"x","platform":"y","packages":[{"name":"../x"}]}}' \
		>"$d/pinfold.lock"
	inside --deps auto --dir "$d" --workdir /work -- python3 main.py
	refuses invalid_argument "" "a lock that names what is no package"
}

# Is something downloaded, or about to be?
begun()
{
	[ -n "$(find "$1" -type f -newer "$EVIDENCE/before" 2>/dev/null)" ]
}

# One lock says that the file of another package is its own; two install at once, and one is killed.
swapped()
{
	local d=$W/swapped hash

	mkdir -p "$d" "$W/lone"
	own "$d"
	own "$W/lone"
	pinfold deps add --lock "$W/lone/pinfold.lock" lone
	pinfold deps add --lock "$d/pinfold.lock" pear
	hash=$(sed -nE 's/.*"name":"lone".*"sha256":"([0-9a-f]{64})".*/\1/p' "$W/lone/pinfold.lock")
	sed -i -E "s/(\"sha256\":\")[0-9a-f]{64}/\\1$hash/" "$d/pinfold.lock"
	echo 'import lone; print(lone.value)' >"$d/main.py"
	own "$d"
	check "a lock with the hash of another package" grep -q "$hash" "$d/pinfold.lock"
	inside --deps auto --dir "$d" --workdir /work -- python3 main.py
	refuses conflict pear "is not installed as that"
	pinfold deps gc --all
	touch "$EVIDENCE/before"
	inside_start one --deps auto --lang python -c 'import apple, quarrel'
	check "one installation" wait_for 60 begun "$M/home/deps"
	kill -9 "$one_PID" 2>/dev/null
	inside --deps auto --lang python -c 'import apple, quarrel; print(apple.__version__)'
	prints 2.0 "an installation beside one that is killed"
	inside_wait one
	forget_report '^signal 9$' # which we sent
	pinfold fsck
	exits 0 "leaves a good store"
}

checks()
{
	index || return
	swapped
	indexes
	cached
	sources
	locks
}

run_deps
