// Resolves workloads: `{ batch: 8, streams: 2 }` is sizes, streams, a name and the gates that hold for it.
import type { WorkloadFile } from "../schema/config.ts";
import type { WorkloadConfig } from "./config.ts";
import { defaultWorkloadName } from "./defaults.ts";
import { didYouMean } from "./did-you-mean.ts";
import { type Dims, optimalSizes } from "./dims.ts";
import { type Layer, readLayer, resolveGates } from "./gates.ts";
import { childPointer, formatName } from "./pointer.ts";
import { type DimProfiles, hullOf, profileFor } from "./profiles.ts";
import { complain, hasEnough, type Resolving } from "./resolving.ts";
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
export function resolveWorkloads(
	resolving: Resolving,
	file: readonly WorkloadFile[] | undefined,
	context: WorkloadContext,
): WorkloadConfig[] {
	if (file === undefined) return [defaultWorkload(resolving, context)];
	const workloads = file.map((workload, index) =>
		resolveWorkload(resolving, workload, { ...context, pointer: childPointer(context.pointer, index) }),
	);
	refuseTwins(resolving, workloads);
	return workloads;
}

function defaultWorkload(resolving: Resolving, { profiles, layers, inputs, pointer }: WorkloadContext): WorkloadConfig {
	resolving.sources[pointer] ??= { kind: "default" };
	return {
		name: defaultWorkloadName,
		dims: optimalSizes(profiles[0]),
		streams: 1,
		gates: resolveGates(resolving, [...layers, inputs]),
		pointer,
	};
}

function resolveWorkload(resolving: Resolving, file: WorkloadFile, context: WorkloadContext): WorkloadConfig {
	const { pointer, profiles, layers, inputs } = context;
	const given = givenSizes(resolving, file, pointer);
	const dims = hullOf(profiles);
	for (const [name, size] of given) if (!hasEnough(resolving)) checkSize(resolving, { name, ...size }, dims);
	const streams = file.streams ?? 1;
	const sizes = optimalSizes(pickProfile(resolving, given, context));
	for (const [name, { size }] of given) sizes[name] = size;
	if (file.name !== undefined) checkName(resolving, childPointer(pointer, "name"), { name: file.name, what: "a workload", at: "value" });
	const layer = readLayer(resolving, file.gates, childPointer(pointer, "gates"));
	return {
		name: file.name ?? defaultName(given, streams),
		dims: sizes,
		streams,
		gates: resolveGates(resolving, [...layers, layer, inputs]),
		pointer,
	};
}

type Given = Map<string, { size: number; pointer: string }>;

function givenSizes(resolving: Resolving, file: WorkloadFile, pointer: string): Given {
	const given: Given = new Map();
	for (const [name, size] of Object.entries(file)) {
		// The schema lets nothing else but whole numbers stand beside these keys.
		if (!workloadKeys.includes(name)) given.set(name, { size: size as number, pointer: childPointer(pointer, name) });
	}
	for (const [name, size] of Object.entries(file.dims ?? {})) {
		const at = childPointer(childPointer(pointer, "dims"), name);
		if (given.has(name)) {
			complain(resolving, {
				code: "config-dims",
				pointer: at,
				says: "is given twice",
				expected: "one size",
				fix: "Remove it here or beside dims.",
				at: "key",
			});
		}
		given.set(name, { size, pointer: at });
	}
	return given;
}

/** Sizes that no profile holds together are a fault of the whole workload; each for itself is complained of where it stands. */
function pickProfile(resolving: Resolving, given: Given, { profiles, pointer }: WorkloadContext): Dims {
	const profile = profileFor(profiles, new Map([...given].map(([name, { size }]) => [name, size])));
	if (profile !== null || profiles.length === 1) return profile ?? profiles[0];
	if (hasEnough(resolving) || [...resolving.complaints.keys()].some((other) => other.startsWith(`${pointer}/`))) return profiles[0];
	complain(resolving, {
		code: "config-dims",
		pointer,
		says: "has sizes that no optimization profile holds together",
		expected: `sizes inside one of the ${profiles.length} profiles`,
		got: [...given].map(([name, { size }]) => `${name} ${size}`).join(", "),
		fix: "Widen a profile, add one, or time sizes inside one of them.",
	});
	return profiles[0];
}

function checkSize(resolving: Resolving, given: { name: string; size: number; pointer: string }, dims: Dims): void {
	const { name, size, pointer } = given;
	const range = dims[name];
	if (range === undefined) complainUndeclared(resolving, given, dims);
	else if (size < range.min || size > range.max) {
		complain(resolving, {
			code: "config-dims",
			pointer,
			says: `is ${size}, outside the range that engines are built for`,
			expected: `${range.min} to ${range.max}`,
			got: String(size),
			fix: `Widen the range of ${formatName(name)} under dims, or time a size inside it.`,
		});
	}
}

function complainUndeclared(
	resolving: Resolving,
	{ name, size, pointer }: { name: string; size: number; pointer: string },
	dims: Dims,
): void {
	const declared = Object.keys(dims);
	const meant = didYouMean(name, [...declared, ...workloadKeys]);
	const shown = declared.slice(0, 20).map(formatName).join(", ");
	complain(resolving, {
		code: "config-dims",
		pointer,
		says: "is no dimension that this model declares under dims",
		expected: declared.length === 0 ? "a dimension declared there" : `one of ${shown}`,
		got: formatName(name),
		fix:
			meant === undefined
				? `Declare it under the model's dims: { ${formatName(name)}: { min: 1, opt: ${size}, max: ${size} } }.`
				: `Write ${meant}.`,
		at: "key",
		...(meant === undefined ? {} : { meant }),
	});
}

function defaultName(given: Given, streams: number): string {
	const parts = [...given].map(([name, { size }]) => `${name} ${size}`);
	if (streams > 1) parts.push(`${streams} streams`);
	return parts.length === 0 ? defaultWorkloadName : parts.join(" · ");
}

function refuseTwins(resolving: Resolving, workloads: readonly WorkloadConfig[]): void {
	const seen = new Map<string, string>();
	for (const { name, pointer } of workloads) {
		const first = seen.get(name);
		if (first === undefined) seen.set(name, pointer);
		else {
			const place = resolving.places.get(first);
			complain(resolving, {
				code: "config-value",
				pointer,
				says: `is called ${formatName(name)} as the one at line ${place?.value.line ?? "?"}`,
				expected: "a name of its own",
				got: formatName(name),
				fix: "Remove one of the two, or give them names: { name: …, batch: 8 }.",
			});
		}
	}
}
