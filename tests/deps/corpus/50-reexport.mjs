// needs: date-fns uuid
export { format } from "date-fns";
export * as ids from "uuid";
export const from = "nowhere";
export default class Thing {}
