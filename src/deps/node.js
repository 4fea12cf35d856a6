// SPDX-License-Identifier: Apache-2.0
/*
 * The driver of node's packages, inside a sandbox (engine/deps_box.h has the frames).
 *
 *	{"mode": "resolve", "asked": ["express@^4"], "locked": [...], "given": {...}, "index": {"url": "...",
 *	 "scopes": {"@scope": "..."}}, "age_hours": 72}
 *		-> J {"interpreter", "platform", "packages": [...]}, F for each file, D
 *	{"mode": "fetch", "packages": [...], "index": ...}		-> F for each file, D
 *	{"mode": "build", "packages": [...], "index": ...} and an F for each	-> J {"built": [...]}, F..., D
 *	{"mode": "install", "packages": [...]} and an F for each	-> J {"modules": [[...], ...]}, T..., D
 *
 * npm says which versions; files are downloaded, checked and unpacked here, which needs no npm and leaves
 * nothing on a disk. Of a package nothing is executed, but for install scripts, which have to be allowed, and
 * run while building, never while resolving or installing. A package of the lock has, beside what all have,
 * `path` (where it is below node_modules), `integrity` (npm's own hash) and `npm` (what npm wants to know of it).
 */
"use strict";
const crypto = require("crypto");
const fs = require("fs");
const http = require("http");
const https = require("https");
const os = require("os");
const path = require("path");
const zlib = require("zlib");
const { spawnSync } = require("child_process");

const DIR = path.join(os.homedir(), "deps");
const MODULES = "local/lib/pinfold/node_modules";
const CHUNK = 1 << 20;
const AT_ONCE = 16;
const HTTP_MS = 20000;
const FILE_MAX = 1 << 30; // of a download
const DOC_MAX = 64 << 20; // of what the index says about a package
const UNPACKED_MAX = 1 << 30; // of one package
const KEEP_MAX = 256 << 20; // of downloads in memory; more go to the disk
const MTIME = 499162500; // npm's own: before any year that zip could not say
const NAME = /^(@[A-Za-z0-9][\w.-]*\/)?[A-Za-z0-9_][\w.-]*$/;

// --- frames --------------------------------------------------------------------------------------

function write(data) {
	for (let at = 0; at < data.length;)
		try {
			at += fs.writeSync(1, data, at);
		} catch (e) {
			if (e.code !== "EAGAIN")
				throw e;
		}
}

function head(kind, length) {
	const b = Buffer.alloc(9);
	b.write(kind, 0, "latin1");
	b.writeBigUInt64LE(BigInt(length), 1);
	return b;
}

function send(kind, data) {
	write(head(kind, data.length));
	write(data);
}

function send_file(digest, data) {
	write(head("F", 64 + data.length));
	write(Buffer.from(digest, "latin1"));
	write(data);
}

class Failure extends Error {
	constructor(code, message, remedy = "", detail = "") {
		super(message);
		this.doc = { code, message, remedy, detail };
	}
}

function fail(...words) {
	throw new Failure(...words);
}

function read(n) {
	const b = Buffer.alloc(n);
	for (let at = 0; at < n;) {
		const got = fs.readSync(0, b, at, Math.min(n - at, CHUNK), null);
		if (got === 0)
			fail("internal", "the question was cut off");
		at += got;
	}
	return b;
}

function receive(kind) {
	const b = read(9);
	if (b.toString("latin1", 0, 1) !== kind)
		fail("internal", "the question is in disorder");
	return Number(b.readBigUInt64LE(1));
}

// Files of packages, by their SHA-256: in memory, or on the disk where they are many.
class Files {
	constructor() {
		this.all = new Map();
		this.kept = 0;
	}

	put(digest, data) {
		if (this.all.has(digest))
			return;
		this.kept += data.length;
		if (this.kept > KEEP_MAX) {
			fs.writeFileSync(path.join(DIR, digest), data);
			this.kept -= data.length;
			data = null;
		}
		this.all.set(digest, data);
	}

	get(digest) {
		return this.all.get(digest) || fs.readFileSync(path.join(DIR, digest));
	}

	send(packages) {
		for (const digest of new Set(packages.map((p) => p.sha256)))
			send_file(digest, this.get(digest));
	}

	receive(packages) {
		for (const p of packages) {
			const n = receive("F");
			if (read(64).toString("latin1") !== p.sha256)
				fail("internal", "the files are in disorder");
			this.put(p.sha256, read(n - 64));
		}
	}
}

// --- the index -----------------------------------------------------------------------------------

const agents = { "http:": new http.Agent({ keepAlive: true, maxSockets: AT_ONCE }),
	"https:": new https.Agent({ keepAlive: true, maxSockets: AT_ONCE }) };

function registry(index, name) {
	const scope = name.startsWith("@") ? name.split("/")[0] : "";
	return (scope && index.scopes && index.scopes[scope]) || index.url;
}

function host_of(url) {
	try {
		return new URL(url).hostname;
	} catch {
		return String(url).slice(0, 100);
	}
}

function is_of(index, url) {
	return [index.url, ...Object.values(index.scopes || {})].some((u) => new URL(u).host === new URL(url).host);
}

/** One answer, whole: {status, data}. What goes wrong on the way is an Error. */
function get_once(url, accept, max, hops = 0) {
	return new Promise((done, lost) => {
		const u = new URL(url);
		if (!agents[u.protocol])
			return lost(new Failure("denied", `the index sends to ${u.protocol}`, "", "index"));
		const ask = (u.protocol === "https:" ? https : http).get(u, { agent: agents[u.protocol], timeout: HTTP_MS,
			headers: { accept, "accept-encoding": "identity" } }, (answer) => {
			if (answer.statusCode >= 300 && answer.statusCode < 400 && answer.headers.location && hops < 5) {
				answer.resume();
				return done(get_once(new URL(answer.headers.location, url).href, accept, max, hops + 1));
			}
			const parts = [];
			let n = 0;
			answer.on("data", (b) => {
				n += b.length;
				parts.push(b);
				if (n > max)
					ask.destroy(new Failure("limit", `an answer of ${u.hostname} is larger than ${max} bytes`,
						"do not use this package, or look at npm's configuration (registry)", "size"));
			});
			answer.on("error", lost);
			answer.on("aborted", () => lost(new Error("it was cut off")));
			answer.on("end", () => done({ status: answer.statusCode, data: Buffer.concat(parts) }));
		});
		ask.on("timeout", () => ask.destroy(new Error("it does not go on")));
		ask.on("error", lost);
	});
}

async function get(index, url, accept, max) {
	for (let tries = 0; ; tries++)
		try {
			const got = await get_once(url, accept, max);
			if (got.status < 500 || tries)
				return got;
		} catch (e) {
			if (e instanceof Failure)
				throw e;
			if (tries)
				return lost_index(index, url, e.message);
		}
}

function lost_index(index, url, why, name = "") {
	const host = host_of(url);
	if (!is_of(index, url))
		fail("denied", `the index sends to another host, ${host}, which npm's configuration does not name`,
			"name it as the registry of a scope if it belongs to the index", "index");
	return fail("timeout", `${name && name + ": "}the index ${host} does not answer: ${String(why).slice(0, 200)}`,
		"look at npm's configuration (registry), or where there is a network: "
		+ `pinfold deps add --lang node ${name || "NAME"}, then pinfold deps fetch`, "index");
}

/** Calls f for all of them, some at once. */
async function each(list, f) {
	let next = 0;
	const work = async () => {
		while (next < list.length)
			await f(list[next++]);
	};
	await Promise.all(Array.from({ length: AT_ONCE }, work));
}

function document_url(index, name) {
	return new URL(name.replace("/", "%2f"), registry(index, name)).href;
}

async function packument(index, name, accept) {
	const got = await get(index, document_url(index, name), accept, DOC_MAX);
	try {
		return got.status === 200 ? JSON.parse(got.data.toString("utf8")) : {};
	} catch {
		return {};
	}
}

function hash(algorithm, data, as) {
	return crypto.createHash(algorithm).update(data).digest(as);
}

/** Is it what npm's hash says? The strongest of those that are given counts. */
function is_whole(integrity, data) {
	const all = String(integrity || "").split(/\s+/).filter(Boolean).map((w) => w.split("?")[0].split(/-(.*)/s));
	for (const algorithm of ["sha512", "sha384", "sha256", "sha1"]) {
		const given = all.filter((a) => a[0] === algorithm);
		if (given.length)
			return given.some((a) => a[1] === hash(algorithm, data, "base64"));
	}
	return true; // an index that gives none is believed once: the lock has our own from then on
}

/** By npm's rule. */
function usual_place(index, name, version) {
	return new URL(`${name}/-/${name.split("/").pop()}-${version}.tgz`, registry(index, name)).href;
}

/** Where it may be: as the lock says, by npm's rule, as the index says. */
async function download_one(index, p) {
	const home = registry(index, p.name);
	const said = p.url && new URL(p.url, home).href;
	const usual = usual_place(index, p.name, p.version);
	let status = 0;
	for (const url of [said && is_of(index, said) ? said : usual, usual, null]) {
		const at = url || ((await packument(index, p.name, "application/json")).versions?.[p.version]?.dist?.tarball);
		if (!at)
			continue;
		const got = await get(index, new URL(at, home).href, "*/*", FILE_MAX);
		status = got.status;
		if (status !== 200)
			continue;
		p.url = relative(at, home);
		return got.data;
	}
	if (status >= 500)
		lost_index(index, home, status, p.name);
	return fail("missing", `the index has no file of ${p.name} ${p.version} (${status || "nothing"})`,
		"pinfold deps update makes the lock anew", "package");
}

function relative(url, home) {
	const u = new URL(url, home);
	u.username = u.password = "";
	return u.origin === new URL(home).origin ? u.pathname + u.search : u.href;
}

/** Each file goes to `take`, once it is what its hash says. */
async function download(index, packages, take) {
	const first = new Map();
	for (const p of packages)
		first.set(p.name + "@" + p.version, p);
	await each([...first.values()], async (p) => {
		const data = await download_one(index, p), digest = hash("sha256", data, "hex");
		if (!is_whole(p.integrity, data) || (p.sha256 && p.sha256 !== digest))
			fail("conflict", `${p.file} is not what its hash says`,
				"somebody may have changed it; pinfold deps update makes the lock anew", "hash");
		p.sha256 = digest;
		p.integrity = p.integrity || "sha512-" + hash("sha512", data, "base64");
		p.size = data.length;
		take(digest, data);
	});
	for (const p of packages) {
		const { sha256, integrity, size, url } = first.get(p.name + "@" + p.version);
		Object.assign(p, { sha256, integrity, size, url });
	}
}

// --- npm -----------------------------------------------------------------------------------------

function environment(index) {
	const env = { PATH: process.env.PATH, HOME: DIR, LANG: "C.UTF-8" };
	for (const [k, v] of Object.entries(process.env))
		if (/^(NODE_EXTRA_CA_CERTS|SSL_CERT_|HTTPS?_PROXY$|NO_PROXY$|ALL_PROXY$)/i.test(k))
			env[k] = v;
	const settings = { registry: index.url, cache: DIR + "/cache", userconfig: DIR + "/no-user", globalconfig: DIR + "/no-global",
		audit: "false", fund: "false", update_notifier: "false", loglevel: "error", progress: "false",
		fetch_retries: "1", fetch_timeout: String(HTTP_MS), fetch_retry_mintimeout: "100", ignore_scripts: "true",
		omit_lockfile_registry_resolved: "false", replace_registry_host: "never", legacy_peer_deps: "false" };
	for (const [k, v] of Object.entries(settings))
		env["npm_config_" + k] = v;
	return env;
}

function npm(index, words, more = {}) {
	const ran = spawnSync("npm", words, { cwd: DIR, env: { ...environment(index), ...more }, maxBuffer: 16 << 20,
		stdio: ["ignore", "pipe", "pipe"] });
	if (ran.error && ran.error.code === "ENOENT")
		fail("unsupported", "npm is not there", "install the package npm", "npm");
	return { good: ran.status === 0, said: String(ran.stderr || "").slice(-20000) + (ran.error ? String(ran.error.message) : "") };
}

/** The package that a failed question was about, by its URL; "" where none is. */
function package_in(said) {
	const at = /https?:\/\/[^\s/]+\/\S*?((?:@[\w.-]+(?:\/|%2f))?[\w.-]+)(?:[\s:,]|$)/i.exec(said);
	const name = at ? decodeURIComponent(at[1]) : "";
	return NAME.test(name) ? name : "";
}

/** From npm's words to ours. */
function explain(index, said) {
	const code = (/code (E?[A-Z][A-Z_0-9]+)/.exec(said) || [])[1] || "";
	const wanted = (/No (?:matching version found|versions available) for (\S+)/.exec(said) || [])[1];
	const foreign = (said.match(/https?:\/\/[^\s/'"]+/g) || []).find((u) => !is_of(index, u));
	const lines = said.split("\n").map((l) => l.replace(/^npm (error|ERR!)( code)? ?/, "").trim())
		.filter((l) => l && !l.startsWith("A complete log"));
	if (code === "E404") {
		const at = /404\s+(?:The requested resource )?'([^']+)'/.exec(said) || /GET \S+\/([^/\s]+)/.exec(said);
		const name = at ? decodeURIComponent(at[1]).replace(/(.)@.*/, "$1") : "that was asked for";
		fail("missing", `the index has no package ${name}`, "look at the name", "package");
	}
	if (code === "ETARGET" || code === "ENOVERSIONS")
		fail("missing", `no version of ${(wanted || "a package").replace(/\.$/, "")} is in the index`, "ask for another version", "version");
	if (code === "ERESOLVE")
		fail("conflict", `the packages exclude each other: ${lines.slice(1, 6).join("; ").slice(0, 400)}`, "ask for other versions",
			"versions");
	if (code === "EINTEGRITY")
		fail("conflict", "a file of the index is not what its hash says", "somebody may have changed it; "
			+ "pinfold deps update makes the lock anew", "hash");
	if (code === "EBADPLATFORM")
		fail("unsupported", lines.slice(1, 2).join(" ").slice(0, 300), "ask for another package", "platform");
	if (foreign && /^E(401|403)$|ENOTFOUND|ECONN|ETIMEDOUT|EAI_AGAIN/.test(code))
		lost_index(index, foreign, code);
	if (/^E(401|403|NEEDAUTH)$/.test(code))
		fail("denied", `the index refuses: ${lines.slice(1, 2).join(" ").slice(0, 200)}`, "no password of npm's goes into a sandbox", "index");
	if (/ENOTFOUND|ECONN|ETIMEDOUT|EAI_AGAIN|TIMEOUT|EPIPE|FETCH|EPROTO|CERT|E5\d\d|ERR_STREAM|EJSONPARSE|Invalid response/.test(said))
		lost_index(index, index.url, lines.slice(0, 3).join(" "), package_in(said));
	fail("internal", "npm: " + lines.slice(0, 3).join(" ").slice(0, 400));
}

function words_of(asked) {
	const at = asked.indexOf("@", 1);
	return at < 0 ? [asked, "*"] : [asked.slice(0, at), asked.slice(at + 1)];
}

/** A lock of npm's that has what ours has. */
function seed(ask) {
	const packages = {};
	for (const p of ask.locked)
		packages["node_modules/" + p.path] = { ...p.npm, version: p.version, integrity: p.integrity,
			resolved: new URL(p.url, registry(ask.index, p.name)).href };
	return ask.locked.length ? { lockfileVersion: 3, requires: true, packages } : null;
}

function run_npm(ask, before) {
	const own = { name: "asked-for", version: "0.0.0", private: true, dependencies: {}, optionalDependencies: {} };
	const given = ask.given || {}, lock = before ? null : given.lock || seed(ask);
	for (const a of ask.asked) {
		const [name, range] = words_of(a);
		own[(given.optional || []).includes(name) ? "optionalDependencies" : "dependencies"][name] = range;
	}
	if (given.overrides)
		own.overrides = given.overrides;
	fs.writeFileSync(DIR + "/package.json", JSON.stringify(own));
	fs.writeFileSync(DIR + "/.npmrc", Object.entries(ask.index.scopes || {}).map(([s, u]) => `${s}:registry=${u}\n`).join(""));
	fs.rmSync(DIR + "/package-lock.json", { force: true });
	if (lock) {
		if (lock.packages)
			lock.packages[""] = own;
		fs.writeFileSync(DIR + "/package-lock.json", JSON.stringify(lock));
	}
	const ran = npm(ask.index, ["install", "--package-lock-only", ...(before ? ["--before", before] : [])]);
	return ran.good ? JSON.parse(fs.readFileSync(DIR + "/package-lock.json", "utf8")) : explain(ask.index, ran.said);
}

function suits(list, here) {
	if (!list || !here)
		return true;
	const all = [].concat(list);
	return !all.includes("!" + here) && (all.every((w) => w.startsWith("!")) || all.includes(here) || all.includes("any"));
}

function libc() {
	return process.report && process.report.getReport().header.glibcVersionRuntime ? "glibc" : "musl";
}

/** Packages of npm's lock that belong here, as ours has them. */
function packages_of(ask, lock) {
	const found = [], by = new Map(), here = libc(), roots = new Set(ask.asked.map((a) => words_of(a)[0]));
	for (const [at, entry] of Object.entries(lock.packages || {})) {
		if (at === "" || entry.inBundle)
			continue;
		const where = at.replace(/^node_modules\//, ""), short = where.split("node_modules/").pop();
		const name = entry.name || short;
		// A lock that names no places (omit-lockfile-registry-resolved) means the registry's own.
		const resolved = entry.resolved || (entry.version ? usual_place(ask.index, name, entry.version) : "");
		if (entry.link || where === at || !/^https?:/.test(resolved))
			fail("unsupported", `${where} comes from no index`, "name a package of the index instead, or bring it in with --dir");
		if (!suits(entry.os, process.platform) || !suits(entry.cpu, process.arch) || !suits(entry.libc, here)) {
			if (entry.optional || entry.devOptional || entry.peer)
				continue;
			fail("unsupported", `${name} ${entry.version} is not for this platform`, "ask for another package", "platform");
		}
		const { version, resolved: place, integrity, license, engines, funding, dev, deprecated, ...rest } = entry;
		for (const d of Object.keys({ ...rest.dependencies, ...rest.optionalDependencies, ...rest.peerDependencies }))
			by.set(d, (by.get(d) || new Set()).add(name));
		found.push({ name, version, file: `${name.replace(/^@/, "").replace("/", "-")}-${version}.tgz`, path: where, integrity,
			url: relative(resolved, registry(ask.index, name)), requested: roots.has(where),
			license: typeof license === "string" ? license.slice(0, 100) : "", scripts: Boolean(entry.hasInstallScript), npm: rest });
	}
	for (const p of found)
		p.needed_by = [...(by.get(p.path.split("node_modules/").pop()) || [])].sort();
	return found;
}

/** The packages that came to the index within the last hours; where it tells. */
async function find_young(ask, packages) {
	const young = [], latest = Date.now() - ask.age_hours * 3600e3, names = new Map();
	for (const p of packages)
		names.set(p.name, (names.get(p.name) || []).concat(p));
	await each([...names.keys()], async (name) => {
		const short = await packument(ask.index, name, "application/vnd.npm.install-v1+json");
		if (Date.parse(short.modified) < latest)
			return;
		const time = short.time || (await packument(ask.index, name, "application/json")).time || {};
		for (const p of names.get(name)) {
			const then = Date.parse(time[p.version]);
			if (then)
				p.uploaded = new Date(then).toISOString().replace(/\.\d+Z$/, "Z");
			if (then > latest)
				young.push(p);
		}
	});
	return young;
}

function refuse_young(ask, p) {
	const hours = Math.max(0, Math.floor((Date.now() - Date.parse(p.uploaded)) / 3600e3));
	fail("denied", `${p.name} ${p.version} came to the index ${hours} hours ago, less than ${ask.age_hours}`,
		`ask for an older version (${p.name}@<${p.version}), or say that it may be this young: PINFOLD_DEPS_AGE=0, `
			+ "or pinfold deps add --age 0", "age");
}

/** Versions that are too young are passed over for older ones that fit, unless a lock names just these. */
async function resolve_old(ask) {
	const packages = packages_of(ask, run_npm(ask));
	const young = ask.age_hours ? await find_young(ask, packages) : [];
	if (!young.length)
		return packages;
	if (ask.given && ask.given.lock)
		refuse_young(ask, young[0]);
	let older;
	try {
		older = packages_of(ask, run_npm(ask, new Date(Date.now() - ask.age_hours * 3600e3).toISOString()));
	} catch (e) {
		refuse_young(ask, young[0]);
	}
	const still = await find_young(ask, older);
	if (still.length)
		refuse_young(ask, still[0]);
	return older;
}

async function resolve(ask) {
	const packages = await resolve_old(ask);
	const files = new Files();
	await download(ask.index, packages, (digest, data) => files.put(digest, data));
	send("J", Buffer.from(JSON.stringify({ interpreter: "node-" + process.versions.modules,
		platform: process.platform + "-" + process.arch, packages })));
	files.send(packages);
}

async function fetch_files(ask) {
	const built = ask.packages.filter((p) => p.source);
	if (built.length)
		fail("missing", "what install scripts made is not in the cache any more: " + built.map((p) => p.name).join(", ").slice(0, 300),
			"run them again with pinfold deps update --lang node --scripts");
	// Small ones while others are on their way; a large one would keep these waiting beyond their time.
	const files = new Files(), sent = new Set();
	await download(ask.index, ask.packages, (digest, data) => {
		if (data.length > CHUNK)
			return files.put(digest, data);
		if (!sent.has(digest))
			send_file(digest, data);
		sent.add(digest);
	});
	files.send(ask.packages.filter((p) => !sent.has(p.sha256)));
}
