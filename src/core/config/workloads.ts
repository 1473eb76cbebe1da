// Resolves workloads such as `{ batch: 8, streams: 2 }`.
import type { WorkloadFile } from "../../../generated/config.ts";
import { listNames } from "../text/labels.ts";
import type { WorkloadConfig } from "./config.ts";
import { defaultWorkloadName } from "./defaults.ts";
import { suggest } from "./did-you-mean.ts";
import { type DimProfiles, type Dims, hullOf, optimalSizes, profileFor } from "./dims.ts";
import { type Layer, readLayer, resolveGates } from "./gates.ts";
import { childPointer, formatName } from "./pointer.ts";
import { type Problem, type Resolution, resolveEach } from "./problem.ts";
import { checkName } from "./values.ts";

export const workloadKeys: readonly string[] = ["name", "streams", "dims", "gates"];

export interface WorkloadContext {
	profiles: DimProfiles;
	layers: readonly Layer[];
	inputs: Layer;
	pointer: string;
}

export function* resolveWorkloads(
	file: readonly WorkloadFile[] | undefined,
	context: WorkloadContext,
): Resolution<WorkloadConfig[]> {
	const { pointer } = context;
	if (file === undefined) return [yield* resolveWorkload({}, context)];
	const workloads = yield* resolveEach(file, (workload, index) =>
		resolveWorkload(workload, { ...context, pointer: `${pointer}/${index}` }),
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
	{ pointer, profiles, layers, inputs }: WorkloadContext,
): Resolution<WorkloadConfig> {
	const { streams = 1 } = file;
	const given = yield* givenSizes(file, pointer);
	const dims = hullOf(profiles);
	let isValid = true;
	for (const size of given.values()) {
		const problem = sizeProblem(size, dims);
		if (problem !== null) yield problem;
		isValid &&= problem === null;
	}
	const sizes = Object.fromEntries([...given].map(([name, { size }]) => [name, size]));
	const profile = isValid ? profileFor(profiles, sizes) : profiles[0];
	if (profile === null && profiles.length > 1) {
		const says = "has sizes that no optimization profile holds together";
		const expected = `sizes inside one of the ${profiles.length} profiles`;
		const fix = "Widen a profile, add one, or time sizes inside one of them.";
		yield { code: "config-dims", pointer, says, expected, fix };
	}
	if (file.name !== undefined)
		yield* checkName(`${pointer}/name`, { name: file.name, what: "a workload", at: "value" });
	const layer = yield* readLayer(file.gates, `${pointer}/gates`);
	return {
		name: file.name ?? defaultName(sizes, streams),
		dims: Object.assign(optimalSizes(profile ?? profiles[0]), sizes),
		streams,
		gates: yield* resolveGates([...layers, layer, inputs]),
		pointer,
	};
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

function sizeProblem({ name, size, pointer }: GivenSize, dims: Dims): Problem | null {
	const range = dims[name];
	const problem = { code: "config-dims", pointer } as const;
	if (range === undefined) {
		const declared = Object.keys(dims);
		const bounds = `${formatName(name)}: { min: 1, opt: ${size}, max: ${size} }`;
		return {
			...problem,
			says: "is not a dimension that this model declares under dims",
			expected:
				declared.length === 0
					? "a dimension declared there"
					: `one of ${listNames(declared.map(formatName), 20)}`,
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

function defaultName(sizes: Readonly<Record<string, number>>, streams: number): string {
	const parts = Object.entries(sizes).map(([name, size]) => `${name} ${size}`);
	if (streams > 1) parts.push(`${streams} streams`);
	return parts.join(" · ") || defaultWorkloadName;
}
