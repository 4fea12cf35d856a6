// SPDX-License-Identifier: Apache-2.0
/*
 * The second half of the driver of node's packages (node.js): from archives of packages to an archive of
 * all of them, as a layer has them; and install scripts, between two sandboxes that run none.
 */

// --- archives ------------------------------------------------------------------------------------

function text_of(block, at, n) {
	const end = block.indexOf(0, at);
	return block.toString("utf8", at, end < 0 || end > at + n ? at + n : end);
}

function number_of(block, at, n) {
	if (block[at] & 0x80) // larger than octal digits can say
		return Number(block.readBigUInt64BE(at + n - 8));
	return parseInt(text_of(block, at, n).trim() || "0", 8);
}

function sum_of(block) {
	let sum = 0;
	for (let i = 0; i < 512; i++)
		sum += i >= 148 && i < 156 ? 32 : block[i];
	return sum;
}

/** "12 path=x\n" */
function pax_path(data) {
	const text = data.toString("utf8"), m = /(?:^|\n)\d+ path=([^\n]*)\n/.exec(text);
	return m ? m[1] : null;
}

/** {name, type, mode, data} of a tar archive, as they come. */
function* entries(tar, file) {
	let long = null;
	for (let at = 0; at + 512 <= tar.length && tar[at] !== 0;) {
		const block = tar.subarray(at, at + 512), size = number_of(block, 124, 12);
		if (number_of(block, 148, 8) !== sum_of(block) || !(size >= 0) || at + 512 + size > tar.length)
			fail("conflict", `${file} is no archive of a package`, "do not use this package", "tarball");
		const type = String.fromCharCode(block[156] || 48), data = tar.subarray(at + 512, at + 512 + size);
		const prefix = block.toString("latin1", 257, 262) === "ustar" && block[263] === 48 ? text_of(block, 345, 155) : "";
		at += 512 + Math.ceil(size / 512) * 512;
		if (type === "x") {
			long = pax_path(data) || long;
		} else if (type === "L") {
			long = text_of(data, 0, data.length);
		} else if (type !== "g" && type !== "K") {
			const name = long || (prefix ? prefix + "/" : "") + text_of(block, 0, 100);
			long = null;
			yield { name, type, mode: number_of(block, 100, 8), data };
		}
	}
}

/** Files of a package, by their names in it. Links are left out, as npm does it. */
function unpack(p, data) {
	const files = new Map(), dirs = new Set();
	let tar;
	try {
		tar = zlib.gunzipSync(data, { maxOutputLength: UNPACKED_MAX });
	} catch (e) {
		if (e.code === "ERR_BUFFER_TOO_LARGE")
			fail("limit", `${p.file} is too large when it is unpacked`, "do not use this package", "size");
		fail("conflict", `${p.file} is no archive of a package: ${e.message}`, "do not use this package", "tarball");
	}
	for (const e of entries(tar, p.file)) {
		const words = e.name.split("/").filter((w) => w !== "" && w !== ".");
		if (e.name.startsWith("/") || words.includes("..") || e.name.includes("\0"))
			fail("denied", `${p.file} has a file whose name leads out of its place: ${e.name.slice(0, 100)}`,
				"do not use this package", "tarball");
		if (!"07".includes(e.type) || words.length < 2)
			continue;
		for (let i = 2; i < words.length; i++)
			dirs.add(words.slice(1, i).join("/"));
		files.set(words.slice(1).join("/"), { data: e.data, mode: e.mode & 0o100 ? 0o755 : 0o644 });
	}
	for (const name of files.keys())
		if (dirs.has(name))
			fail("conflict", `${p.file} has ${name.slice(0, 100)} as a file and as a directory`, "do not use this package", "tarball");
	check_manifest(p, files);
	return files;
}

/** What the index says of a package and what is in it may differ: another attack. */
function check_manifest(p, files) {
	let own = {};
	try {
		own = JSON.parse(files.get("package.json").data.toString("utf8").replace(/^\ufeff/, ""));
	} catch {
		fail("conflict", `${p.file} has no package.json that can be read`, "do not use this package", "tarball");
	}
	const version = String(own.version).replace(/^[v=\s]+/, "").replace(/\+.*/, "");
	if (own.name !== p.name || version !== p.version.replace(/\+.*/, ""))
		fail("conflict", `${p.file} says that it is ${String(own.name).slice(0, 60)} ${String(own.version).slice(0, 30)}`,
			"do not use this package", "tarball");
	p.bin = commands(own, files);
}

/** Its commands, by name: the file that is executed. */
function commands(own, files) {
	const found = {}, given = typeof own.bin === "string" ? { [String(own.name).split("/").pop()]: own.bin } : own.bin;
	for (const [name, to] of Object.entries(given && typeof given === "object" ? given : {})) {
		const file = typeof to === "string" ? path.posix.normalize(to).replace(/^\/+/, "") : "";
		const short = name.split("/").pop();
		if (!files.has(file) || !/^[A-Za-z0-9][\w.-]*$/.test(short))
			continue;
		files.get(file).mode = 0o755;
		found[short] = file;
	}
	return found;
}

// --- an archive of our own -----------------------------------------------------------------------

class Tar {
	constructor(out) {
		this.out = out;
		this.parts = [];
		this.n = 0;
		this.dirs = new Set();
		this.names = new Set();
	}

	push(data) {
		this.parts.push(data);
		this.n += data.length;
		if (this.n >= CHUNK)
			this.flush();
	}

	flush() {
		if (this.n)
			this.out(Buffer.concat(this.parts));
		this.parts = [];
		this.n = 0;
	}

	head(name, type, mode, size, link) {
		const b = Buffer.alloc(512);
		b.write(name, 0, 100, "utf8");
		b.write(mode.toString(8).padStart(7, "0"), 100);
		b.write("0000000", 108);
		b.write("0000000", 116);
		b.write(size.toString(8).padStart(11, "0"), 124);
		b.write(MTIME.toString(8).padStart(11, "0"), 136);
		b.write(type, 156);
		b.write(link || "", 157, 100, "utf8");
		b.write("ustar\x0000", 257, "latin1");
		b.write(sum_of(b).toString(8).padStart(6, "0") + "\0 ", 148);
		this.push(b);
	}

	body(data) {
		this.push(data);
		if (data.length % 512)
			this.push(Buffer.alloc(512 - (data.length % 512)));
	}

	add(name, type, mode, data, link) {
		const bytes = Buffer.byteLength(name);
		if (bytes > 100) {
			let n = bytes + 8;
			while (String(n).length + bytes + 7 !== n)
				n = String(n).length + bytes + 7;
			const record = Buffer.from(`${n} path=${name}\n`);
			this.head("pax", "x", 0o644, record.length);
			this.body(record);
		}
		this.head(name, type, mode, data ? data.length : 0, link);
		if (data)
			this.body(data);
	}

	/** With the directories above it. The first of a name counts. */
	put(name, type, mode, data, link) {
		if (this.names.has(name))
			return;
		this.names.add(name);
		const words = name.split("/");
		for (let i = 1; i < words.length; i++) {
			const dir = words.slice(0, i).join("/");
			if (!this.dirs.has(dir))
				this.add(dir + "/", "5", 0o755, null);
			this.dirs.add(dir);
		}
		this.add(name, type, mode, data, link);
	}

	end() {
		this.push(Buffer.alloc(1024));
		this.flush();
	}
}

/** A command of the host's is never hidden by one of a package's. */
function is_free(name) {
	return !["/usr/local/bin", "/usr/bin", "/usr/sbin", "/usr/local/sbin"].some((d) => fs.existsSync(path.join(d, name)));
}

function place_of(p) {
	const where = p.path || p.name;
	if (where.split(/(?:^|\/)node_modules\//).some((w) => !NAME.test(w)) || where.includes(".."))
		fail("invalid", `${where.slice(0, 100)} is no place of a package`, "", "lock");
	return where;
}

function install(ask) {
	const files = new Files(), tar = new Tar((data) => send("T", data));
	files.receive(ask.packages);
	// What resolves a package reads this of it.
	const modules = ask.packages.map((p) => [`${MODULES}/${place_of(p)}/package.json`]);
	send("J", Buffer.from(JSON.stringify({ modules })));
	for (const p of ask.packages) {
		const where = place_of(p), above = MODULES + "/" + where.slice(0, where.lastIndexOf(where.split("node_modules/").pop()));
		const all = unpack(p, files.get(p.sha256)), short = where.split("node_modules/").pop();
		for (const [name, f] of all)
			tar.put(`${MODULES}/${where}/${name}`, "0", f.mode, f.data);
		for (const [name, to] of Object.entries(p.bin)) {
			tar.put(`${above}.bin/${name}`, "2", 0o777, null, `../${short}/${to}`);
			if (p.requested && where === short && is_free(name))
				tar.put(`local/bin/${name}`, "2", 0o777, null, `../lib/pinfold/node_modules/${short}/${to}`);
		}
	}
	tar.end();
}

// --- install scripts -----------------------------------------------------------------------------

/** What is below a directory, but for other packages, commands and whatever is no file. */
function* made(top, dir, others) {
	for (const d of fs.readdirSync(path.join(top, dir), { withFileTypes: true })) {
		const name = path.posix.join(dir, d.name);
		if (d.isFile())
			yield name;
		else if (d.isDirectory() && d.name !== ".bin" && !others.has(name))
			yield* made(top, name, others);
	}
}

/** The package as its scripts left it. */
function pack(p, others) {
	const top = path.join(DIR, "node_modules", p.path), parts = [], tar = new Tar((data) => parts.push(data));
	const below = new Set([...others].filter((o) => o.startsWith(p.path + "/")).map((o) => o.slice(p.path.length + 1)));
	let n = 0;
	for (const name of [...made(top, "", below)].sort()) {
		const st = fs.lstatSync(path.join(top, name));
		n += st.size;
		if (n > UNPACKED_MAX)
			fail("limit", `the install scripts of ${p.name} make too much`, "do without the scripts", "size");
		tar.put("package/" + name, "0", st.mode & 0o100 ? 0o755 : 0o644, fs.readFileSync(path.join(top, name)));
	}
	tar.end();
	return zlib.gzipSync(Buffer.concat(parts));
}

function build(ask) {
	const files = new Files(), others = new Set(ask.packages.map((p) => p.path));
	files.receive(ask.packages);
	fs.writeFileSync(DIR + "/package.json", JSON.stringify({ name: "asked-for", version: "0.0.0", private: true }));
	for (const p of ask.packages)
		for (const [name, f] of unpack(p, files.get(p.sha256))) {
			const to = path.join(DIR, "node_modules", place_of(p), name);
			fs.mkdirSync(path.dirname(to), { recursive: true });
			fs.writeFileSync(to, f.data, { mode: f.mode });
		}
	const ran = npm(ask.index, ["rebuild", "--foreground-scripts"], { npm_config_ignore_scripts: "false" });
	if (!ran.good)
		fail("conflict", "an install script failed: " + ran.said.replace(/\s+/g, " ").slice(-400),
			"do without the scripts, or ask for another version", "build");
	const built = [];
	for (const p of ask.packages.filter((q) => q.scripts)) {
		const data = pack(p, others), sha256 = hash("sha256", data, "hex");
		files.put(sha256, data);
		built.push({ path: p.path, file: p.file.replace(/\.tgz$/, "-built.tgz"), sha256, size: data.length });
	}
	send("J", Buffer.from(JSON.stringify({ built })));
	files.send(built);
}

async function main() {
	try {
		fs.mkdirSync(DIR);
		const ask = JSON.parse(read(receive("J")).toString("utf8"));
		await { resolve, fetch: fetch_files, build, install }[ask.mode](ask);
		send("D", Buffer.alloc(0));
	} catch (e) {
		const doc = e instanceof Failure ? e.doc : { code: "internal", message: String(e.stack || e).slice(0, 500) };
		send("E", Buffer.from(JSON.stringify(doc)));
	}
	process.exit(0);
}

main();
