// needs: openai zod dotenv
import 'dotenv/config';
import OpenAI from 'openai';
import { z } from 'zod';
import { zodResponseFormat } from 'openai/helpers/zod';
import fs from 'node:fs/promises';
const client = new OpenAI();
