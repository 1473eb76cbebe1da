// Merges the results of several jobs into one that shows every part and mixes no figures.
import type { GateResult, Part, Result, WorkloadResult } from "../../../generated/result.ts";
import { inputKinds } from "../input-kind.ts";
import { failureKindOf, foldOutcome, optionalLists, recordLists } from "../outcome.ts";
import { present, worstOutcome } from "../text/labels.ts";
import { formatBytes, formatCount } from "../text/units.ts";
import { mergeBackends, mergeConfigs, mergeEnvironments, mergeNotes } from "./join.ts";
import { type JudgedPart, judgeParts, type MergeOptions, type PartInput, resultOf } from "./parts.ts";

/** Shares of the size limit to try; the last always fits. */
const shares = [1, 0.5, 0];

export function mergeResults(parts: readonly PartInput[], options: MergeOptions): Result {
	const judged = judgeParts(parts, options);
	let merged = join(judged, options);
	for (const share of shares) if (!fits(merged)) merged = join(refuseLargest(judged, share), options);
	return merged;
}

function join(judged: readonly JudgedPart[], options: MergeOptions): Result {
	const merged = judged.flatMap((part) => {
		const result = resultOf(part);
		return result === undefined ? [] : [{ name: part.name, result }];
	});
	const results = merged.map(({ result }) => result);
	// A part that could not start knows nothing about its machine.
	const known = results.filter(
		({ environment, errors }) => Object.keys(environment).length > 0 || errors.length === 0,
	);
	const ofParts = namedRecords(
		judged.length > 1 ? merged : merged.map(({ result }) => ({ name: undefined, result })),
	);
	const review = options.review ?? [];
	const records = { ...ofParts, gates: withReview(ofParts.gates, review) };
	const errors = [...judged.flatMap(partFault), ...records.errors];
	const whole = errors.length + review.length > 0 ? [foldOutcome([...review], errors)] : [];
	const outcome = worstOutcome([...whole, ...results.map(strictestOutcome)]);
	const longest = results.reduce((most, result) => (result.durationMs > most.durationMs ? result : most), {
		durationMs: 0,
		childMs: 0,
	});
	const { workloads, note } = thinned(records.workloads);
	return {
		schemaVersion: 1,
		tool: { name: "trtgate", version: options.version },
		outcome,
		failureKind: failureKindOf(outcome, errors),
		run: options.run,
		unverified: options.unverified ? true : undefined,
		parts: judged.map((part) => describePart(part, [...results, options])),
		startedAt: results.map(({ startedAt }) => startedAt).sort()[0] ?? "",
		durationMs: longest.durationMs,
		childMs: longest.childMs,
		backend: mergeBackends(known.map(({ backend }) => backend)),
		environment: mergeEnvironments(known.map(({ environment }) => environment)),
		arms: mergeArms(results),
		config: mergeConfigs(results.map(({ config }) => config)),
		...records,
		workloads,
		errors,
		notes: present([...mergeNotes(merged), note]),
		files: options.files,
	};
}

function strictestOutcome(result: Result) {
	const own = foldOutcome(result.gates, result.errors);
	return worstOutcome([own, result.outcome, ...(result.partial === undefined ? [] : (["error"] as const))]);
}

const refusalFixes = {
	runner: "Run its job again.",
	configuration: "Correct the workflow, so that every part measures its own share of one commit.",
} as const;

function partFault({ name, content }: JudgedPart) {
	if (content.state === "refused") {
		const fix = content.fix ?? refusalFixes[content.kind];
		return [{ part: name, kind: content.kind, code: "part-refused", message: content.reason, fix }];
	}
	const missing = { part: name, kind: "runner", code: "part-missing" } as const;
	if (content.state === "missing") {
		const fix = "Read the log of its job, fix the cause, and run the failed jobs again.";
		return [{ ...missing, message: content.reason, fix }];
	}
	const { partial, errors } = content.result;
	if (partial === undefined || errors.some((error) => error.kind !== "github")) return [];
	const message = `The part ended in ${partial.stage}: ${partial.reason}`;
	return [{ ...missing, message, fix: refusalFixes.runner }];
}

function describePart(
	{ name, artifact, content }: JudgedPart,
	others: readonly Pick<MergeOptions, "run">[],
): Part {
	const place = { name, artifact };
	if (content.state !== "read") return { ...place, state: content.state, reason: content.reason };
	const { result } = content;
	const { run } = result;
	const isEarlier = others.some(
		(other) => run && other.run?.id === run.id && other.run.attempt > run.attempt,
	);
	return {
		...place,
		state: "merged",
		attempt: isEarlier ? run?.attempt : undefined,
		outcome: strictestOutcome(result),
		partial: result.partial,
		workloads: result.workloads.length,
		startedAt: result.startedAt,
		durationMs: result.durationMs,
		backend: result.backend,
		baseBackend: result.baseBackend,
		environment: result.environment,
	};
}

function mergeArms(results: readonly Result[]) {
	const compared = results.find(({ arms }) => arms.base !== null);
	const noBase = results.map(({ arms }) => arms.noBase).find((reason) => reason !== undefined);
	const head = (compared ?? results[0])?.arms.head ?? { label: "head" };
	return {
		base: compared?.arms.base ?? null,
		head,
		...(compared === undefined && noBase !== undefined ? { noBase } : {}),
	};
}

/** Reports gates on the whole change, which every part repeats, only once. */
function withReview(gates: readonly GateResult[], review: readonly GateResult[]) {
	const keyOf = ({ gate, model, engine, workload, message }: GateResult) =>
		JSON.stringify([gate, model, engine, workload, message]);
	const isShared = ({ gate }: GateResult) => gate === "coverage" || gate === "limit-change";
	// The plan saw the rules of all engines, a part only some.
	const ofParts = gates.filter(({ gate }) => review.length === 0 || gate !== "limit-change");
	const shared = new Map<string, GateResult>();
	for (const { part: _, ...gate } of [...ofParts.filter(isShared), ...review]) {
		const known = shared.get(keyOf(gate));
		shared.set(keyOf(gate), { ...known, ...gate });
	}
	return [...gates.filter((gate) => !isShared(gate)), ...shared.values()];
}

type Records = Pick<Result, (typeof recordLists)[number]>;

const optional: ReadonlySet<string> = new Set(optionalLists);

/** Leaves out paths, which lead into folders of the parts. */
function namedRecords(parts: readonly { name: string | undefined; result: Result }[]) {
	const lists = recordLists.map((key) => {
		const list = parts.flatMap(({ name, result }) => {
			const own = (result[key] ?? []) as readonly { part?: string }[];
			return own.map(({ part: _part, ...item }) => (name === undefined ? item : { ...item, part: name }));
		});
		return [key, list.length === 0 && optional.has(key) ? undefined : list];
	});
	const records: Records = Object.fromEntries(lists);
	return {
		...records,
		builds: records.builds.map(({ log: _log, enginePath: _path, ...build }) => build),
		workloads: records.workloads.map((workload) => ({
			...workload,
			runs: workload.runs.map(({ samples: _samples, ...run }) => run),
		})),
		errors: records.errors.map(({ log: _log, ...error }) => error),
	};
}

const maxRuns = 10_000;

/** Keeps the single runs of changed workloads first. */
function thinned(workloads: readonly WorkloadResult[]) {
	let left = maxRuns;
	const changedFirst = workloads.toSorted(
		(a, b) => Number(a.verdict === "unchanged") - Number(b.verdict === "unchanged"),
	);
	const thin = new Set<WorkloadResult>();
	for (const workload of changedFirst) {
		left -= workload.runs.length;
		if (left < 0) thin.add(workload);
	}
	const [count, total] = [thin.size, workloads.length].map(formatCount);
	return {
		workloads: workloads.map((row) => (thin.has(row) ? { ...row, runs: [] } : row)),
		note:
			thin.size === 0
				? null
				: `The single runs of ${count} of ${total} workloads are left out here to keep this result readable; the parts' own results hold them.`,
	};
}

const { maxBytes } = inputKinds.result;

function fits(result: Result) {
	return writtenBytes(result, maxBytes) <= maxBytes;
}

function refuseLargest(parts: readonly JudgedPart[], share: number) {
	const sized = parts.map((part) => ({
		part,
		bytes: writtenBytes(resultOf(part), maxBytes),
	}));
	let left = maxBytes * share;
	const kept = new Set<JudgedPart>();
	for (const { part, bytes } of sized.toSorted((a, b) => a.bytes - b.bytes)) {
		left -= bytes;
		if (left >= 0) kept.add(part);
	}
	return sized.map(({ part }) => (kept.has(part) ? part : { ...part, content: tooLarge(parts.length) }));
}

export const tooLargeFix =
	"Its own result holds everything. Merge fewer parts at a time: name fewer folders, or give the parts of each report an `artifact` prefix of their own.";

function tooLarge(count: number): JudgedPart["content"] {
	const reason = `The merged result of all ${count} parts would be larger than ${formatBytes(maxBytes)}, so this one is left out.`;
	return { state: "refused", reason, kind: "configuration", fix: tooLargeFix };
}

/** An upper bound of the bytes as indented JSON; stops counting beyond `most`. */
function writtenBytes(value: unknown, most: number, depth = 1) {
	if (value === undefined) return 0;
	if (typeof value !== "object" || value === null) return textBytes(value);
	let bytes = depth + 2;
	for (const [key, item] of Object.entries(value)) {
		// A line break, the indentation and a comma; in an object also the key in quotes, a colon and a blank.
		bytes += depth + 2 + (Array.isArray(value) ? 0 : textBytes(key) + 2);
		bytes += writtenBytes(item, most - bytes, depth + 1);
		if (bytes > most) break;
	}
	return bytes;
}

function textBytes(value: unknown) {
	if (typeof value === "string" && /^[ !#-[\]-~]*$/.test(value)) return value.length + 2;
	const text = JSON.stringify(value);
	return /[^\0-\x7f]/.test(text) ? text.length * 3 : text.length;
}
