// SPDX-License-Identifier: Apache-2.0
// Inside a sandbox: HTTP/2 by node. A line for each thing: what came back, or how it ended.
const http2 = require('http2');
const tls = require('tls');

function session(host = 'good.test') {
	const s = http2.connect(`https://${host}`);
	s.on('error', () => {});
	return s;
}

// One stream: its status and the first bytes of its body, or the name of its error.
function ask(s, headers, body) {
	return new Promise((done) => {
		let status, text = '';
		const r = s.request({ ':path': '/', ...headers }, { endStream: body === undefined });

		r.on('response', (h) => { status = h[':status']; });
		r.on('data', (d) => { text += d; });
		r.on('error', (e) => done(`${status || ''} ${e.code || e.message}`.trim()));
		r.on('close', () => done(status ? `${status} ${text.slice(0, 60).trim()}` : 'closed'));
		if (body !== undefined)
			r.end(body);
	});
}

async function say(name, what) {
	console.log(`${name}: ${await what}`);
}

// Bytes of frames, sent as they are; what frames come back, by type and number.
function frame(type, flags, id, data = Buffer.alloc(0)) {
	const head = Buffer.alloc(9);

	head.writeUIntBE(data.length, 0, 3);
	head.writeUInt8(type, 3);
	head.writeUInt8(flags, 4);
	head.writeUInt32BE(id, 5);
	return Buffer.concat([head, data]);
}

const PREFACE = Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(4, 0, 0)]);
const lit = (n, v) => Buffer.concat([Buffer.from([0, n.length]), Buffer.from(n),
	Buffer.from([v.length]), Buffer.from(v, 'latin1')]);
const GET = (extra = [], path = '/') => Buffer.concat([lit(':method', 'GET'), lit(':scheme', 'https'),
	lit(':path', path), lit(':authority', 'good.test'), ...extra]);

// How it ends: 'goaway CODE', 'reset CODE' of stream 1, 'answer', or 'end'.
function raw(...frames) {
	return new Promise((done) => {
		let all = Buffer.alloc(0), end = 'end';
		const s = tls.connect({ host: 'good.test', port: 443, servername: 'good.test',
			ALPNProtocols: ['h2'] }, () => {
			s.write(PREFACE);
			for (const f of frames)
				s.write(f);
		});
		const finish = () => { s.destroy(); done(end); };

		s.setTimeout(8000, () => { end = 'silence'; finish(); });
		s.on('error', finish);
		s.on('close', finish);
		s.on('data', (d) => {
			all = Buffer.concat([all, d]);
			while (all.length >= 9 && all.length >= 9 + all.readUIntBE(0, 3)) {
				const n = all.readUIntBE(0, 3), type = all[3], body = all.subarray(9, 9 + n);

				all = all.subarray(9 + n);
				if (type === 7 && body.readUInt32BE(4))
					end = `goaway ${body.readUInt32BE(4)}`;
				else if (type === 3)
					end = `reset ${body.readUInt32BE(0)}`;
				else if (type === 1)
					end = 'answer';
				else
					continue;
				finish();
			}
		});
	});
}

async function judged() {
	const s = session();

	await say('get', ask(s, {}));
	await say('path', ask(s, { ':path': '/secret' }));
	await say('dots', ask(s, { ':path': '/open/%2e%2e/secret' }));
	await say('method', ask(s, { ':method': 'DELETE' }));
	await say('authority', ask(s, { ':authority': 'other.test' }));
	await say('scheme', ask(s, { ':scheme': 'http' }));
	await say('host', ask(s, { host: 'other.test' }));
	await say('override', ask(s, { 'x-http-method-override': 'DELETE' }));
	await say('post', ask(s, { ':method': 'POST', ':path': '/upload' }, 'abc'));
	await say('empty', ask(s, { ':method': 'POST', ':path': '/upload' }, ''));
	await say('cookies', ask(s, { ':path': '/echo', cookie: ['a=1', 'b=2'] }).then(
		() => ask(s, { ':path': '/open/cookie', cookie: ['a=1', 'b=2'] })));
	const all = [];
	for (let i = 0; i < 40; i++)
		all.push(ask(s, { ':path': `/open/${i}` }));
	await say('many', Promise.all(all).then((l) => l.filter((x) => x.startsWith('200')).length));
	s.close();
}

// More streams at once than the rule has connections.
async function few() {
	const six = session('six.test');
	const few = [];
	for (let i = 0; i < 6; i++)
		few.push(ask(six, { ':path': `/${i}` }));
	await say('few', Promise.all(few).then((l) => l.filter((x) => x.startsWith('200')).length));
	six.close();
}

async function hostile() {
	const end = 0x5, head = (block) => frame(1, end, 1, block);

	await say('good', raw(head(GET())));
	for (const [name, n, v] of [['connection', 'connection', 'close'], ['te', 'te', 'gzip'],
		['transfer-encoding', 'transfer-encoding', 'chunked'], ['upper', 'X-A', 'b'],
		['CR LF', 'x-a', 'b\r\nx: y'], ['LF', 'x-a', 'b\nc'], ['NUL', 'x-a', 'b\0c'], ['colon', 'x:a', 'b'],
		['blank', 'x a', 'b'], ['upgrade', 'upgrade', 'websocket'], ['protocol', ':protocol', 'websocket'],
		['late pseudo', ':path', '/open/x'], ['length', 'content-length', '5'],
		['two lengths', 'content-length', '0, 0']])
		await say(name, raw(head(GET([lit(n, v)]))));
	await say('path with blank', raw(head(GET([], '/a b'))));
	await say('path with CR LF', raw(head(GET([], '/ HTTP/1.1\r\nHost: x\r\n\r\n'))));
	const post = (length) => Buffer.concat([lit(':method', 'POST'), lit(':scheme', 'https'),
		lit(':path', '/upload'), lit(':authority', 'good.test'), lit('content-length', length)]);
	await say('longer', raw(frame(1, 4, 1, post('3')), frame(0, 1, 1, Buffer.from('abcdef'))));
	await say('shorter', raw(frame(1, 4, 1, post('9')), frame(0, 1, 1, Buffer.from('abc'))));
	await say('connect', raw(head(Buffer.concat([lit(':method', 'CONNECT'),
		lit(':authority', 'good.test:443')]))));
	await say('continuations', raw(frame(1, 1, 1, GET()), ...Array(200).fill(frame(9, 0, 1))));
	await say('large head', raw(frame(1, 1, 1, GET()),
		...Array(5).fill(frame(9, 0, 1, Buffer.concat(Array(70).fill(lit('x-a', 'a'.repeat(120)))))),
		frame(9, 4, 1)));
	const resets = [];
	for (let i = 0; i < 400; i++)
		resets.push(frame(1, end, 2 * i + 1, GET()), frame(3, 0, 2 * i + 1, Buffer.from([0, 0, 0, 8])));
	await say('resets', raw(...resets).then((x) => x === 'answer' ? x : x.replace(/reset.*/, 'reset')));
	await say('pings', raw(...Array(5000).fill(frame(6, 0, 0, Buffer.alloc(8)))));
	await say('settings', raw(...Array(5000).fill(frame(4, 0, 0))));
	await say('nothing', raw(frame(1, 4, 1, post('9')), ...Array(5000).fill(frame(0, 0, 1))));
	await say('no preface', new Promise((done) => {
		const s = tls.connect({ host: 'good.test', port: 443, servername: 'good.test',
			ALPNProtocols: ['h2'] }, () => s.write('GET / HTTP/1.1\r\nHost: good.test\r\n\r\n'));
		let text = '';
		s.on('data', (d) => { text += d.toString('latin1'); });
		s.on('error', () => {});
		s.on('close', () => done(text.includes('HTTP/1') ? 'HTTP/1' : 'refused'));
	}));
}

// One stream waits for a person; others of the same connection do not.
async function held() {
	const s = session();
	const post = say('post', ask(s, { ':method': 'POST', ':path': '/held' }, 'abc'));

	await say('get', ask(s, {}));
	await post;
}

({ few, hostile, held, judged })[process.argv[2]]().then(() => process.exit(0));
