// SPDX-License-Identifier: Apache-2.0
// A node that stays in a sandbox and executes one piece of code after the other. It is executed with
// -e; descriptor 200 is the host side's, in frames (wire/frame.h); loading descriptor 101 (loader.c)
// sees to it that no program started from here has it.
//
// Code goes through the engine's own interactive mode (the inspector's Runtime.evaluate): names stay,
// may be declared again, and `await` stands anywhere. That is started from a script which SIGINT
// breaks, so that a loop without end is interrupted, too.
(() => {
	const fs = require('fs'), net = require('net'), util = require('util'), vm = require('vm');
	const { Session } = require('inspector');
	const SOCK = 200, FRAME_MAX = 16 << 20, ALL_MAX = 60 << 20;
	const TEXTS = new Set(['text/plain', 'text/html', 'text/markdown', 'image/svg+xml', 'text/latex',
		'application/javascript']);
	const BYTES = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'application/pdf']);
	const isJson = (mime) => /^application\/(?:json|[\w.+-]{1,80}\+json)$/.test(mime);
	const isKnown = (mime) => TEXTS.has(mime) || BYTES.has(mime) || isJson(mime);
	const DISPLAY = Symbol.for('Jupyter.display');
	const engine = new Session(), nap = new Int32Array(new SharedArrayBuffer(4));
	const write = fs.writeSync, wait = Atomics.wait;
	// Programs change what they find.
	const { stringify, parse } = JSON, { inspect } = util, { entries, fromEntries, defineProperty } = Object;
	const { from: bufferFrom, concat, alloc, byteLength } = Buffer;
	let count = 0, sent = 0, busy = 0; // busy: number of the code that runs, 0: none
	const queue = [];

	try {
		process.dlopen({ exports: {} }, '/proc/self/fd/101');
	} catch {
		// It is no module, and has done its work.
	}

	// The socket does not block, for its reader's sake.
	function send(kind, payload) {
		const body = bufferFrom(payload);
		const head = bufferFrom(kind + body.length.toString(16).padStart(8, '0'));
		const data = concat([head, body]);

		for (let at = 0; at < data.length;)
			try {
				at += write(SOCK, data, at);
			} catch (error) {
				if (error.code !== 'EAGAIN')
					process.reallyExit(1);
				wait(nap, 0, 0, 2);
			}
	}

	function sendResult(kind, bundle) {
		let payload = stringify(bundle);

		if (payload.length > FRAME_MAX / 3 && byteLength(payload) > FRAME_MAX)
			payload = stringify({ 'text/plain': String(bundle['text/plain'] ?? '').slice(0, 1 << 20) +
				'\n[result left out: it is too large]' });
		if (sent + payload.length > ALL_MAX) {
			process.stderr.write('pinfold: results of more than 60 MiB are left out\n');
			return;
		}
		sent += payload.length;
		send(kind, payload);
	}

	const bytes = (data) => data instanceof Uint8Array ? bufferFrom(data.buffer, data.byteOffset, data.byteLength) : null;

	function encode(mime, data) {
		if (!isKnown(mime))
			throw new TypeError('display: unknown MIME type ' + mime);
		if (isJson(mime))
			return parse(stringify(data));
		if (BYTES.has(mime))
			return bytes(data)?.toString('base64') ?? String(data);
		return (bytes(data)?.toString() ?? String(data)).toWellFormed?.() ?? String(data);
	}

	// In the stack of an error that is a value, or in one.
	const OWN_FRAMES = /\n *at [^\n]*\(node:inspector:[^\n]*?(?:\n *at [^\n]*?)*( \{|)(?=\n *(?!at )\S|$)/g;

	// What a value says of itself, by type.
	function bundleOf(value) {
		const bundle = {}, data = bytes(value);

		try {
			if (value !== null && typeof value === 'object' && typeof value[DISPLAY] === 'function')
				for (const [mime, part] of entries(value[DISPLAY]()))
					if (isKnown(mime))
						bundle[mime] = encode(mime, part);
		} catch {
			// Then it says nothing.
		}
		if (data?.length > 8 && data.readUInt32BE(0) === 0x89504e47)
			bundle['image/png'] = data.toString('base64');
		else if (data?.length > 8 && data.readUInt16BE(0) === 0xffd8)
			bundle['image/jpeg'] = data.toString('base64');
		bundle['text/plain'] ??= encode('text/plain', inspect(value).replace(OWN_FRAMES, '$1'));
		return bundle;
	}

	// display(value), display(data, 'text/html'), display({ 'text/html': data }, true)
	function display(value, how) {
		if (how === true)
			sendResult('P', fromEntries(entries(value).map(([m, d]) => [m, encode(m, d)])));
		else if (how !== undefined)
			sendResult('P', { [how]: encode(how, value) });
		else
			sendResult('P', bundleOf(value));
	}

	// The frames of this file, and of what it is in, are none of the user's business.
	function cut(stack) {
		const lines = stack.split('\n');
		const at = lines.findIndex((line) => /^ {4}at .*node:inspector/.test(line));

		return (at < 0 ? lines : lines.slice(0, at)).join('\n');
	}

	function sendError(name, value, traceback) {
		const text = (s) => encode('text/plain', s).slice(0, 1 << 20);

		send('E', stringify({ name: text(name), value: text(value), traceback: text(traceback) }));
	}

	function describe(error, details) {
		let name = 'Error', value = '', traceback = '';

		try {
			if (util.types.isNativeError(error) || error instanceof Error) {
				name = String(error.name);
				value = String(error.message);
				traceback = cut(String(error.stack));
				if (details?.scriptId && error instanceof SyntaxError && !/ at .*cell-/.test(traceback))
					traceback = `cell-${count}.js:${details.lineNumber + 1}:${details.columnNumber + 1}\n` +
						traceback;
			} else {
				name = 'Uncaught';
				value = traceback = inspect(error);
			}
		} catch {
			traceback = name;
		}
		sendError(name, value, traceback);
	}

	function done(cell, status) {
		if (busy !== cell)
			return;
		busy = 0;
		engine.post('Runtime.releaseObjectGroup', { objectGroup: 'cell' });
		send('D', `{"status":"${status}"}`);
		next();
	}

	function interrupted(cell) {
		if (busy !== cell)
			return;
		sendError('Interrupted', 'execution was interrupted', 'Interrupted: execution was interrupted');
		done(cell, 'interrupted');
	}

	// The value itself, not the inspector's word for it.
	const holder = { value: undefined };
	let holderId;
	function valueOf(remote) {
		const from = remote.objectId ? { objectId: remote.objectId }
			: remote.unserializableValue !== undefined ? { unserializableValue: remote.unserializableValue }
				: { value: remote.value };

		holder.value = undefined;
		engine.post('Runtime.callFunctionOn', { objectId: holderId, arguments: [from], silent: true,
			functionDeclaration: 'function (value) { this.value = value; }' });
		return holder.value;
	}

	function settled(cell, error, answer) {
		if (busy !== cell)
			return;
		if (error) {
			sendError('Error', String(error.message), String(error.message));
			return done(cell, 'error');
		}
		const details = answer.exceptionDetails;
		if (details) {
			describe(valueOf(details.exception ?? answer.result), details);
			return done(cell, 'error');
		}
		const value = answer.result.type === 'undefined' ? undefined : valueOf(answer.result);
		if (value !== undefined)
			try {
				sendResult('R', bundleOf(value));
			} catch (problem) {
				describe(problem);
				return done(cell, 'error');
			}
		done(cell, 'ok');
	}

	// `import` as a statement or a call is not for scripts: both become a call of a function that can.
	// Strings, templates and comments are stepped over.
	const TOKENS = new RegExp([
		String.raw`\/\/[^\n]*|\/\*[^]*?\*\/|'(?:\\[^]|[^'\\\n])*'|"(?:\\[^]|[^"\\\n])*"|` + '`(?:\\\\[^]|[^`\\\\])*`',
		String.raw`(?<![\w$.])(?<call>import)\s*(?=\()`,
		String.raw`(?<=(?:^|;)[ \t]*)import\s+(?<what>[\w$]+|\{[^}'"]*\}|\*\s*as\s+[\w$]+)\s+from\s+(?<from>'[^'\n]*'|"[^"\n]*")`,
		String.raw`(?<=(?:^|;)[ \t]*)import\s+(?<bare>'[^'\n]*'|"[^"\n]*")`,
	].join('|'), 'gm');
	function translate(code) {
		if (!code.includes('import'))
			return code;
		return code.replace(TOKENS, (...args) => {
			const all = args[0], { call, what, from, bare } = args.at(-1);

			if (call)
				return all.replace('import', '$import');
			if (bare)
				return `await $import(${bare})`;
			if (!what)
				return all;
			const names = what[0] === '{' ? what.replace(/\s+as\s+/g, ': ')
				: what[0] === '*' ? what.replace(/\*\s*as\s+/, '') : `{ default: ${what} }`;
			return `const ${names} = await $import(${from})`;
		});
	}

	// { a: 1 } is an object for who types it, and a block for who parses it.
	function expression(code) {
		if (!/^\s*\{/.test(code) || /;\s*$/.test(code))
			return code;
		try {
			new vm.Script(`(${code}\n)`);
			return `(${code}\n)`;
		} catch {
			return code;
		}
	}

	let go = null;
	const script = new vm.Script('globalThis[Symbol.for("pinfold")].run()');
	const runner = { run: () => go() };
	function execute(code) {
		const cell = busy = ++count;
		const text = `${expression(translate(code))}\n//# sourceURL=cell-${cell}.js`;

		sent = 0;
		go = () => engine.post('Runtime.evaluate', { expression: text, replMode: true, awaitPromise: true,
			objectGroup: 'cell' }, (error, answer) => settled(cell, error, answer));
		defineProperty(globalThis, Symbol.for('pinfold'), { value: runner, configurable: true });
		try {
			script.runInThisContext({ breakOnSigint: true, displayErrors: false });
		} catch (error) {
			if (error?.code === 'ERR_SCRIPT_EXECUTION_INTERRUPTED')
				interrupted(cell);
			else
				describe(error), done(cell, 'error');
		} finally {
			delete globalThis[Symbol.for('pinfold')];
		}
	}

	function next() {
		if (!busy && queue.length)
			setImmediate(() => !busy && queue.length && execute(queue.shift()));
	}

	let data = alloc(0);
	function take(chunk) {
		data = data.length ? concat([data, chunk]) : chunk;
		while (data.length >= 9) {
			const len = parseInt(data.toString('latin1', 1, 9), 16);

			if (data.length < 9 + len)
				return;
			if (data[0] === 0x58) // X
				queue.push(data.toString('utf8', 10, 9 + len));
			data = data.subarray(9 + len);
		}
		if (!busy && queue.length)
			execute(queue.shift());
	}

	const complain = (error) => process.stderr.write(`Uncaught ${cut(error?.stack ?? inspect(error))}\n`);

	engine.connect();
	globalThis[Symbol.for('pinfold')] = holder;
	engine.post('Runtime.evaluate', { expression: 'globalThis[Symbol.for("pinfold")]' },
		(_, answer) => { holderId = answer.result.objectId; });
	delete globalThis[Symbol.for('pinfold')];
	defineProperty(globalThis, 'display', { value: display, writable: true, configurable: true });
	defineProperty(globalThis, '$import', { value: (name, how) => import(name, how) });
	process.on('SIGINT', () => busy && interrupted(busy));
	process.on('uncaughtException', complain); // of what was left in the background
	process.on('unhandledRejection', complain);
	process.execArgv.length = 0;
	delete process._eval;
	const socket = new net.Socket({ fd: SOCK, readable: true, writable: false });
	socket.on('data', take);
	socket.on('close', () => process.reallyExit(0));
	send('H', '');
})();
