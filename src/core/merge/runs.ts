// Joins two runs of one machine that share engines; what the first has measured stays.
import type { Result } from "../../../generated/result.ts";
import { outcomeOf } from "../outcome.ts";

const listKeys = ["builds", "golden", "siblings", "workloads", "gates"] as const;

export function joinRuns(first: Result, second: Result): Result {
	const lists = listKeys.map((key) => {
		const keyOf = (item: object) => {
			const { model, engine, arm, workload, case: id, gate } = item as Readonly<Record<string, unknown>>;
			return JSON.stringify([model, engine, arm, workload, id, gate]);
		};
		const own: readonly object[] = first[key] ?? [];
		const known = new Set(own.map(keyOf));
		return [key, [...own, ...(second[key] ?? []).filter((item) => !known.has(keyOf(item)))]];
	});
	const joined: Result = {
		...first,
		...Object.fromEntries(lists),
		durationMs: first.durationMs + second.durationMs,
		childMs: first.childMs + second.childMs,
		errors: [...first.errors, ...second.errors],
		notes: [...new Set([...first.notes, ...second.notes])],
	};
	return { ...joined, ...outcomeOf(joined) };
}
