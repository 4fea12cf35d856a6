#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# node: workers, child processes, servers, files.
. "$(dirname "$0")/../lib/cli.sh"

# node NAME WANT CODE
node()
{
	inside_json --lang node -c "$3"
	json_is "$2" 'd["stdout"]["text"].strip()' "$1"
	json_is '[0, []]' '[d["exit_code"], d["denials"]]' "$1: ends well, without a denial"
}

checks()
{
	needs node "node" || return
	node "worker_threads" "499500,499500" '
const { Worker, isMainThread, parentPort } = require("worker_threads");
const code = `const { parentPort } = require("worker_threads");
let s = 0; for (let i = 0; i < 1000; i++) s += i; parentPort.postMessage(s);`;
Promise.all([1, 2].map(() => new Promise(r => new Worker(code, { eval: true }).on("message", r))))
  .then(v => console.log(v.join()));'
	node "child_process" "HELLO 3" '
const { execFileSync, spawnSync } = require("child_process");
const out = execFileSync("tr", ["a-z", "A-Z"], { input: "hello" }).toString();
console.log(out, spawnSync("sh", ["-c", "exit 3"]).status);'
	node "child_process.fork and messages" "pong" '
const fs = require("fs"), { fork } = require("child_process");
fs.writeFileSync("/tmp/c.js",
  "process.on(\"message\", m => { process.send(\"pong\"); process.exit() })");
const c = fork("/tmp/c.js"); c.on("message", m => console.log(m)); c.send("ping");'
	node "an http server and fetch" "200 hi" '
const http = require("http");
const s = http.createServer((q, r) => r.end("hi")).listen(0, "127.0.0.1", () =>
  http.get({ port: s.address().port, host: "127.0.0.1" }, r => {
    let b = "";
    r.on("data", d => b += d).on("end", () => { console.log(r.statusCode, b); s.close(); });
  }));'
	node "files, crypto, zlib, timers" "ok 64 hello" '
const fs = require("fs"), c = require("crypto"), z = require("zlib");
fs.writeFileSync("f", "ok"); fs.watch && 0;
const h = c.createHash("sha256").update("x").digest("hex");
const s = z.gunzipSync(z.gzipSync("hello")).toString();
setTimeout(() => console.log(fs.readFileSync("f", "utf8"), h.length, s), 5);'
	node "what it believes of the machine" "1000 true true" '
const os = require("os");
console.log(os.userInfo().uid, os.totalmem() <= 512 * 1024 * 1024, os.cpus().length >= 1);'
	if needs npm "npm"; then
		inside -- sh -ec \
			'mkdir p m; cd m
			echo "{\"name\": \"tiny\", \"version\": \"1.0.0\"}" >package.json
			echo "module.exports = 42" >index.js; cd ../p; npm init -y >/dev/null
			npm install --offline --no-audit --no-fund ../m >/dev/null
			node -p "require(\"tiny\")"'
		prints 42 "npm installs a local package"
	fi
}

run_checks
