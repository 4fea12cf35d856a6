// SPDX-License-Identifier: Apache-2.0
// A node that waits in a sandbox of its own until somebody's program comes: started, used once. It is
// executed with -e by the guest; loading descriptor 101 (loader.c) waits for the claim and puts
// standard input, output and error into their places. Nothing of this text is left when the program
// starts: names, arguments and modules are what `node -e` or `node FILE` would have.
(() => {
	const fs = require('fs'), path = require('path'), vm = require('vm'), Module = require('module');
	const LOADER = '/proc/self/fd/101', PLAN = 100;
	const load = () => {
		try {
			process.dlopen({ exports: {} }, LOADER);
		} catch {
			// It is no module, and has done its work.
		}
	};

	for (const name of ['crypto', 'child_process', 'http', 'https', 'readline', 'stream', 'url', 'util'])
		try {
			require(name);
		} catch {
			// Not in this node: the program will say so if it needs it.
		}
	load();
	// wire/plan.h: argv is the offset of a table of offsets.
	const block = Buffer.alloc(fs.fstatSync(PLAN).size);
	fs.readSync(PLAN, block, 0, block.length, 0);
	const word = (at) => block.readUInt32LE(at);
	const text = (at) => block.toString('utf8', at, block.indexOf(0, at));
	const argv = [];
	for (let i = 0; i < word(20); i++)
		argv.push(text(word(word(16) + 4 * i)));
	process.chdir(text(word(32)));
	const inline = argv[1] === '-e';
	let run;

	if (inline) {
		const cwd = process.cwd(), name = '[eval]', code = argv[2];
		let script;
		try {
			script = new vm.Script(code, {
				filename: name,
				importModuleDynamically: vm.constants?.USE_MAIN_CONTEXT_DEFAULT_LOADER,
			});
		} catch {
			load(); // an error that node itself says best: starts it again
		}
		const module = new Module(name);
		module.filename = path.join(cwd, name);
		module.paths = Module._nodeModulePaths(cwd);
		module._compile('globalThis.module = module; globalThis.exports = exports;' +
			'globalThis.__dirname = __dirname; globalThis.require = require;', name + '-wrapper');
		Object.defineProperty(process, '_eval', { value: code });
		run = script.runInThisContext.bind(script, { displayErrors: true });
	} else {
		for (const name of ['module', 'exports', 'require', '__filename', '__dirname'])
			delete globalThis[name];
		for (const name of Module.builtinModules) // those that -e adds
			if (Object.getOwnPropertyDescriptor(globalThis, name)?.set?.name === 'setReal')
				delete globalThis[name];
		delete process._eval;
		run = Module.runMain.bind(Module, argv[1]);
	}
	process.execArgv.splice(0, process.execArgv.length, ...(inline ? argv.slice(1, 3) : []));
	process.argv.splice(1, process.argv.length, ...argv.slice(inline ? 3 : 1));
	fs.closeSync(PLAN);
	fs.closeSync(PLAN + 1);
	/^/.exec('');
	return run;
})()();
