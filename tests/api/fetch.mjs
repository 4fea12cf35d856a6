// SPDX-License-Identifier: Apache-2.0
// The API with node's own fetch: a run, a stream, an upload, an error, an abort.
const base = `http://127.0.0.1:${process.env.API_PORT}`;
const best = process.env.API_MODE === "R" ? {} : { limits: "best-effort" };
const headers = { Authorization: `Bearer ${process.env.TOKEN}`, "Content-Type": "application/json" };
const check = (name, good, got) =>
	console.log(`${good ? "ok" : "not ok"} node: ${name}${good ? "" : `\n  got: ${JSON.stringify(got)}`}`);
const post = (path, body, more = {}) =>
	fetch(base + path, { method: "POST", headers, body: JSON.stringify({ ...best, ...body }), ...more });

let r = await post("/v1/runs", { command: ["echo", "fetch"] });
let d = await r.json();
check("a run", r.status === 200 && d.stdout.text === "fetch\n", d);

r = await post("/v1/runs?stream=1", { command: "echo a; sleep 0.1; echo b" });
let text = "";
for await (const part of r.body.pipeThrough(new TextDecoderStream()))
	text += part;
const names = [...text.matchAll(/^event: (.*)$/gm)].map((m) => m[1]);
check("a stream", names[0] === "started" && names.at(-1) === "result", names);

const box = (await (await post("/v1/sandboxes", {})).json()).id;
const chunks = Array.from({ length: 64 }, (_, i) => new Uint8Array(16384).fill(i));
r = await fetch(`${base}/v1/sandboxes/${box}/files?path=${encodeURIComponent("über \n.bin")}`, {
	method: "PUT", headers, duplex: "half",
	body: new ReadableStream({ pull(c) { chunks.length ? c.enqueue(chunks.shift()) : c.close(); } }),
});
d = await r.json();
check("an upload that is a stream", r.status === 200 && d.bytes === 1 << 20, d);
r = await fetch(`${base}/v1/sandboxes/${box}/files?path=${encodeURIComponent("über \n.bin")}`,
	{ headers: { ...headers, Range: "bytes=16383-16384" } });
d = [...new Uint8Array(await r.arrayBuffer())];
check("a range of it", r.status === 206 && d.join() === "0,1", d);

r = await post("/v1/runs", { command: "x", memroy: 1 });
d = await r.json();
check("an error", r.status === 400 && d.error.message.includes("memroy") && d.error.remedy.includes("memory"), d);

const stop = new AbortController();
r = await post(`/v1/sandboxes/${box}/exec?stream=1`, { limits: undefined, command: "echo up; exec sleep 4321" },
	{ signal: stop.signal });
await r.body.getReader().read();
stop.abort();
let left = true;
for (let i = 0; i < 200 && left; i++) {
	d = await (await fetch(`${base}/v1/sandboxes/${box}/processes`, { headers })).json();
	left = d.items.some((p) => p.command.includes("4321"));
}
check("an abort ends the command", !left, d);
r = await fetch(`${base}/v1/sandboxes/${box}`, { method: "DELETE", headers });
check("the end", r.status === 204, r.status);
