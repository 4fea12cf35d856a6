#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Packages of node that attack who installs them, registries that attack who asks them. Not in make check:
# make check-packages.
. "$(dirname "$0")/../lib/deps.sh"
. "$(dirname "$0")/../lib/workspace.sh"

# attack CODE MODULE NAME: nothing of it is installed, and the error has that code.
attack()
{
	inside --deps auto --lang node -c "require('$2'); console.log('ran')"
	refuses "$1" "" "$3"
}

archives()
{
	attack denied.tarball climber "names that lead out of the package"
	attack denied.tarball rooted "names from the root"
	attack conflict.tarball both "a file that is a directory, too"
	attack conflict.tarball liar "an archive that says it is another"
	attack conflict.hash changed "a file that is not what the registry says"
	attack limit_exceeded.size swollen "an archive that swells"
	inside --deps auto --lang node -c 'console.log(require("linker"))'
	prints "index.js,out,package.json,true" "links and pipes are left out"
}

registries()
{
	attack not_found.package noisy "what a package needs is in no registry"
	attack timeout.index cut "an archive that is cut off"
	attack limit_exceeded.size endless "an archive without end"
	attack timeout.index short "a document that is cut off"
	attack denied.index away "a registry that sends elsewhere"
	CALL_ENV+=(PINFOLD_DEPS_TIME=20s)
	inside --deps auto --lang node -c 'require("slow")'
	exits 125 "an archive that comes byte by byte"
	inside --deps auto --lang node -c 'require("huge")'
	exits 125 "a document without end"
	unset 'CALL_ENV[-1]'
}

young()
{
	inside --deps auto --lang node -c 'console.log(require("sapling").version)'
	prints 1.0.0 "a version of today is passed over for an older one"
	attack denied.age infant "where there is no older one it is refused"
}

# Not run; and where they may be, inside, with nothing to be had, and kept to their own package.
scripts()
{
	local d=$W/scripts

	mkdir -p "$d"
	own "$d"
	inside --deps auto --lang node -c 'console.log(require("secretive"))'
	prints "not run" "install scripts, by default"
	pinfold deps add --lang node --scripts --lock "$d/pinfold.lock" secretive
	exits 0 "run, when they may be"
	echo 'console.log(JSON.stringify(require("secretive")), require("fig").version, require("fs").readdirSync("/node_modules/fig").join())' \
		>"$d/main.js"
	own "$d"
	inside --deps auto --dir "$d" --workdir /work -- node main.js
	prints '{"seen":[],"network":false} 1.5.0 index.js,package.json' \
		"a script saw no secret and no network, and changed no other package"
	check "and wrote nothing outside" test ! -e /usr/evil
	CALL_ENV+=(PINFOLD_DEPS_TIME=15s)
	pinfold deps add --lang node --scripts --lock "$d/other.lock" bomber
	unset 'CALL_ENV[-1]'
	exits 125 "a script that forks without end"
	check "ends" test -s "$ERR"
}

locks()
{
	local d=$W/locked file

	mkdir -p "$d"
	own "$d"
	pinfold deps add --lang node --lock "$d/pinfold.lock" fig
	exits 0 "a lock"
	echo 'console.log(require("fig").version)' >"$d/main.js"
	cp "$d/pinfold.lock" "$W/good.lock"
	sed -i -E 's/("sha256":")[0-9a-f]{8}/\100000000/' "$d/pinfold.lock"
	own "$d"
	inside --deps auto --dir "$d" --workdir /work -- node main.js
	refuses conflict.hash fig "a lock with a wrong hash"
	sed -E 's#"path":"fig"#"path":"../../../../home/user/fig"#' "$W/good.lock" >"$d/pinfold.lock"
	inside --deps auto --dir "$d" --workdir /work -- node main.js
	refuses invalid_argument fig "a lock that leads out of its place"
	cp "$W/good.lock" "$d/pinfold.lock"
	for file in "$M/home/deps/files/"*; do
		chmod u+w "$file"
		printf 'evil' | dd of="$file" conv=notrunc bs=1 seek=100 2>/dev/null
	done
	inside --deps auto --dir "$d" --workdir /work -- node main.js
	refuses conflict.cache fig "a file of the cache that somebody changed"
	inside --deps auto --dir "$d" --workdir /work -- node main.js
	prints 2.0.0 "and is fetched anew the next time"
}

# Real packages, from the registry that this machine's npm is configured for.
real()
{
	local registry CALL_OUTER=("${CALL_OUTER[@]}") CALL_ENV=("${CALL_ENV[@]}")

	registry=$(npm config get registry 2>/dev/null)
	if ! timeout 60 npm view is-odd version >/dev/null 2>&1; then
		skip "a package of the real registry [$MODE]" "npm reaches no registry"
		return
	fi
	CALL_OUTER=()
	CALL_ENV=("npm_config_registry=$registry")
	inside --deps auto --lang node -c 'console.log(typeof require("express"), require("is-odd")(3))'
	prints "function true" "packages of the real registry"
}

checks()
{
	index registry.py || return
	archives
	scripts
	[ "$MODE" = R ] || return 0
	registries
	young
	locks
	real
}

run_deps npm
