const crypto = require("crypto"), zlib = require("zlib"), fs = require("fs");
const { privateKey, publicKey } = crypto.generateKeyPairSync("ed25519");
const text = Buffer.from("x".repeat(1000) + Math.random());
console.log(crypto.sign(null, text, privateKey).toString("hex").slice(0, 32), publicKey.export({ type: "spki", format: "pem" }));
fs.writeFileSync("out.gz", zlib.gzipSync(text));
const iv = crypto.randomBytes(12), c = crypto.createCipheriv("aes-256-gcm", crypto.randomBytes(32), iv);
console.log(Buffer.concat([c.update(text), c.final()]).length, iv.toString("hex"));
