// Resolves workloads such as `{ batch: 8, streams: 2 }`.
import type { DecoderFile, WorkloadFile } from "../../../generated/config.ts";
import { childPointer, formatName, suggest } from "../found.ts";
import { decoderDims } from "../onnx/decoder.ts";
import { listNames, present } from "../text/labels.ts";
import type { SweepConfig, WorkloadConfig } from "./config.ts";
import { type DimProfiles, type Dims, hullOf, optimalSizes, profileFor } from "./dims.ts";
import { type Layer, readLayer, resolveGates } from "./gates.ts";
import { type Problem, type Resolution, resolveEach } from "./source.ts";
import { checkName, parseDuration } from "./values.ts";

export const workloadKeys: readonly string[] = [
	"name",
	"streams",
	"every",
	"dims",
	"prefill",
	"decode",
	"sweep",
	"gates",
];

const longestIntervalMs = 10_000;

interface WorkloadContext {
	profiles: DimProfiles;
	decoder: DecoderFile | undefined;
	layers: readonly Layer[];
	inputs: Layer;
	pointer: string;
}

export function* resolveWorkloads(
	file: readonly WorkloadFile[] | undefined,
	context: WorkloadContext,
): Resolution<WorkloadConfig[]> {
	if (file === undefined) return [yield* resolveWorkload({}, context)];
	const workloads = yield* resolveEach(file, (workload, index) =>
		resolveWorkload(workload, { ...context, pointer: `${context.pointer}/${index}` }),
	);
	const seen = new Set<string>();
	for (const { name, pointer } of workloads) {
		const says = `is called ${formatName(name)}, like an earlier one`;
		const fix = "Remove one of the two, or give them names: { name: …, batch: 8 }.";
		if (seen.has(name)) yield { pointer, says, expected: "a unique name", fix };
		seen.add(name);
	}
	return workloads;
}

function* resolveWorkload(
	file: WorkloadFile,
	{ pointer, profiles, decoder, layers, inputs }: WorkloadContext,
): Resolution<WorkloadConfig> {
	const { streams = 1 } = file;
	const given = yield* givenSizes(file, pointer);
	const dims = hullOf(profiles);
	const token = yield* addToken(file, { given, pointer, decoder, names: Object.keys(dims) });
	const swept = yield* readSweep(file, { given, pointer });
	let isValid = true;
	for (const size of [...given.values(), ...(swept?.ends ?? [])]) {
		const problem = sizeProblem(size, dims);
		if (problem !== null) yield problem;
		isValid &&= problem === null;
	}
	const sizes = Object.fromEntries([...given].map(([name, { size }]) => [name, size]));
	const ends = swept === null ? [sizes] : swept.ends.map(({ name, size }) => ({ ...sizes, [name]: size }));
	const profile = isValid ? profileFor(profiles, ends) : profiles[0];
	if (profile === null && profiles.length > 1) {
		const says = "has sizes that no optimization profile holds together";
		const expected = `sizes inside one of the ${profiles.length} profiles`;
		const fix = "Widen a profile, add one, or time sizes inside one of them.";
		yield { code: "config-dims", pointer, says, expected, fix };
	}
	if (file.name !== undefined)
		yield* checkName(`${pointer}/name`, { name: file.name, what: "a workload", at: "value" });
	const layer = yield* readLayer(file.gates, `${pointer}/gates`);
	const everyMs = yield* readInterval(file.every, `${pointer}/every`);
	return {
		name: file.name ?? defaultName(sizes, token, { streams, everyMs, sweep: swept?.sweep }),
		dims: Object.assign(optimalSizes(profile ?? profiles[0]), ends.at(-1)),
		streams,
		everyMs,
		sweep: swept?.sweep,
		gates: yield* resolveGates([...layers, layer, inputs]),
		pointer,
	};
}

/** trtexec counts in whole milliseconds. */
function* readInterval(text: string | undefined, pointer: string): Resolution<number | undefined> {
	if (text === undefined) return undefined;
	const everyMs = yield* parseDuration(pointer, { text });
	if (Number.isInteger(everyMs) && everyMs <= longestIntervalMs) return everyMs;
	const fix = "Write the interval of a camera or a microphone, such as 33ms.";
	yield { pointer, says: `is ${text}`, expected: "whole milliseconds, at most 10s", fix };
	return 1;
}

interface GivenSize {
	name: string;
	size: number;
	pointer: string;
}

function* givenSizes(file: WorkloadFile, pointer: string): Resolution<Map<string, GivenSize>> {
	const given = new Map<string, GivenSize>();
	for (const [name, size] of Object.entries(file)) {
		if (!workloadKeys.includes(name))
			given.set(name, { name, size: size as number, pointer: childPointer(pointer, name) });
	}
	for (const [name, size] of Object.entries(file.dims ?? {})) {
		const at = childPointer(`${pointer}/dims`, name);
		const problem = { code: "config-dims", pointer: at, at: "key" } as const;
		const fix = "Remove it here or beside dims.";
		if (given.has(name)) yield { ...problem, says: "is given twice", expected: "one size", fix };
		given.set(name, { name, size, pointer: at });
	}
	return given;
}

interface Token {
	label: string;
	dims: readonly string[];
}

/** `prefill` and `decode` are sizes of a decoder's dimensions: which token is timed, after how many positions. */
function* addToken(
	{ prefill, decode }: WorkloadFile,
	from: { given: Map<string, GivenSize>; pointer: string; decoder: DecoderFile | undefined; names: string[] },
): Resolution<Token | null> {
	const { given, decoder, names } = from;
	const key = prefill === undefined ? "decode" : "prefill";
	const count = prefill ?? decode;
	if (count === undefined) return null;
	const pointer = `${from.pointer}/${key}`;
	const problem = { code: "config-dims", pointer, at: "key" } as const;
	if (prefill !== undefined && decode !== undefined) {
		const fix = "Write two workloads: { prefill: 128 }, { decode: 512 }.";
		yield { ...problem, says: "is given together with decode", expected: "one of the two", fix };
		return null;
	}
	const dims = decoderDims(names, decoder);
	if (dims === null) {
		const says = "needs the dimensions of tokens and cache, which the names under dims do not show";
		const fix = "Name them: decoder: { seq: sequence_length, past: past_sequence_length }.";
		yield { ...problem, says, expected: "decoder.seq and decoder.past", fix };
		return null;
	}
	const [seq, past] = key === "prefill" ? [count, 0] : [1, count];
	const sizes = { [dims.seq]: seq, [dims.past]: past, ...(dims.total && { [dims.total]: seq + past }) };
	for (const [name, size] of Object.entries(sizes)) {
		const fix = `Remove it: ${key} gives it.`;
		if (given.has(name))
			yield { ...problem, says: `also gives ${formatName(name)}`, expected: "one size", fix };
		given.set(name, { name, size, pointer });
	}
	const label = `${key === "prefill" ? "first token" : "per token"} · ${key} ${count}`;
	return { label, dims: Object.keys(sizes) };
}

function* readSweep(
	{ sweep }: WorkloadFile,
	{ given, pointer }: { given: ReadonlyMap<string, GivenSize>; pointer: string },
): Resolution<{ sweep: SweepConfig; ends: GivenSize[] } | null> {
	const [name, range] = Object.entries(sweep ?? {})[0] ?? [];
	if (name === undefined || range === undefined) return null;
	const [from = 1, to = from] = range;
	const at = childPointer(`${pointer}/sweep`, name);
	const problem = { code: "config-dims", pointer: at } as const;
	if (given.has(name)) {
		const fix = "Remove the single size: a sweep chooses its own.";
		yield { ...problem, says: "also has a single size", expected: "one of the two", at: "key", fix };
	}
	if (from >= to) {
		const fix = "Give the smallest size first: { sweep: { seq: [32, 512] } }.";
		yield { ...problem, says: `goes from ${from} to ${to}`, expected: "a smaller and a larger size", fix };
	}
	const ends = [from, to].map((size, index) => ({ name, size, pointer: `${at}/${index}` }));
	return { sweep: { dim: name, from, to }, ends };
}

function sizeProblem({ name, size, pointer }: GivenSize, dims: Dims): Problem | null {
	const range = dims[name];
	const problem = { code: "config-dims", pointer } as const;
	if (range === undefined) {
		const declared = Object.keys(dims);
		const bounds = `${formatName(name)}: { min: 1, opt: ${size}, max: ${size} }`;
		const names = `one of ${listNames(declared.map(formatName), 20)}`;
		return {
			...problem,
			says: "is not a dimension that this model declares under dims",
			expected: declared.length === 0 ? "a dimension declared there" : names,
			at: "key",
			...suggest(name, [...declared, ...workloadKeys], `Declare it under the model's dims: { ${bounds} }.`),
		};
	}
	if (size >= range.min && size <= range.max) return null;
	const fix = `Widen the range of ${formatName(name)} under dims, or time a size inside it.`;
	return {
		...problem,
		says: `is ${size}, outside the range that engines are built for`,
		expected: `${range.min} to ${range.max}`,
		fix,
	};
}

function defaultName(
	sizes: Readonly<Record<string, number>>,
	token: Token | null,
	{ streams, everyMs, sweep }: Pick<WorkloadConfig, "streams" | "everyMs" | "sweep">,
) {
	const others = Object.entries(sizes).filter(([name]) => token?.dims.includes(name) !== true);
	const parts = present([
		token?.label,
		...others.map(([name, size]) => `${name} ${size}`),
		sweep && `${sweep.dim} ${sweep.from} to ${sweep.to}`,
		streams > 1 && `${streams} streams`,
		everyMs !== undefined && `every ${everyMs} ms`,
	]);
	return parts.join(" · ") || "default";
}
