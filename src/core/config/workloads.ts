// Resolves workloads: `{ batch: 8, streams: 2 }` is sizes, streams, a name and the gates that hold for it.
import type { WorkloadFile } from "../schema/config.ts";
import { listNames } from "../text/labels.ts";
import type { WorkloadConfig } from "./config.ts";
import { defaultWorkloadName } from "./defaults.ts";
import { suggest } from "./did-you-mean.ts";
import { type DimProfiles, type Dims, hullOf, optimalSizes, profileFor } from "./dims.ts";
import { type Layer, readLayer, resolveGates } from "./gates.ts";
import { childPointer, formatName } from "./pointer.ts";
import { type Problem, type Resolution, resolveEach } from "./problem.ts";
import { checkName } from "./values.ts";

/** Keys of a workload that are no dimensions. */
export const workloadKeys: readonly string[] = ["name", "streams", "dims", "gates"];

export interface WorkloadContext {
	profiles: DimProfiles;
	/** Gates around the workload, from the widest to the narrowest. */
	layers: readonly Layer[];
	/** Wins over all. */
	inputs: Layer;
	/** Pointer of the list. */
	pointer: string;
}

/** An engine without a list has one workload; an empty list is none. */
export function* resolveWorkloads(file: readonly WorkloadFile[] | undefined, context: WorkloadContext): Resolution<WorkloadConfig[]> {
	if (file === undefined) return [yield* defaultWorkload(context)];
	const workloads = yield* resolveEach(file, (workload, index) =>
		resolveWorkload(workload, { ...context, pointer: childPointer(context.pointer, index) }),
	);
	yield* refuseTwins(workloads);
	return workloads;
}

function* defaultWorkload({ profiles, layers, inputs, pointer }: WorkloadContext): Resolution<WorkloadConfig> {
	return {
		name: defaultWorkloadName,
		dims: optimalSizes(profiles[0]),
		streams: 1,
		gates: yield* resolveGates([...layers, inputs]),
		pointer,
	};
}

function* resolveWorkload(file: WorkloadFile, context: WorkloadContext): Resolution<WorkloadConfig> {
	const { pointer, profiles, layers, inputs } = context;
	const given = yield* givenSizes(file, pointer);
	const dims = hullOf(profiles);
	let isValid = true;
	for (const [name, size] of given) isValid = (yield* checkSize({ name, ...size }, dims)) && isValid;
	const streams = file.streams ?? 1;
	const sizes = optimalSizes(isValid ? yield* pickProfile(given, context) : profiles[0]);
	for (const [name, { size }] of given) sizes[name] = size;
	if (file.name !== undefined) yield* checkName(childPointer(pointer, "name"), { name: file.name, what: "a workload", at: "value" });
	const layer = yield* readLayer(file.gates, childPointer(pointer, "gates"));
	return {
		name: file.name ?? defaultName(given, streams),
		dims: sizes,
		streams,
		gates: yield* resolveGates([...layers, layer, inputs]),
		pointer,
	};
}

type Given = Map<string, { size: number; pointer: string }>;

function* givenSizes(file: WorkloadFile, pointer: string): Resolution<Given> {
	const given: Given = new Map();
	for (const [name, size] of Object.entries(file)) {
		// Beside these keys the schema allows only whole numbers.
		if (!workloadKeys.includes(name)) given.set(name, { size: size as number, pointer: childPointer(pointer, name) });
	}
	for (const [name, size] of Object.entries(file.dims ?? {})) {
		const at = childPointer(childPointer(pointer, "dims"), name);
		if (given.has(name)) {
			yield {
				code: "config-dims",
				pointer: at,
				says: "is given twice",
				expected: "one size",
				fix: "Remove it here or beside dims.",
				at: "key",
			};
		}
		given.set(name, { size, pointer: at });
	}
	return given;
}

/** Called where each size is valid by itself: sizes that no one profile covers are a problem of the whole workload. */
function* pickProfile(given: Given, { profiles, pointer }: WorkloadContext): Resolution<Dims> {
	const profile = profileFor(profiles, new Map([...given].map(([name, { size }]) => [name, size])));
	if (profile !== null || profiles.length === 1) return profile ?? profiles[0];
	yield {
		code: "config-dims",
		pointer,
		says: "has sizes that no optimization profile holds together",
		expected: `sizes inside one of the ${profiles.length} profiles`,
		fix: "Widen a profile, add one, or time sizes inside one of them.",
	};
	return profiles[0];
}

function* checkSize(given: { name: string; size: number; pointer: string }, dims: Dims): Resolution<boolean> {
	const { name, size, pointer } = given;
	const range = dims[name];
	if (range !== undefined && size >= range.min && size <= range.max) return true;
	if (range === undefined) yield undeclared(given, dims);
	else {
		yield {
			code: "config-dims",
			pointer,
			says: `is ${size}, outside the range that engines are built for`,
			expected: `${range.min} to ${range.max}`,
			fix: `Widen the range of ${formatName(name)} under dims, or time a size inside it.`,
		};
	}
	return false;
}

function undeclared({ name, size, pointer }: { name: string; size: number; pointer: string }, dims: Dims): Problem {
	const declared = Object.keys(dims);
	const bounds = `${formatName(name)}: { min: 1, opt: ${size}, max: ${size} }`;
	return {
		code: "config-dims",
		pointer,
		says: "is not a dimension that this model declares under dims",
		expected: declared.length === 0 ? "a dimension declared there" : `one of ${listNames(declared.map(formatName), 20)}`,
		at: "key",
		...suggest(name, [...declared, ...workloadKeys], `Declare it under the model's dims: { ${bounds} }.`),
	};
}

function defaultName(given: Given, streams: number): string {
	const parts = [...given].map(([name, { size }]) => `${name} ${size}`);
	if (streams > 1) parts.push(`${streams} streams`);
	return parts.length === 0 ? defaultWorkloadName : parts.join(" · ");
}

function* refuseTwins(workloads: readonly WorkloadConfig[]): Resolution<void> {
	const seen = new Map<string, string>();
	for (const { name, pointer } of workloads) {
		const first = seen.get(name);
		if (first === undefined) seen.set(name, pointer);
		else {
			yield {
				pointer,
				says: `is called ${formatName(name)}, like the one`,
				duplicateOf: first,
				expected: "a unique name",
				fix: "Remove one of the two, or give them names: { name: …, batch: 8 }.",
			};
		}
	}
}
