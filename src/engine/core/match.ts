// Matches layers that do the same under different names, by what they compute and by their surroundings.
import { groupBy } from "../../core/group.ts";
import { unnumbered } from "./fingerprint.ts";
import { type EngineModel, type ModelLayer, type Neighbours, neighboursOf } from "./model.ts";

export interface Match {
	base: number;
	head: number;
	confidence: number;
}

export type Arm = "base" | "head";
type PerArm<Value> = Readonly<Record<Arm, Value>>;

export function operationClass(layer: ModelLayer): string {
	const { type, parameters, name, region, kind, outputs } = layer;
	if (kind === "quantize")
		return `to ${/^(?:fp|bf)(?:16|32)$/.test(outputs[0]?.dtype ?? "") ? "floats" : "8 bits"}`;
	const { ParameterType: operation } = parameters;
	if (typeof operation === "string") return operation;
	if (region !== null && name.startsWith("__myl_")) return unnumbered(name);
	return type ?? unnumbered(name).replace(/\d+/g, "#");
}

const outputDims = ({ outputs }: ModelLayer) => outputs.map(({ dims }) => dims.join("x")).join(",");

export function layerLabel(layer: ModelLayer): string {
	const { weights, parameters } = layer;
	const { Kernel: kernel, Stride: stride, Groups: groups, WindowSize: window } = parameters;
	const elements = weights?.elements ?? 0;
	return [operationClass(layer), outputDims(layer), elements, kernel, stride, groups, window].join(" ");
}

const rounds = 6;

interface Side {
	layers: readonly ModelLayer[];
	near: Neighbours;
	labels: readonly (readonly number[])[];
}

function sideOf({ layers }: EngineModel, numbers: Map<string, number>) {
	const near = neighboursOf(layers);
	const numberOf = (label: string) => {
		const number = numbers.get(label) ?? numbers.size;
		numbers.set(label, number);
		return number;
	};
	const labels = [layers.map((layer) => numberOf(layerLabel(layer)))];
	for (let round = 0; round < rounds; round += 1) {
		const before = labels[0] ?? [];
		const around = (edges: readonly number[] = []) => edges.map((at) => before[at]).sort();
		const labelOf = (at: number) => `${before[at]}<${around(near.sources[at])}>${around(near.readers[at])}`;
		labels.unshift(layers.map((_, at) => numberOf(labelOf(at))));
	}
	return { layers, near, labels };
}

export function matchStructures(
	engines: PerArm<EngineModel>,
	open: PerArm<ReadonlySet<number>>,
	known: readonly Match[],
): Match[] {
	const numbers = new Map<string, number>();
	const sides = { base: sideOf(engines.base, numbers), head: sideOf(engines.head, numbers) };
	const left = { base: new Set(open.base), head: new Set(open.head) };
	const matches: Match[] = [];
	const add = (match: Match) => {
		left.base.delete(match.base);
		left.head.delete(match.head);
		matches.push(match);
	};
	const addEqual = (round: number, confident: { one: number; several: number }) => {
		const group = (arm: Arm) => groupBy(left[arm], (at) => sides[arm].labels[round]?.[at]);
		const heads = group("head");
		for (const [label, base] of group("base")) {
			const head = heads.get(label);
			const confidence = base.length === 1 ? confident.one : confident.several;
			if (head?.length === base.length)
				for (const [at, one] of base.entries()) add({ base: one, head: head[at] ?? 0, confidence });
		}
	};
	for (let round = 0; round < rounds; round += 1) addEqual(round, { one: 0.95, several: 0.85 });
	for (const match of alignInOrder(sides, left, [...known, ...matches])) add(match);
	addEqual(rounds, { one: 0.7, several: 0.7 });
	return [...matches, ...similar(sides, left, [...known, ...matches])];
}

/** Engines run their layers in similar order. */
function alignInOrder(sides: PerArm<Side>, left: PerArm<ReadonlySet<number>>, known: readonly Match[]) {
	if (left.base.size === 0 || left.head.size === 0) return [];
	const marked = (arm: Arm) => {
		const own = known.map((match, pair) => ({ at: match[arm], mark: `pair ${pair}` }));
		const open = [...left[arm]].map((at) => ({ at, mark: `${sides[arm].labels[rounds]?.[at]}` }));
		return [...own, ...open].sort((one, other) => one.at - other.at);
	};
	const [bases, heads] = [marked("base"), marked("head")];
	const common = commonSequence(
		bases.map(({ mark }) => mark),
		heads.map(({ mark }) => mark),
	);
	return common
		.map(([one, other]) => ({ base: bases[one]?.at ?? 0, head: heads[other]?.at ?? 0, confidence: 0.8 }))
		.filter(({ base }) => left.base.has(base));
}

function similar(sides: PerArm<Side>, open: PerArm<Set<number>>, known: readonly Match[]) {
	const queue = [...known];
	const near = (arm: Arm, at: number, edges: keyof Neighbours) =>
		(sides[arm].near[edges][at] ?? []).filter((one) => open[arm].has(one));
	for (const match of queue) {
		for (const edges of ["readers", "sources"] as const) {
			for (const head of near("head", match.head, edges)) {
				const best = near("base", match.base, edges)
					.map((base) => ({
						base,
						head,
						confidence: similarity(sides.base.layers[base], sides.head.layers[head]),
					}))
					.reduce<Match | null>((most, one) => (one.confidence > (most?.confidence ?? 0) ? one : most), null);
				if (best === null) continue;
				open.base.delete(best.base);
				open.head.delete(head);
				queue.push(best);
			}
		}
	}
	return [...queue.slice(known.length), ...replaced(sides, open, queue)];
}

/** 0 for different operations, else 0.5 to 0.8. */
function similarity(base: ModelLayer | undefined, head: ModelLayer | undefined) {
	if (base === undefined || head === undefined || operationClass(base) !== operationClass(head)) return 0;
	const same = [
		outputDims(base) === outputDims(head),
		base.weights?.elements === head.weights?.elements,
		base.nodes.length === head.nodes.length,
	];
	return 0.5 + 0.1 * same.filter(Boolean).length;
}

/** Myelin may fuse the same work differently. */
function replaced(sides: PerArm<Side>, open: PerArm<Set<number>>, known: readonly Match[]) {
	const { base: old, head: fresh } = sides;
	const partners = new Map(known.map(({ base, head }) => [head, base]));
	const isMade = (arm: Arm, at: number) => open[arm].has(at) && sides[arm].layers[at]?.region !== null;
	return [...open.head].flatMap((head) => {
		if (!isMade("head", head)) return [];
		const around = (edges: keyof Neighbours) =>
			(fresh.near[edges][head] ?? []).flatMap((at) => partners.get(at) ?? []);
		const after = new Set(around("readers"));
		const behind = new Set(around("sources").flatMap((at) => old.near.readers[at] ?? []));
		const fits = [...behind].filter(
			(at) => isMade("base", at) && old.near.readers[at]?.some((reader) => after.has(reader)),
		);
		const [base] = fits;
		if (base === undefined || fits.length > 1) return [];
		open.base.delete(base);
		return [{ base, head, confidence: 0.5 }];
	});
}

const maxCells = 16_000_000;

export function commonSequence(
	base: readonly string[],
	head: readonly string[],
): (readonly [base: number, head: number])[] {
	const width = head.length + 1;
	if ((base.length + 1) * width > maxCells) return [];
	const longest = new Uint16Array((base.length + 1) * width);
	const lengthAt = (at: number) => longest[at] ?? 0;
	for (let row = base.length - 1; row >= 0; row -= 1) {
		for (let column = head.length - 1; column >= 0; column -= 1) {
			const here = row * width + column;
			longest[here] =
				base[row] === head[column]
					? lengthAt(here + width + 1) + 1
					: Math.max(lengthAt(here + width), lengthAt(here + 1));
		}
	}
	const found: (readonly [number, number])[] = [];
	let [row, column] = [0, 0];
	while (row < base.length && column < head.length) {
		const here = row * width + column;
		if (base[row] === head[column]) found.push([row++, column++]);
		else if (lengthAt(here + width) >= lengthAt(here + 1)) row += 1;
		else column += 1;
	}
	return found;
}
