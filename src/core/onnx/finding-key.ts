// Identifies findings of preflight, to tell whether two are the same.
import type { Finding } from "../../../generated/result.ts";

export function findingKey({ code, model, engine, node }: Finding): string {
	return JSON.stringify([code, model, engine, node]);
}
