// Joins facts that parts report about their job, and two runs of one machine that share engines.
import type { BackendFacts, Result } from "../../../generated/result.ts";
import { outcomeOf, unknownBackend } from "../outcome.ts";
import { cleanName } from "../text/escape.ts";
import { listNames } from "../text/labels.ts";

const maxNamed = 4;

function distinct(values: readonly string[]) {
	return [...new Set(values)].sort();
}

function listed(values: readonly string[]) {
	return listNames(distinct(values), maxNamed);
}

export function mergeBackends(backends: readonly BackendFacts[]): BackendFacts {
	if (backends.length === 0) return unknownBackend;
	const onTensorRt = backends.some(({ kind }) => kind === "tensorrt");
	const caveats = distinct(backends.flatMap(({ caveat }) => caveat ?? []));
	const everywhere = backends.every(({ caveat }) => caveat !== undefined);
	return {
		kind: onTensorRt ? "tensorrt" : "onnxruntime",
		name: listed(backends.map(({ name }) => name)),
		version: listed(backends.map(({ version }) => version)),
		device: listed(backends.map(({ device }) => device)),
		...(caveats.length > 0 && { caveat: `${everywhere ? "" : "in part "}${caveats.join(", ")}` }),
	};
}

export function mergeEnvironments(environments: readonly Result["environment"][]): Result["environment"] {
	const [first, ...others] = environments;
	const common = Object.entries(first ?? {}).filter(([key, value]) =>
		others.every((other) => Object.hasOwn(other, key) && other[key] === value),
	);
	return Object.fromEntries(common);
}

export function mergeConfigs(configs: readonly Result["config"][]): Result["config"] {
	const hashes = distinct(configs.flatMap(({ sha256 }) => sha256 ?? []));
	const [only] = hashes;
	const same = hashes.length === 1 && configs.every(({ sha256 }) => sha256 === only);
	return {
		path: configs.length === 0 ? "unknown" : listed(configs.map(({ path }) => path)),
		...(same && only !== undefined ? { sha256: only } : {}),
	};
}

export function mergeNotes(parts: readonly { name: string; result: Pick<Result, "notes"> }[]): string[] {
	const partsByNote = new Map<string, Set<string>>();
	for (const { name, result } of parts)
		for (const note of result.notes) partsByNote.set(note, (partsByNote.get(note) ?? new Set()).add(name));
	return [...partsByNote].map(([note, names]) => {
		if (names.size === parts.length) return note;
		return `${listed([...names].map((name) => cleanName(name, 60)))}: ${note}`;
	});
}

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
