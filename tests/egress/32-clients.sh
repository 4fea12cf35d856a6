#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tools as people use them, by policies of their own presets: what they read works, with TLS looked into
# and without a word of a proxy; what they would send is refused.
. "$(dirname "$0")/../lib/egress.sh"

# repositories: what the tools fetch.
repositories()
{
	local far=$NET/far name=pinfold_sample

	mkdir -p "$far/files/simple/${name//_/-}" "$far/files/apt" "$far/git"
	/usr/bin/python3 -I - "$far/files/simple/${name//_/-}/$name-1.0-py3-none-any.whl" <<-'END'
		import sys, zipfile
		d = "pinfold_sample-1.0.dist-info"
		with zipfile.ZipFile(sys.argv[1], "w") as z:
		    z.writestr("pinfold_sample.py", "print('installed')\n")
		    z.writestr(d + "/METADATA", "Metadata-Version: 2.1\nName: pinfold-sample\nVersion: 1.0\n")
		    z.writestr(d + "/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
		    z.writestr(d + "/RECORD", "")
	END
	printf 'Package: pinfold-sample\nVersion: 1.0\nArchitecture: all\nFilename: x.deb\nSize: 1\n%s\n' \
		"SHA256: $(printf x | sha256sum | cut -d' ' -f1)" >"$far/files/apt/Packages"
	git_sample "$far/git/sample.git"
	chmod -R a+rX "$far"
}

# git_sample DIR: a commit, from nothing.
git_sample()
{
	local tree commit

	git init -q --bare "$1"
	git --git-dir="$1" config http.receivepack true
	tree=$(git --git-dir="$1" hash-object -t tree -w /dev/null)
	commit=$(GIT_AUTHOR_NAME=x GIT_AUTHOR_EMAIL=x GIT_COMMITTER_NAME=x GIT_COMMITTER_EMAIL=x \
		git --git-dir="$1" commit-tree -m sample "$tree")
	git --git-dir="$1" update-ref refs/heads/main "$commit"
	git --git-dir="$1" symbolic-ref HEAD refs/heads/main
}

policy()
{
	mkdir -p "$W/xdg/git"
	printf '[url "https://good.test/"]\n\tinsteadOf = git@good.test:\n' >"$W/xdg/git/config"
	cat >"$W/policy.yaml" <<-EOT
		allow:
		  - preset: pip
		  - preset: git
		  - {host: good.test, port: 80, methods: [GET, HEAD]}
	EOT
	own "$W"
	CALL_ENV=(PINFOLD_RESOLVER=198.51.100.2:53 SSL_CERT_FILE="$NET/cert.pem" XDG_CONFIG_HOME="$W/xdg"
		PIP_INDEX_URL=https://good.test/files/simple)
}

# tool SCRIPT: a run with the policy.
tool()
{
	inside --policy "$W/policy.yaml" -- "${BARE[@]}" sh -ec "$1"
}

fetches()
{
	needs pip3 "pip" && {
		tool 'pip3 install -q --no-deps --disable-pip-version-check --break-system-packages --target /tmp/p \
			-i https://good.test/files/simple pinfold-sample; PYTHONPATH=/tmp/p python3 -c "import pinfold_sample"'
		check "pip installs from an index" grep -qx installed "$OUT"
	}
	needs git "git" && {
		tool 'git clone -q https://good.test/git/sample.git s && cd s && git log --format=%s
			git -c user.name=x -c user.email=x commit -q --allow-empty -m data
			git push -q origin HEAD:refs/heads/leak || echo refused'
		prints "sample
refused" "git clones, and does not push"
		check "nothing was pushed" test -z \
			"$(git --git-dir="$NET/far/git/sample.git" for-each-ref --format=%\(refname\) refs/heads/leak)"
	}
	needs apt-get "apt" && {
		tool 'mkdir -p a/lists/partial a/cache/archives/partial; touch a/status
			echo "deb [trusted=yes] http://good.test/files/apt ./" >a/sources
			apt() { "$@" -o Dir::State=$PWD/a -o Dir::State::status=$PWD/a/status -o Dir::Cache=$PWD/a/cache \
				-o Dir::Etc::sourcelist=$PWD/a/sources -o Dir::Etc::sourceparts=- -o APT::Sandbox::User=; }
			apt apt-get -qq update && apt apt-cache policy pinfold-sample'
		check "apt updates" grep -q 'Candidate: 1.0' "$OUT"
	}
}

# What a read-only policy is for: nothing leaves by the tools' own ways.
sends()
{
	forget
	inside_json --policy "$W/policy.yaml" -- "${BARE[@]}" sh -c '
		code() { curl -s -o /dev/null -w "%{http_code} " "$@"; }
		code -F content=@/etc/passwd https://good.test/files/simple/
		code -T /etc/passwd https://good.test/files/simple/x
		code -X PUT -d x https://good.test/-/package
		code -X DELETE https://good.test/files/simple/
		code -d x https://good.test/git/sample.git/git-receive-pack
		code -d x http://good.test/files/apt/'
	json_is "403 403 403 403 403 403 " 'out.decode()' "no upload by any tool's way"
	check "none of them came to the server" test "$(seen http .)" = 0
	json_has 'sum(x["count"] for x in d["denials"]) == 6' "each is told"
	json_has 'all("bytes_out" in n for n in d["network"])' "with the bytes that went out"
}

others()
{
	if ! /usr/bin/python3 -c 'import requests' 2>/dev/null; then
		skip "python's requests [$MODE]" "the Python module requests is not installed"
	else
		tool '/usr/bin/python3 -c "import requests
print(requests.get(\"https://good.test/hello\").text.strip())"'
		prints "hello good.test" "python's requests"
	fi
	needs cc "a static program" && {
		cc -static -O1 -o "$W/static" "$EGRESS_DIR/static.c" && own "$W"
		inside --policy "$W/policy.yaml" --dir "$W" -- sh -c '
			at=$(getent ahostsv4 good.test | sed "s/ .*//;q")
			ask=$(printf "GET / HTTP/1.1\r\nHost: good.test\r\n\r\n.")
			/work/static "$at" 80 "${ask%.}"
			/work/static 198.51.100.2 80 "${ask%.}"
			/work/static 198.51.100.2 7777 x'
		prints "HTTP/1.1 200 OK
no answer
Connection refused" "a program without libraries"
	}
}

# Java has a list of authorities of its own, and reads no variable.
java_client()
{
	needs javac "java" || return
	echo 'class A { public static void main(String[] a) throws Exception {
		try (var s = new java.net.URL("https://good.test/hello").openStream()) { s.transferTo(System.out); } } }' >"$W/A.java"
	own "$W"
	inside --policy "$W/policy.yaml" --time 100s --memory 1G --dir "$W" -- "${BARE[@]}" java /work/A.java
	check "java" grep -q "^hello good.test" "$OUT"
	inside --policy "$W/policy.yaml" -- sh -c 'echo x >>/etc/ssl/certs/java/cacerts'
	check "java: which nothing inside can change" grep -qi 'denied\|read-only' "$ERR"
	inside --time 60s --memory 1G --policy "$W/policy.yaml" -- sh -c '
		keytool -list -storepass changeit -cacerts 2>/dev/null | grep -c "pinfold.*trustedCertEntry"
		keytool -list -storepass changeit -cacerts 2>/dev/null | grep -c trustedCertEntry'
	check "java: one more than the host has" test "$(paste -sd' ' "$OUT")" = \
		"1 $((1 + $(keytool -list -storepass changeit -cacerts 2>/dev/null | grep -c trustedCertEntry)))"
}

# A real package, from the registry that npm on this machine is set up for.
registry()
{
	local url host package=is-odd

	needs npm "npm" || return
	url=$(npm config get registry 2>/dev/null)
	host=${url#*://}
	host=${host%%/*}
	if ! (cd "$W" && timeout 20 npm view --silent "$package" version >/dev/null 2>&1); then
		skip "npm installs a package [$MODE]" "npm reaches no registry"
		return
	fi
	printf 'allow:\n  - {host: "%s", port: 443, methods: [GET, HEAD]}\n' "$host" >"$W/npm.yaml"
	own "$W"
	CALL_OUTER=()
	CALL_ENV=()
	CALL_SECONDS=240
	inside --policy "$W/npm.yaml" -- "${BARE[@]}" sh -c "npm install --silent --no-audit --no-fund \
		--registry $url $package && node -p 'require(\"$package\")(3)'
		npm publish --silent --registry $url node_modules/$package || echo refused"
	prints "true
refused" "npm installs a package, and publishes none"
}

checks()
{
	network || return
	[ -e "$NET/far/git" ] || repositories
	policy
	fetches
	sends
	others
	java_client
	untouched "clients"
	if [ "$MODE" = R ]; then
		registry
	fi
	CALL_OUTER=(nsenter "--net=/proc/$NEAR/ns/net")
	CALL_SECONDS=240
}

run_egress
