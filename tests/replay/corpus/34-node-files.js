// SPDX-License-Identifier: Apache-2.0
// Files with names that nobody chose, packed; timers and promises in their order.
const fs = require("fs"), path = require("path"), crypto = require("crypto"), zlib = require("zlib"), os = require("os");
const where = fs.mkdtempSync(path.join(os.tmpdir(), "x-"));
console.log(where, new Date().toISOString().slice(0, 16), Math.random(), crypto.randomUUID(), os.loadavg());
for (let i = 0; i < 10; i++)
	fs.writeFileSync(path.join(where, crypto.randomBytes(4).toString("hex")), String(Math.random()));
console.log(fs.readdirSync(where).join(","));
fs.writeFileSync("numbers.gz", zlib.gzipSync(JSON.stringify([...Array(100)].map(Math.random))));
console.log(crypto.createHash("sha256").update(fs.readFileSync("numbers.gz")).digest("hex"));
setTimeout(() => console.log("later"), 30);
setImmediate(() => console.log("then"));
Promise.resolve().then(() => console.log("first"));
