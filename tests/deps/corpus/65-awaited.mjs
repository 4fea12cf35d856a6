// needs: lodash-es chalk @aws-sdk/client-s3 @octokit/rest p-limit
import _ from 'lodash-es/debounce.js';
import chalk, { Chalk } from "chalk";
import * as s3 from '@aws-sdk/client-s3';
import { Octokit } from '@octokit/rest/dist-src/index.js';
import './local.mjs'; import '#internal/x'; import data from "./d.json" with { type: "json" };
const pLimit = (await import('p-limit')).default;
const x = await import(`./plugins/${name}.js`);
import fs, { readFileSync } from 'node:fs';
// import nothing from 'nothing'
const s = "import bad from 'bad'";
