const { execFile } = require("child_process"), { performance } = require("perf_hooks");
const wait = (ms) => new Promise((r) => setTimeout(r, ms));
(async () => {
	const begin = Date.now();
	await Promise.all([wait(120), wait(30)]);
	console.log("waited", Math.round((Date.now() - begin) / 10) * 10);
	let ticks = 0;
	await new Promise((done) => { const t = setInterval(() => ++ticks === 5 && (clearInterval(t), done()), 10); });
	console.log("ticks", ticks);
	execFile("date", ["+%F %T"], (e, out) => console.log(out.trim(), performance.now() > 0));
})();
