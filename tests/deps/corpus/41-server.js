// needs: express cors
const express = require("express");
const cors = require("cors");
const fs = require("fs");

express().use(cors()).get("/", (q, s) => s.send(fs.readFileSync("x"))).listen(1);
