// SPDX-License-Identifier: Apache-2.0
// node's own test runner, which prints how long each took, while its collector works.
const test = require('node:test'), assert = require('assert'), http = require('http');
const { exec } = require('child_process');

test('waits', async t => {
  await t.test('a part', () => assert.equal(1, 1));
  await new Promise(resolve => setTimeout(resolve, 20));
});
test('fills memory', () => {
  const all = [];
  for (let i = 0; i < 200000; i++)
    all.push({ i });
  assert.ok(all.length);
});
test('asks another program', async () => {
  const date = await new Promise(resolve => exec('date +%N; echo $$', (e, out) => resolve(out)));
  console.log(date, performance.now());
});
test('asks itself', async () => {
  const server = http.createServer((q, r) => r.end(String(Date.now())));
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve));
  const port = server.address().port;
  console.log(port, await new Promise(resolve => http.get({ port, agent: false }, r => {
    let text = '';
    r.on('data', d => text += d).on('end', () => resolve(text));
  })));
  server.close();
});
