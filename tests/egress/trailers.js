// SPDX-License-Identifier: Apache-2.0
// trailers.js serve CERT KEY LOG: port 446 as a server of gRPC, port 447 with chunks of HTTP/1.1; writes down
// what came behind requests. trailers.js calls|secrets|plain: a client inside; a line for each call.
const fs = require('fs');
const http2 = require('http2');
const https = require('https');

const [what, cert, key, log] = process.argv.slice(2);
const AT = 'https://good.test:446';

function serve() {
	const own = { cert: fs.readFileSync(cert), key: fs.readFileSync(key) };
	const server = http2.createSecureServer(own);
	const note = (path, t) => fs.appendFileSync(log, `${path} ${JSON.stringify(t)}\n`);
	const calls = {
		'/svc/Unary': (s, h, body) => {
			s.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
			s.on('wantTrailers', () => s.sendTrailers({ 'grpc-status': '0', 'grpc-message': 'fine', 'trace-bin': 'AAEC',
				'x-echo': String(h.authorization), 'elapsed': '7', 'location': '/else', 'set-cookie': 'a=b', 'content-type': 'text/html' }));
			s.end(body);
		},
		'/svc/Only': (s) => s.respond({ ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '12' },
			{ endStream: true }),
		'/svc/Packed': (s, h) => {
			const packs = /gzip/.test(h['grpc-accept-encoding'] || '');

			s.respond({ ':status': 200, 'content-type': 'application/grpc',
				'grpc-encoding': h['x-force'] || packs ? 'gzip' : 'identity' }, { waitForTrailers: true });
			s.on('wantTrailers', () => s.sendTrailers({ 'grpc-status': '0' }));
			s.end('packed');
		},
	};

	server.on('stream', (s, h) => {
		const parts = [], path = h[':path'];
		let behind = {};

		s.on('error', () => {});
		s.on('trailers', (t) => { behind = { ...t }; });
		if (path === '/svc/Both') { // an answer for each part, as it comes
			s.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
			s.on('wantTrailers', () => s.sendTrailers({ 'grpc-status': '0' }));
			s.on('data', (d) => s.write(`<${d}>`));
			s.on('end', () => s.end());
			return;
		}
		s.on('data', (d) => parts.push(d));
		// node ends what was broken off, too.
		s.on('end', () => {
			if (s.aborted || s.rstCode || s.destroyed)
				return;
			note(`${path} te=${h.te}`, behind);
			calls[path](s, h, Buffer.concat(parts));
		});
	});
	const old = https.createServer(own, (q, r) => {
		q.resume();
		q.on('end', () => {
			note(`1.1 ${q.url} te=${q.headers.te}`, q.trailers);
			r.writeHead(200, { 'transfer-encoding': 'chunked' });
			r.addTrailers({ 'x-sum': '3', 'Location': '/else' });
			r.end('abc');
		});
	});
	server.on('sessionError', () => {});
	old.listen(447, '198.51.100.2', () => server.listen(446, '198.51.100.2', () => fs.writeFileSync(log, '')));
}

// Status, body, what came behind it; `behind` goes behind the request.
function call(session, path, body, headers = {}, behind = null, each = () => {}) {
	return new Promise((done) => {
		let status, text = '', trailers = '';
		const s = session.request({ ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers', ...headers },
			{ waitForTrailers: !!behind });

		s.on('wantTrailers', () => s.sendTrailers(behind));
		s.on('response', (h) => { status = `${h[':status']}${h['grpc-status'] ? `/${h['grpc-status']}` : ''}`; });
		s.on('data', (d) => { text += d; each(s, text); });
		s.on('trailers', (t) => { trailers = Object.keys(t).map((k) => `${k}=${t[k]}`).sort().join(' '); });
		s.on('error', (e) => done(e.code));
		s.on('close', () => done(`${status} "${text}" ${trailers}`.trim()));
		if (path === '/svc/Both')
			s.write(body);
		else
			s.end(body);
	});
}

const clients = {
	async calls() {
		const s = http2.connect(AT);

		s.on('error', () => {});
		console.log('unary:', await call(s, '/svc/Unary', 'abc'));
		console.log('only:', await call(s, '/svc/Only', 'abc'));
		let n = 0;
		console.log('both:', await call(s, '/svc/Both', '0', {}, null, (r, text) => {
			if (text.endsWith('>') && ++n < 4)
				r.write(String(n));
			else if (text.endsWith('>'))
				r.end();
		}));
		console.log('no te:', await call(s, '/svc/Unary', 'abc', { te: undefined }));
		console.log('behind:', await call(s, '/svc/Unary', 'abc', {}, { digest: 'd', 'x-http-method-override': 'DELETE',
			authorization: 'Bearer x', 'grpc-t': '1', 'x-original-url': '/secret' }));
		console.log('many:', await call(s, '/svc/Unary', 'abc', {},
			Object.fromEntries([...Array(40)].map((_, i) => [`grpc-${i}`, 'x']))));
		console.log('after:', await call(s, '/svc/Unary', 'abc'));
		s.close();
	},
	async long() {
		const s = http2.connect(AT);

		s.on('error', () => {});
		console.log('short:', await call(s, '/svc/Unary', 'abc', {}, { digest: 'd' }));
		console.log('long:', await call(s, '/svc/Unary', 'abc', {}, { digest: 'd'.repeat(300) }));
		s.close();
	},
	async secrets() {
		const s = http2.connect(AT);

		s.on('error', () => {});
		console.log('echo:', await call(s, '/svc/Unary', 'abc'));
		console.log('packed:', await call(s, '/svc/Packed', 'abc', { 'grpc-accept-encoding': 'gzip' }));
		console.log('forced:', await call(s, '/svc/Packed', 'abc', { 'x-force': '1' }));
		s.close();
	},
	async stray() {
		const s = http2.connect(AT);

		s.on('error', () => {});
		console.log('stray:', await call(s, '/svc/Unary', 'abc', {}, { 'grpc-t': process.env.T_KEY }));
		s.close();
	},
	async plain() {
		for (const te of ['trailers', 'gzip'])
			await new Promise((done) => {
				const q = https.request('https://good.test:447/plain', { method: 'POST', headers: { te, connection: 'te', trailer: 'digest' } }, (r) => {
					let text = '';

					r.on('data', (d) => { text += d; });
					r.on('end', () => { console.log(`${te}: ${r.statusCode} ${text} ${JSON.stringify(r.trailers)}`); done(); });
				});
				q.on('error', (e) => { console.log(te, e.code); done(); });
				q.write('abc');
				q.addTrailers({ digest: 'd', host: 'other.test', 'content-length': '9', 'x-sum': '3' });
				q.end();
			});
	},
};

if (what === 'serve')
	serve();
else
	clients[what]().then(() => process.exit(0));
