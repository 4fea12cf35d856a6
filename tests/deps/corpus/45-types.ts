// needs: zod
import type { Request } from "express";
import { type ZodType, z } from "zod";

export const user: ZodType = z.object({ name: z.string() });
export type R = Request;
