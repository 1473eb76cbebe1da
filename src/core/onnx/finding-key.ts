// What makes two findings of preflight the same.
import type { Finding } from "../../../generated/result.ts";

/** The same on both sides of a run, and in two runs. */
export function findingKey({ code, model, engine, node }: Finding): string {
	return JSON.stringify([code, model, engine, node]);
}
