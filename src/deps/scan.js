// SPDX-License-Identifier: Apache-2.0
/*
 * Which packages do node's programs import? Runs inside a sandbox, on files that nobody trusts.
 *
 *	node scan.js ROOT [FILE ...]
 *	node scan.js ROOT --text NAME [--all | [--maybe] FILE ...]
 *
 * Prints what scan.py prints, with "language": "node"; names are those of packages (@scope/name).
 * Nothing of the files is executed: a lexer of our own knows comments, strings, templates and regular
 * expressions, so that only real imports count:
 *
 *	import … from "x"	import "x"	import("x")	export … from "x"
 *	require("x")		require.resolve("x")		import x = require("x")
 *
 * `import type` is left out. What stands in a try block is optional, unless the catch block only says what is wrong and
 * ends, requires the same again, or reports errors of work that the try block does with it. Of packages that stand in
 * for each other in the two the first is needed, where none is there.
 */
"use strict";
const fs = require("fs");
const path = require("path");
const { builtinModules, globalPaths } = require("module");

const SKIP = new Set(["node_modules", "bower_components", ".git", "dist", "build", "out", "coverage", ".next", ".nuxt"]);
const ENDINGS = [".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx"];
const FILES_MAX = 20000;
const CONFIGURATIONS_MAX = 500;
const BYTES_MAX = 4 << 20;
const TEXTS = new Map(); // programs that are no files, by their path

// What the program has that this one is made for; an index has something else of that name. And what has types alone.
const HOSTED = new Set(["vscode", "atom", "bun", "k6", "obsidian", "photoshop", "uxp", "sketch"]);
const TYPES = new Set(["aws-lambda", "estree"]);

// After these a slash begins a regular expression; after anything else that ends a value, it divides.
const BEFORE_REGEX = new Set(["return", "typeof", "case", "in", "of", "delete", "void", "throw", "new", "do", "else",
	"instanceof", "yield", "await"]);

/** Tokens {kind, text, line}: id, string (text: its value), punct, template, regex. */
function* tokens(s) {
	let i = 0, line = 1, last = null;
	const braces = []; // of template substitutions: how deep the braces were
	let depth = 0;
	const emit = (kind, text) => (last = { kind, text, line });
	if (s.startsWith("#!"))
		while (i < s.length && s[i] !== "\n")
			i++;
	while (i < s.length) {
		const c = s[i];
		if (c === "\n") {
			line++;
			i++;
		} else if (c === " " || c === "\t" || c === "\r") {
			i++;
		} else if (c === "/" && s[i + 1] === "/") {
			while (i < s.length && s[i] !== "\n")
				i++;
		} else if (c === "/" && s[i + 1] === "*") {
			const end = s.indexOf("*/", i + 2);
			const stop = end < 0 ? s.length : end + 2;
			for (; i < stop; i++)
				line += s[i] === "\n";
		} else if (c === '"' || c === "'") {
			const got = string(s, i);
			if (got) {
				yield emit("string", got.text);
				i = got.end;
			} else {
				i++; // an apostrophe in the text of JSX
			}
		} else if (c === "`" || (c === "}" && braces.length && braces[braces.length - 1] === depth)) {
			if (c === "}")
				braces.pop();
			const got = template(s, i + 1);
			line += got.lines;
			i = got.end;
			if (got.open)
				braces.push(depth);
			yield emit(got.open || c === "}" ? "template" : "string", got.text);
		} else if (/[A-Za-z_$\u0080-\uffff]/.test(c)) {
			const start = i;
			while (i < s.length && /[\w$\u0080-\uffff]/.test(s[i]))
				i++;
			yield emit("id", s.slice(start, i));
		} else if (/[0-9]/.test(c)) {
			while (i < s.length && /[\w.]/.test(s[i]))
				i++;
			yield emit("number", "");
		} else if (c === "/" && begins_regex(last)) {
			const end = regex(s, i);
			yield emit(end ? "regex" : "punct", "/");
			i = end || i + 1;
		} else {
			depth += c === "{" ? 1 : c === "}" ? -1 : 0;
			yield emit("punct", c);
			i++;
		}
	}
}

function begins_regex(last) {
	if (!last)
		return true;
	if (last.kind === "id")
		return BEFORE_REGEX.has(last.text);
	return last.kind === "punct" && !")]}".includes(last.text);
}

function string(s, i) {
	const quote = s[i];
	let text = "";
	for (i++; i < s.length && s[i] !== "\n"; i++) {
		if (s[i] === quote)
			return { text, end: i + 1 };
		if (s[i] === "\\")
			i++;
		text += s[i];
	}
	return null;
}

function template(s, i) {
	let text = "", lines = 0;
	for (; i < s.length; i++) {
		if (s[i] === "`")
			return { text, lines, end: i + 1, open: false };
		if (s[i] === "$" && s[i + 1] === "{")
			return { text, lines, end: i + 2, open: true };
		if (s[i] === "\\")
			i++;
		lines += s[i] === "\n";
		text += s[i];
	}
	return { text, lines, end: i, open: false };
}

function regex(s, i) {
	let inside = false;
	for (i++; i < s.length && s[i] !== "\n"; i++) {
		if (s[i] === "\\")
			i++;
		else if (s[i] === "[")
			inside = true;
		else if (s[i] === "]")
			inside = false;
		else if (s[i] === "/" && !inside) {
			for (i++; i < s.length && /[a-z]/.test(s[i]); i++)
				;
			return i;
		}
	}
	return 0;
}

/** Where the brace is closed that opens at i. */
function closing(all, i) {
	let depth = 0;
	for (; i < all.length; i++) {
		if (all[i].kind !== "punct")
			continue;
		depth += all[i].text === "{" ? 1 : all[i].text === "}" ? -1 : 0;
		if (depth === 0)
			return i;
	}
	return all.length;
}

/** {from, to} of the block behind `catch` or `catch (e)`, or null. */
function handler(all, i, is) {
	if (!is(i, "id", "catch"))
		return null;
	while (i < all.length && !is(i, "punct", "{"))
		i++;
	return { from: i, to: closing(all, i) };
}

/** The end of the statement behind the condition that begins at i. */
function branch(all, i, to, is) {
	let depth = 0;
	for (; i < to; i++) {
		depth += is(i, "punct", "(") ? 1 : is(i, "punct", ")") ? -1 : 0;
		if (depth === 0)
			break;
	}
	if (is(i + 1, "punct", "{"))
		return closing(all, i + 1);
	while (i < to && !is(i, "punct", ";"))
		i++;
	return i;
}

/** Throws, or ends the program, whatever happened: behind no brace of its own. */
function gives_up(all, h, is) {
	for (let i = h.from + 1; i < h.to; i++) {
		if (is(i, "id", "if")) // if (e.code !== "MODULE_NOT_FOUND") throw e;
			i = branch(all, i + 1, h.to, is);
		else if (is(i, "punct", "{"))
			i = closing(all, i);
		else if (is(i, "id", "throw") || (is(i, "id", "process") && is(i + 2, "id", "exit")))
			return true;
	}
	return false;
}

/** Does the block call something, beside what is called of a package at once: require("x").config()? */
function works(all, from, to, is) {
	for (let i = from; i < to; i++)
		if (all[i].kind === "id" && is(i + 1, "punct", "(") && !["require", "import", "resolve"].includes(all[i].text) &&
		    !(is(i - 1, "punct", ".") && is(i - 2, "punct", ")")))
			return true;
	return false;
}

/** catch (e) { console.error(e); }: what the program does without is nothing. */
function only_reports(all, h, is) {
	if (!is(h.from + 1, "id", "console"))
		return false;
	for (let i = h.from + 1; i < h.to; i++)
		if (is(i, "id", "return") || is(i, "id", "require") || is(i, "id", "import") ||
		    (is(i, "punct", "=") && !is(i - 1, "id", "exitCode")))
			return false;
	return true;
}

/** The names that stand between two places in require("x") and import("x"). */
function names_in(all, from, to, is) {
	const names = [];
	for (let i = from; i < to; i++)
		if ((is(i, "id", "require") || is(i, "id", "import")) && is(i + 1, "punct", "(") && is(i + 2, "string"))
			names.push(all[i + 2].text);
	return names;
}

/** What a try at i means for what it imports: soft, {from, to} of its handler, and of which packages one is needed. */
function attempt(all, i, is) {
	const end = closing(all, i), h = handler(all, end + 1, is);
	if (!h)
		return { soft: false, caught: null, ways: null };
	const first = names_in(all, i, end, is), other = names_in(all, h.from, h.to, is);
	const needed = gives_up(all, h, is) || first.some((n) => other.includes(n)) ||
		(works(all, i, end, is) && only_reports(all, h, is));
	return { soft: !needed, caught: h, ways: !needed && first.length && other.length ? [first, other] : null };
}

/** {found: [{name, line, optional}], choices: [[names, names]]} of one text. */
function imports_of(text) {
	const all = [...tokens(text)];
	const found = [], choices = [], blocks = []; // blocks: is what stands in this brace optional?
	const caught = new Set(); // where handlers begin
	const is = (i, kind, t) => all[i] && all[i].kind === kind && (t === undefined || all[i].text === t);
	const soft = () => blocks.some((b) => b);
	const add = (i, required, optional) =>
		found.push({ name: all[i].text, line: all[i].line, optional: soft() || optional, required });
	for (let i = 0; i < all.length; i++) {
		const t = all[i];
		if (t.kind === "punct" && t.text === "{") {
			const tried = is(i - 1, "id", "try") ? attempt(all, i, is) : null;
			if (tried && tried.ways && !soft())
				choices.push(tried.ways);
			if (tried && tried.caught)
				caught.add(tried.caught.from);
			blocks.push(tried ? tried.soft : caught.has(i));
		} else if (t.kind === "punct" && t.text === "}") {
			blocks.pop();
		}
		if (t.kind !== "id" || is(i - 1, "punct", "."))
			continue;
		if (t.text === "require") {
			let at = i + 1;
			if (is(at, "punct", ".") && is(at + 1, "id", "resolve"))
				at += 2;
			if (is(at, "punct", "(") && is(at + 1, "string") && (is(at + 2, "punct", ")") || is(at + 2, "punct", ",")))
				add(at + 1, true, false);
		} else if ((t.text === "import" || t.text === "export") &&
			   (!is(i - 1, "punct", ">") || is(i + 1, "punct", "("))) { // <b>import x from 'y'</b> is text
			const at = clause(all, i, is);
			if (at)
				add(at, false, is(at + 1, "punct", ")") && is(at + 2, "punct", ".") && is(at + 3, "id", "catch"));
		}
	}
	return { found, choices };
}

/** import("x").Y and typeof import("x") are types; what a promise has is not. */
function is_type(all, i, is) {
	return is(i - 1, "id", "typeof") ||
		(is(i + 3, "punct", ")") && is(i + 4, "punct", ".") && is(i + 5, "id") &&
		 !["then", "catch", "finally"].includes(all[i + 5].text));
}

/** Where the name stands of the import or export that begins at i; 0: it imports nothing. */
function clause(all, i, is) {
	if (all[i].text === "import") {
		if (is(i + 1, "string"))
			return i + 1;
		if (is(i + 1, "punct", "("))
			return is(i + 2, "string") && !is_type(all, i, is) ? i + 2 : 0;
		if (is(i + 1, "punct", "."))
			return 0; // import.meta
	}
	// `import type X from`, but not `import type from`
	if (is(i + 1, "id", "type") && !is(i + 2, "id", "from") && !is(i + 2, "punct", ","))
		return 0;
	for (let k = i + 1; k < all.length && k < i + 2000; k++) {
		if (is(k, "id", "from") && is(k + 1, "string"))
			return k + 1;
		const t = all[k];
		if (t.kind === "punct" ? !"{},*".includes(t.text) : t.kind !== "id" && t.kind !== "string")
			return 0;
		if (t.kind === "id" && ["const", "let", "var", "function", "class", "default", "async"].includes(t.text) &&
		    all[i].text === "export" && k === i + 1)
			return 0;
	}
	return 0;
}

function package_of(name) {
	const words = name.split("/");
	return name.startsWith("@") ? words.slice(0, 2).join("/") : words[0];
}

function is_local(name) {
	return name === "" || /^[./#~$]/.test(name) || name.startsWith("@/") || /^[a-z]+:/.test(name) || /[\s\\]/.test(name);
}

const programs = (root) => files_below(root, (name) => ENDINGS.includes(path.extname(name)), FILES_MAX);
const configurations = (root) => files_below(root, (name) => /^(package|[tj]sconfig(\.\w+)?)\.json$/.test(name),
	CONFIGURATIONS_MAX);

function* files_below(root, wanted, max) {
	const todo = [root];
	let n = 0;
	while (todo.length) {
		const here = todo.pop();
		let list;
		try {
			list = fs.readdirSync(here, { withFileTypes: true });
		} catch {
			continue;
		}
		list.sort((a, b) => (a.name < b.name ? 1 : -1));
		for (const d of list)
			if (d.isDirectory() && !SKIP.has(d.name) && !d.name.startsWith("."))
				todo.push(path.join(here, d.name));
		for (const d of list.reverse())
			if (d.isFile() && wanted(d.name) && n++ < max)
				yield path.join(here, d.name);
	}
}

/** A configuration of TypeScript's, which may have comments and commas that JSON has not. */
function loose_json(text) {
	return JSON.parse(text.replace(/("(?:[^"\\]|\\.)*")|\/\/[^\n]*|\/\*[^]*?\*\//g, (all, string) => string || "")
		.replace(/("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])/g, (all, string) => string || ""));
}

/** Whose names are the project's own, [{here, matches(name)}]: packages of its workspaces, aliases of its compiler. */
function own_names(root) {
	const own = [];
	for (const file of configurations(root))
		try {
			const here = path.dirname(file), text = loose_json(read(file));
			if (path.basename(file) === "package.json" && typeof text.name === "string") {
				own.push({ here, not_below: !text.exports, matches: (n) => n === text.name || n.startsWith(text.name + "/") });
				continue;
			}
			const o = text.compilerOptions || {}, base = typeof o.baseUrl === "string" ? path.join(here, o.baseUrl) : null;
			for (const alias of Object.keys(o.paths || {})) {
				const [head, tail] = alias.split("*");
				if (alias !== "*")
					own.push({ here, below: true, matches: (n) => tail === undefined ? n === alias : n.startsWith(head) });
			}
			if (base && (base + path.sep).startsWith(root + path.sep))
				own.push({ here, below: true, matches: (n) => !n.startsWith("@") && local_file(path.join(base, "x"), "./" + n) });
		} catch {
			/* what nobody can read says nothing */
		}
	return own;
}

function is_own(own, file, name) {
	return own.some((o) => {
		const below = file.startsWith(o.here + path.sep);
		return !(o.below && !below) && !(o.not_below && below) && o.matches(name);
	});
}

function local_file(from, name) {
	const base = path.resolve(path.dirname(from), name);
	const bare = base.replace(/\.(m|c)?jsx?$/, "");
	for (const b of [base, bare])
		for (const e of ["", ...ENDINGS, ...ENDINGS.map((x) => path.sep + "index" + x)])
			try {
				if (fs.lstatSync(b + e).isFile())
					return b + e;
			} catch {
				/* not that one */
			}
	return null;
}

function read(file) {
	if (TEXTS.has(file))
		return TEXTS.get(file);
	const st = fs.statSync(file);
	if (!st.isFile())
		throw new Error("not a file");
	if (st.size > BYTES_MAX)
		throw new Error("larger than " + BYTES_MAX + " bytes");
	return fs.readFileSync(file, "utf8");
}

/** The version of a package that is there already, or null. */
function there(root, { file, name, required }) {
	const places = [];
	for (let d = path.dirname(path.join(root, file)); d.startsWith(root); d = path.dirname(d)) {
		places.push(path.join(d, "node_modules"));
		if (d === path.dirname(d))
			break;
	}
	// Where require() looks, and import does not.
	for (const p of [...places, ...(required ? globalPaths : [])])
		try {
			return String(JSON.parse(read(path.join(p, name, "package.json"))).version || "");
		} catch {
			/* not there */
		}
	return null;
}

function scan(root, files) {
	const names = new Map(), unread = [], todo = files.length ? [...files] : [...programs(root)];
	let own = null;
	const seen = new Set(todo), builtin = new Set(builtinModules), choices = [];
	const settled = (n) => is_local(n) || builtin.has(n) || builtin.has(package_of(n));
	for (let i = 0; i < todo.length; i++) {
		const file = path.relative(root, todo[i]);
		let found;
		try {
			found = imports_of(read(todo[i]));
		} catch (e) {
			unread.push({ file, line: 0, why: String(e.message).slice(0, 200) });
			continue;
		}
		choices.push(...found.choices.filter((ways) => !ways.some((w) => w.every(settled))));
		for (const f of found.found) {
			if (is_local(f.name)) {
				const next = files.length && /^[./]/.test(f.name) ? local_file(todo[i], f.name) : null;
				if (next && next.startsWith(root + path.sep) && !seen.has(next) && seen.size < FILES_MAX) {
					seen.add(next);
					todo.push(next);
				}
				continue;
			}
			const name = package_of(f.name);
			if (builtin.has(name) || builtin.has(f.name) || HOSTED.has(name) || (TYPES.has(name) && /\.[mc]?tsx?$/.test(file)))
				continue;
			// src/thing: of the project itself, by an alias of its compiler.
			if (!name.startsWith("@") && f.name.includes("/") && local_file(path.join(root, "x"), "./" + f.name))
				continue;
			own = own || own_names(root);
			if (is_own(own, todo[i], f.name))
				continue;
			const old = names.get(name);
			if (!old || (old.optional && !f.optional))
				names.set(name, { name, file, line: f.line, optional: f.optional, required: f.required });
			else
				old.required = old.required && f.required;
		}
	}
	for (const n of names.values())
		n.there = there(root, n);
	for (const ways of choices.map((c) => c.map((w) => w.map((n) => names.get(package_of(n))).filter(Boolean))))
		for (const n of ways.find((w) => w.every((x) => x.there !== null)) || ways[0])
			n.optional = false;
	return { language: "node", version: process.versions.node, files: todo.length, imports: [...names.values()],
		unread: unread.slice(0, 100) };
}

const root = path.resolve(process.argv[2]);
let words = process.argv.slice(3);
if (words[0] === "--text") {
	TEXTS.set(path.join(root, words[1]), fs.readFileSync(0, "utf8").slice(0, BYTES_MAX));
	words = words.slice(2);
}
const maybe = words[0] === "--maybe", all = words[0] === "--all";
const named = maybe ? words.slice(1).map((f) => local_file(path.join(root, "x"), "./" + f)).filter(Boolean)
	: all ? [] : words.map((f) => path.join(root, f));
const every = TEXTS.size && (all || (maybe && !named.length)) ? programs(root) : [];
const files = [...TEXTS.keys(), ...named, ...every];
console.log(JSON.stringify(scan(root, files)));
