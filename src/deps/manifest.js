// SPDX-License-Identifier: Apache-2.0
/*
 * What a directory of node's says that it needs. Runs inside a sandbox, on files that nobody trusts.
 *
 *	node manifest.js ROOT
 *
 * Prints one JSON document (engine/deps_kind.h): package.json counts, with its lock where there is one; what
 * npm would install is asked for, so also what only development needs. `given` is what the driver is told
 * beside that (of a project with workspaces: in any of them): {"lock": package-lock.json, "optional": ["name"], "overrides": {}}.
 */
"use strict";
const fs = require("fs");
const path = require("path");

const BYTES_MAX = 32 << 20;
const LOCK_BYTES_MAX = 4 << 20;
const MEMBERS_MAX = 200;
// Versions, ranges, tags, and another name for a package; URLs, paths and repositories are not of an index.
const RANGE = /^(npm:(@[\w.-]+\/)?[\w.-]+(@[\w.^~<>=*|+ -]+)?|[\w.^~<>=*|+ -]*)$/;
const NAME = /^(@[A-Za-z0-9][\w.-]*\/)?[A-Za-z0-9_][\w.-]*$/;

function read(file, max) {
	let st;
	try {
		st = fs.lstatSync(file);
	} catch {
		return null;
	}
	return st.isFile() && st.size <= max ? fs.readFileSync(file, "utf8") : null;
}

function object(v, what) {
	if (v === undefined || v === null)
		return {};
	if (typeof v !== "object" || Array.isArray(v))
		throw new Error(what + " is no object");
	return v;
}

function add(doc, list, what) {
	for (const [name, range] of Object.entries(object(list, what))) {
		if (typeof range !== "string" || !NAME.test(name) || !RANGE.test(range))
			doc.left.push((name + "@" + String(range)).slice(0, 200));
		else if (!doc.asked.some((a) => a.startsWith(name + "@")))
			doc.asked.push(name + "@" + (range.trim() || "*"));
	}
}

/** Of a lock: what is in no index. */
function foreign(doc, lock) {
	for (const [at, entry] of Object.entries(object(lock.packages, "packages"))) {
		if (at === "")
			continue;
		const from = String(object(entry, at).resolved || "");
		if (entry.link || !at.startsWith("node_modules/") || (from && !/^https?:/.test(from)))
			doc.left.push(at.slice(0, 200));
	}
}

/** The packages of a project that has several, by directory: "workspaces": ["packages/*"]. */
function members(root, own) {
	const list = Array.isArray(own.workspaces) ? own.workspaces : object(own.workspaces, "workspaces").packages || [];
	const found = new Map();
	for (const pattern of list.filter((p) => typeof p === "string" && !p.startsWith("!") && !p.split("/").includes(".."))) {
		const parts = pattern.split("/").filter((p) => p && p !== "." && p !== "**");
		let places = [root];
		for (const part of parts)
			places = places.flatMap((p) => part.includes("*") ? below(p, part) : [path.join(p, part)]).slice(0, MEMBERS_MAX);
		for (const place of places) {
			const text = read(path.join(place, "package.json"), BYTES_MAX);
			if (text !== null && found.size < MEMBERS_MAX)
				found.set(path.relative(root, place), object(JSON.parse(text), "package.json"));
		}
	}
	return found;
}

function below(dir, part) {
	const pattern = new RegExp("^" + part.split("*").map((p) => p.replace(/[^\w]/g, "\\$&")).join(".*") + "$");
	try {
		return fs.readdirSync(dir, { withFileTypes: true }).filter((d) => d.isDirectory() && pattern.test(d.name) &&
			d.name !== "node_modules" && !d.name.startsWith(".")).map((d) => path.join(dir, d.name)).sort();
	} catch {
		return [];
	}
}

/** A lock without what is a member of the project. */
function without(lock, inner) {
	if (!inner.size)
		return lock;
	for (const [at, entry] of Object.entries(object(lock.packages, "packages")))
		if (inner.has(at) || (entry && entry.link && inner.has(entry.resolved)))
			delete lock.packages[at];
	if (lock.packages)
		delete lock.dependencies; // the same once more, as npm of old has it
	return lock;
}

function manifest(root, doc) {
	const text = read(path.join(root, "package.json"), BYTES_MAX);
	if (text === null)
		return;
	const own = object(JSON.parse(text), "package.json");
	const fields = ["dependencies", "optionalDependencies", "devDependencies", "peerDependencies"];
	const inner = members(root, own), all = [own, ...inner.values()];
	if (!all.some((m) => fields.some((f) => m[f])))
		return;
	doc.file = "package.json";
	// What one of them is, no index is asked for.
	const names = new Set(all.slice(1).map((m) => m.name));
	for (const m of all)
		for (const f of fields)
			add(doc, Object.fromEntries(Object.entries(object(m[f], f)).filter(([n]) => !names.has(n))), f);
	doc.given = { optional: Object.keys(object(own.optionalDependencies)), overrides: object(own.overrides) };
	for (const name of ["npm-shrinkwrap.json", "package-lock.json"]) {
		const locked = read(path.join(root, name), BYTES_MAX);
		if (locked === null)
			continue;
		doc.file = name;
		doc.locked = true;
		doc.given.lock = without(object(JSON.parse(locked), name), inner);
		foreign(doc, doc.given.lock);
		break;
	}
}

function main() {
	const root = process.argv[2];
	const doc = { lock: read(path.join(root, "pinfold.lock"), LOCK_BYTES_MAX), file: null, asked: [], left: [], why: null,
		given: null, interpreter: "node-" + process.versions.modules,
		platform: process.platform + "-" + process.arch };
	try {
		manifest(root, doc);
	} catch (e) {
		doc.file = doc.file || "package.json";
		doc.why = String(e.message).slice(0, 200);
	}
	doc.left = doc.left.slice(0, 100);
	console.log(JSON.stringify(doc));
}

main();
