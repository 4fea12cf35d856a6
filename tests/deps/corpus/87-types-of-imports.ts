// needs: zod got
import { z } from "zod";

type Handler = import("express").RequestHandler;
type Client = Awaited<ReturnType<typeof import("redis")>>;
const load = () => import("got").then((m) => m.default);
export const schema = z.object({});
