// needs: yargs
import yargs from 'yargs';
import { hideBin } from 'yargs/helpers';
import pkg from './package.json' with { type: 'json' };
import data from "./x.json" assert { type: "json" };
