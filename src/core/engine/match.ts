// Finds layers of two engines that do the same although their names differ: by what they compute and what surrounds them.
import { groupBy } from "../group.ts";
import { unnumbered } from "./fingerprint.ts";
import type { EngineModel, ModelLayer } from "./model.ts";
import { type Neighbours, neighboursOf } from "./model.ts";
import { commonSequence } from "./sequence.ts";

export interface Match {
	base: number;
	head: number;
	confidence: number;
}

export function operationClass({
	type,
	parameters,
	name,
	region,
	kind: role,
	outputs: [output],
}: ModelLayer): string {
	if (role === "quantize")
		return `to ${/^(?:fp|bf)(?:16|32)$/.test(output?.dtype ?? "") ? "floats" : "8 bits"}`;
	const { ParameterType: kind } = parameters;
	if (typeof kind === "string") return kind;
	// Myelin names generated kernels after their operations.
	return region !== null && name.startsWith("__myl_")
		? unnumbered(name)
		: (type ?? unnumbered(name).replace(/\d+/g, "#"));
}

const outputDims = ({ outputs }: ModelLayer): string => outputs.map(({ dims }) => dims.join("x")).join(",");

export function layerLabel(layer: ModelLayer): string {
	const { weights, parameters } = layer;
	const { Kernel: kernel, Stride: stride, Groups: groups, WindowSize: window } = parameters;
	return [
		operationClass(layer),
		outputDims(layer),
		weights?.elements ?? 0,
		kernel,
		stride,
		groups,
		window,
	].join(" ");
}

const rounds = 6;

interface Side {
	layers: readonly ModelLayer[];
	near: Neighbours;
	labels: readonly (readonly number[])[];
}

function sideOf({ layers }: EngineModel, numbers: Map<string, number>): Side {
	const near = neighboursOf(layers);
	const numberOf = (label: string): number => {
		const number = numbers.get(label) ?? numbers.size;
		numbers.set(label, number);
		return number;
	};
	const labels = [layers.map((layer) => numberOf(layerLabel(layer)))];
	for (let round = 0; round < rounds; round += 1) {
		const before = labels[0] ?? [];
		const around = (edges: readonly number[] = []) => edges.map((at) => before[at]).sort();
		labels.unshift(
			layers.map((_, at) =>
				numberOf(`${before[at]}<${around(near.sources[at])}>${around(near.readers[at])}`),
			),
		);
	}
	return { layers, near, labels };
}

/** Matches among the given layers alone; `known` pairs others that are matched already. */
export function matchStructures(
	engines: { base: EngineModel; head: EngineModel },
	open: { base: ReadonlySet<number>; head: ReadonlySet<number> },
	known: readonly Match[],
): Match[] {
	const numbers = new Map<string, number>();
	const sides = { base: sideOf(engines.base, numbers), head: sideOf(engines.head, numbers) };
	const left = { base: new Set(open.base), head: new Set(open.head) };
	const matches: Match[] = [];
	const add = (match: Match): void => {
		left.base.delete(match.base);
		left.head.delete(match.head);
		matches.push(match);
	};
	const addEqual = (round: number, confident: readonly [one: number, several: number]): void => {
		for (const [base, head] of equalGroups(sides, left, round)) {
			const confidence = confident[base.length === 1 ? 0 : 1];
			for (const [at, one] of base.entries()) add({ base: one, head: head[at] ?? 0, confidence });
		}
	};
	for (let round = 0; round < rounds; round += 1) addEqual(round, [0.95, 0.85]);
	for (const match of alignInOrder(sides, left, [...known, ...matches])) add(match);
	addEqual(rounds, [0.7, 0.7]);
	for (const match of similar(sides, left, [...known, ...matches])) add(match);
	return matches;
}

/** Engines run their layers in about one order: by their own labels, between those that are matched already. */
function alignInOrder(
	sides: Record<"base" | "head", Side>,
	left: Record<"base" | "head", ReadonlySet<number>>,
	known: readonly Match[],
): Match[] {
	if (left.base.size === 0 || left.head.size === 0) return [];
	const markedOf = (arm: "base" | "head"): (readonly [at: number, mark: string])[] => {
		const own = known.map((match, pair) => [match[arm], `pair ${pair}`] as const);
		const open = [...left[arm]].map((at) => [at, `${sides[arm].labels[rounds]?.[at]}`] as const);
		return [...own, ...open].sort(([one], [other]) => one - other);
	};
	const [base, head] = [markedOf("base"), markedOf("head")];
	const marks = [base, head].map((marked) => marked.map(([, mark]) => mark));
	const pairs = commonSequence(marks[0] ?? [], marks[1] ?? []).map(
		([one, other]) => [base[one]?.[0] ?? 0, head[other]?.[0] ?? 0] as const,
	);
	return pairs
		.filter(([one]) => left.base.has(one))
		.map(([one, other]) => ({ base: one, head: other, confidence: 0.8 }));
}

function equalGroups(
	sides: Record<"base" | "head", Side>,
	left: Record<"base" | "head", ReadonlySet<number>>,
	round: number,
) {
	const group = (arm: "base" | "head") => groupBy(left[arm], (at) => sides[arm].labels[round]?.[at] ?? "");
	const heads = group("head");
	return [...group("base")].flatMap(([key, base]): [number[], number[]][] => {
		const head = heads.get(key);
		return head?.length === base.length ? [[base, head]] : [];
	});
}

function similar(
	sides: Record<"base" | "head", Side>,
	left: Record<"base" | "head", ReadonlySet<number>>,
	known: readonly Match[],
): Match[] {
	const open = { base: new Set(left.base), head: new Set(left.head) };
	const queue = [...known];
	const found: Match[] = [];
	const near = (arm: "base" | "head", at: number, edges: keyof Neighbours) =>
		(sides[arm].near[edges][at] ?? []).filter((one) => open[arm].has(one));
	for (const match of queue) {
		for (const edges of ["readers", "sources"] as const) {
			for (const head of near("head", match.head, edges)) {
				const best = bestOf(near("base", match.base, edges), head, sides);
				if (best === null) continue;
				open.base.delete(best.base);
				open.head.delete(head);
				found.push(best);
				queue.push(best);
			}
		}
	}
	return [...found, ...replaced(sides, open, queue)];
}

/** Myelin fuses one work in several ways: what it made between the same neighbours is the same work. */
function replaced(
	sides: Record<"base" | "head", Side>,
	open: Record<"base" | "head", Set<number>>,
	known: readonly Match[],
): Match[] {
	const partners = new Map(known.map(({ base, head }) => [head, base]));
	const isMade = (arm: "base" | "head", at: number): boolean =>
		open[arm].has(at) && sides[arm].layers[at]?.region !== null;
	return [...open.head].flatMap((head): Match[] => {
		if (!isMade("head", head)) return [];
		const around = (edges: keyof Neighbours) =>
			(sides.head.near[edges][head] ?? []).flatMap((at) => partners.get(at) ?? []);
		const after = new Set(around("readers"));
		const behind = new Set(around("sources").flatMap((at) => sides.base.near.readers[at] ?? []));
		const fits = [...behind].filter(
			(at) => isMade("base", at) && sides.base.near.readers[at]?.some((reader) => after.has(reader)),
		);
		const [base] = fits;
		if (base === undefined || fits.length > 1) return [];
		open.base.delete(base);
		return [{ base, head, confidence: 0.5 }];
	});
}

function bestOf(
	candidates: readonly number[],
	head: number,
	sides: { base: Side; head: Side },
): Match | null {
	const scored = candidates.map((base) => ({
		base,
		head,
		confidence: similarity(sides.base.layers[base], sides.head.layers[head]),
	}));
	return scored.reduce<Match | null>(
		(best, one) => (one.confidence >= 0.5 && one.confidence > (best?.confidence ?? 0) ? one : best),
		null,
	);
}

/** Below 0.5: another operation. */
function similarity(base: ModelLayer | undefined, head: ModelLayer | undefined): number {
	if (base === undefined || head === undefined || operationClass(base) !== operationClass(head)) return 0;
	const same = [
		outputDims(base) === outputDims(head),
		base.weights?.elements === head.weights?.elements,
		base.nodes.length === head.nodes.length,
	];
	return 0.5 + 0.1 * same.filter(Boolean).length;
}
