// needs:
const { createServer } = require("node:http");
const path = require("path/posix");
const { parentPort } = require("worker_threads");
console.log(createServer, path, parentPort);
