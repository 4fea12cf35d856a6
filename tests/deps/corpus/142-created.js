// needs: winston
import { createRequire } from 'module';
const require = createRequire(import.meta.url);
const winston = require('winston');
const pkg = require('./package.json');
