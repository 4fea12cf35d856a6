// needs: axios cheerio
import axios from "axios";
import * as cheerio from "cheerio";
import { readFile } from "node:fs/promises";

const $ = cheerio.load((await axios.get("http://localhost")).data);
console.log($("a").length, await readFile("x"));
