// SPDX-License-Identifier: Apache-2.0
// A run whose output is shown as it comes, from node, with nothing to install. With `pinfold serve` running:
//
//     node examples/stream.mjs /run/pinfold/pinfold-http.sock 'for i in 1 2 3; do echo $i; sleep 1; done'
import http from "node:http";

// Events of the stream: `started`, `stdout`, `stderr`, `denial`, then `result`, which is the whole document.
async function* events(response) {
	let text = "";
	for await (const chunk of response.setEncoding("utf8")) {
		text += chunk;
		for (let end; (end = text.indexOf("\n\n")) >= 0; text = text.slice(end + 2)) {
			const fields = Object.fromEntries(text.slice(0, end).split("\n").map((line) => line.split(/: (.*)/s)));
			if (fields.data)
				yield { event: fields.event, data: JSON.parse(fields.data) };
		}
	}
}

function post(socketPath, path, body) {
	return new Promise((resolve, reject) => {
		const headers = { "Content-Type": "application/json" };
		http.request({ socketPath, path, method: "POST", headers }, resolve)
			.on("error", reject)
			.end(JSON.stringify(body));
	});
}

const [socketPath, command] = process.argv.slice(2);
const response = await post(socketPath, "/v1/runs?stream=1", { command, limits: "best-effort" });
if (response.statusCode !== 200) {
	let text = "";
	for await (const chunk of response.setEncoding("utf8"))
		text += chunk;
	console.error(JSON.parse(text).error.message);
	process.exit(125);
}
for await (const { event, data } of events(response)) {
	if (event === "stdout" || event === "stderr")
		process[event].write(Buffer.from(data.text, data.encoding === "base64" ? "base64" : "utf8"));
	else if (event === "denial")
		console.error(`refused: ${data.what} (${data.hint})`);
	else if (event === "result")
		process.exitCode = data.exit_code ?? 1;
}
