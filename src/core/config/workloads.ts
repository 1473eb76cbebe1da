// Resolves the sizes of symbolic dimensions, and workloads such as `{ batch: 8, streams: 2 }`.
import type { DecoderFile, DimFile, WorkloadFile } from "../../../generated/config.ts";
import { decoderDims } from "../onnx/decoder.ts";
import { listNames } from "../text/labels.ts";
import type { DimRange, SweepConfig, WorkloadConfig } from "./config.ts";
import { suggest } from "./did-you-mean.ts";
import { type Layer, readLayer, resolveGates } from "./gates.ts";
import { childPointer, formatName } from "./pointer.ts";
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
		name: file.name ?? defaultName(sizes, { token, streams, everyMs, sweep: swept?.sweep }),
		dims: Object.assign(optimalSizes(profile ?? profiles[0]), ends.at(-1)),
		streams,
		...(everyMs !== undefined && { everyMs }),
		...(swept !== null && { sweep: swept.sweep }),
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
	/** Dimensions whose sizes the label tells. */
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
	{
		token,
		streams,
		everyMs,
		sweep,
	}: {
		token: Token | null;
		streams: number;
		everyMs: number | undefined;
		sweep: SweepConfig | undefined;
	},
): string {
	const others = Object.entries(sizes).filter(([name]) => token?.dims.includes(name) !== true);
	const parts = [
		...(token === null ? [] : [token.label]),
		...others.map(([name, size]) => `${name} ${size}`),
	];
	if (sweep !== undefined) parts.push(`${sweep.dim} ${sweep.from} to ${sweep.to}`);
	if (streams > 1) parts.push(`${streams} streams`);
	if (everyMs !== undefined) parts.push(`every ${everyMs} ms`);
	return parts.join(" · ") || "default";
}

export type Dims = Readonly<Record<string, DimRange>>;

export const maxDims = 200;

export function fixedRange(size: number): DimRange {
	return { min: size, opt: size, max: size };
}

export function* resolveDims(
	file: Readonly<Record<string, DimFile>> | undefined,
	from: { pointer: string; inherited?: Dims },
): Resolution<Dims> {
	const dims: Record<string, DimRange> = Object.assign(Object.create(null), from.inherited);
	for (const [name, size] of Object.entries(file ?? {})) {
		const pointer = childPointer(from.pointer, name);
		yield* checkName(pointer, { name, what: "a dimension" });
		const { min, opt, max } = typeof size === "number" ? fixedRange(size) : size;
		dims[name] = { min, opt, max };
		if (min <= opt && opt <= max) continue;
		const fix = "Put the three sizes in order; opt is the size that the engine is tuned for.";
		const says = `has min ${min}, opt ${opt}, max ${max}`;
		yield { code: "config-dims", pointer, says, expected: "min <= opt <= max", fix };
	}
	return dims;
}

function optimalSizes(dims: Dims): Record<string, number> {
	const sizes: Record<string, number> = Object.create(null);
	for (const [name, range] of Object.entries(dims)) sizes[name] = range.opt;
	return sizes;
}

type DimProfiles = readonly [Dims, ...Dims[]];

export function* resolveProfiles(
	file: readonly Readonly<Record<string, DimFile>>[] | undefined,
	from: { pointer: string; dims: Dims },
): Resolution<DimProfiles> {
	const inherited = from.dims;
	const profiles = yield* resolveEach(file ?? [], (dims, index) =>
		resolveDims(dims, { pointer: `${from.pointer}/${index}`, inherited }),
	);
	const names = new Set(profiles.flatMap((profile) => Object.keys(profile)));
	for (const [index, profile] of profiles.entries()) {
		const missing = [...names].find((name) => profile[name] === undefined);
		if (missing === undefined) continue;
		const says = `has no range for ${formatName(missing)}, which another profile has`;
		const fix = `Add ${formatName(missing)} here, or give it under dims for all profiles.`;
		const expected = "a range for every dimension in every profile";
		yield { code: "config-dims", pointer: `${from.pointer}/${index}`, says, expected, fix };
	}
	const [first = from.dims, ...rest] = profiles;
	return [first, ...rest];
}

export function hullOf([first, ...rest]: DimProfiles): Dims {
	const hull: Record<string, DimRange> = Object.assign(Object.create(null), first);
	for (const profile of rest) {
		for (const [name, range] of Object.entries(profile)) {
			const known = hull[name] ?? range;
			hull[name] = {
				min: Math.min(known.min, range.min),
				opt: known.opt,
				max: Math.max(known.max, range.max),
			};
		}
	}
	return hull;
}

/** @param all sizes that one profile has to hold. */
function profileFor(profiles: DimProfiles, all: readonly Readonly<Record<string, number>>[]): Dims | null {
	const fits = (size: number, range: DimRange | undefined) =>
		range === undefined || (size >= range.min && size <= range.max);
	return (
		profiles.find((profile) =>
			all.every((sizes) => Object.entries(sizes).every(([name, size]) => fits(size, profile[name]))),
		) ?? null
	);
}
