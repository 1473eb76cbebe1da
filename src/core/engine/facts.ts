// What one engine does in a component: its kernels, precisions, shapes, bytes and operations.
import { kernelName, layerFacts, layoutsOf } from "./fingerprint.ts";
import { takesTime } from "./layer.ts";
import { type ModelLayer, undelayed } from "./model.ts";
import { bytesMoved, operationsOf } from "./work.ts";

export interface PartFacts {
	kernels: readonly ModelLayer[];
	reformats: readonly ModelLayer[];
	/** Of the kernels, the one that computes most first, then the one that moves most. */
	precisions: readonly string[];
	regions: number;
	bytes: number | null;
	operations: number | null;
	weights: number;
	/** Shapes of what the kernels write, such as `8x16x32x32`. */
	shapes: string;
	structure: string;
	tactics: string;
	layouts: string;
	isTimed: boolean;
	time: PartTime;
}

export interface PartTime {
	/** Of one inference, milliseconds: of each layer the profiles that were not delayed. */
	ms: number;
	eachMs: readonly number[];
	withoutMs: readonly number[];
	launches: number;
}

const known = (values: readonly (number | null)[]): number | null =>
	values.includes(null) ? null : values.reduce<number>((sum, value) => sum + (value ?? 0), 0);

const joined = (layers: readonly ModelLayer[], factOf: (layer: ModelLayer) => string): string =>
	layers.map(factOf).sort().join("\n");

export function factsOf(layers: readonly ModelLayer[], profiles: number, overheadMs: number): PartFacts {
	const working = layers.filter(takesTime);
	const kernels = working.filter(({ kind }) => kind !== "reformat");
	const bySize = kernels
		.filter(({ kind }) => kind !== "quantize")
		.sort(
			(a, b) =>
				(operationsOf(b) ?? 0) - (operationsOf(a) ?? 0) || (bytesMoved(b) ?? 0) - (bytesMoved(a) ?? 0),
		);
	return {
		kernels,
		reformats: working.filter(({ kind }) => kind === "reformat"),
		precisions: [...new Set(bySize.flatMap(({ precision }) => precision ?? []))],
		regions: new Set(kernels.flatMap(({ region }) => region ?? [])).size,
		bytes: known(working.map(bytesMoved)),
		operations: known(kernels.map(operationsOf)),
		weights: kernels.reduce((sum, { weights }) => sum + (weights?.elements ?? 0), 0),
		shapes: joined(kernels, ({ outputs }) =>
			outputs
				.map(({ dims }) => dims.join("×"))
				.sort()
				.join(", "),
		),
		structure: joined(working, (layer) => (layer.type === null ? layer.kind : layerFacts(layer))),
		tactics: joined(kernels, kernelName),
		layouts: joined(kernels, layoutsOf),
		isTimed: profiles > 0,
		time: partTime(layers, profiles, overheadMs),
	};
}

function partTime(layers: readonly ModelLayer[], profiles: number, overheadMs: number): PartTime {
	const timed = layers.flatMap(({ timesMs }) => (undelayed(timesMs) > 0 ? [timesMs] : []));
	const sum = (of: (timesMs: readonly number[]) => number) =>
		timed.reduce((total, timesMs) => total + Math.max(0, of(timesMs) - overheadMs), 0);
	const all = Array.from({ length: profiles }, (_, at) => at);
	return {
		ms: sum(undelayed),
		eachMs: all.map((at) => sum((timesMs) => timesMs[at] ?? 0)),
		withoutMs: all.map((left) => sum((timesMs) => undelayed(timesMs.filter((_, at) => at !== left)))),
		launches: timed.length,
	};
}

export function isSameStructure({ structure: base }: PartFacts, { structure: head }: PartFacts): boolean {
	if (base === head || !/-1/.test(base + head)) return base === head;
	const [from, to] = [base, head].map((text) => text.split(/([x:,|\n])/));
	return (
		from?.length === to?.length &&
		from?.every((size, at) => size === to?.[at] || size === "-1" || to?.[at] === "-1") === true
	);
}

export function timeOf({ time }: PartFacts): number {
	return time.ms;
}
