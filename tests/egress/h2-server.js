// SPDX-License-Identifier: Apache-2.0
// h2-server.js CERT KEY LOG: a server of HTTP/2 and HTTP/1.1 on port 445, which says what it was asked by which.
const fs = require('fs');
const http2 = require('http2');

const [cert, key, log] = process.argv.slice(2);
const server = http2.createSecureServer({ cert: fs.readFileSync(cert), key: fs.readFileSync(key), allowHTTP1: true });

const odd = {
	'/reset': (r) => r.stream.close(http2.constants.NGHTTP2_INTERNAL_ERROR),
	'/half': (r) => { r.write('half'); setImmediate(() => r.stream.close(http2.constants.NGHTTP2_INTERNAL_ERROR)); },
	'/lies': (r) => { r.setHeader('content-length', 100); r.write('few'); setImmediate(() => r.stream.close()); },
	'/bye': (r) => { r.end('bye'); r.stream.session.goaway(); },
	'/hints': (r) => { r.writeEarlyHints({ link: '</x>; rel=preload' }); r.addTrailers({ 'x-t': '1' }); r.end('hints'); },
	'/none': (r) => { r.statusCode = 204; r.end(); },
};

server.on('request', (q, r) => {
	let n = 0;

	q.on('data', (d) => { n += d.length; });
	q.on('error', () => {});
	r.on('error', () => {});
	q.on('end', () => {
		const host = q.headers[':authority'] || q.headers.host;
		const said = `${q.httpVersion} ${q.method} ${host} ${q.url} ${n}`;

		fs.appendFileSync(log, `${said} ${q.headers.authorization || 'none'}\n`);
		if (odd[q.url] && r.stream)
			odd[q.url](r);
		else if (q.url.startsWith('/big/'))
			r.end(Buffer.alloc(Number(q.url.slice(5)), 'x'));
		else if (q.url === '/echo')
			r.end(JSON.stringify(q.headers));
		else
			r.end(said + '\n');
	});
});
server.on('sessionError', () => {});
server.listen(445, '198.51.100.2', () => fs.writeFileSync(log, ''));
