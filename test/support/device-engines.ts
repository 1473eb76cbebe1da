// TensorRT 10.6 on an H200, recorded by test/oracles/planted.
import { readdirSync, readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { tCritical } from "../../src/core/stats/quantile.ts";
import { shorten } from "../../src/core/text/escape.ts";
import { componentsOf } from "../../src/engine/core/components.ts";
import { type LayerProfile, takesTime } from "../../src/engine/core/layer.ts";
import { engineModel, meanOf } from "../../src/engine/core/model.ts";
import { parseLayerInfo } from "../../src/formats/trtexec/layers.ts";
import { diffOf, type RecordedEngine } from "./recorded-engines.ts";

/** Two days, other machines: what was tuned on the first was tried on the second, untouched. */
export const recordings = ["first", "second"] as const;

interface Timed {
	mediansMs: number[];
	names: number[];
	averagesMs: number[][];
}

interface Packed {
	layers: object[];
	names: string[];
	engines: Record<string, { layers: number[]; bindings: string[] }>;
	groups: { name: string; arms: Record<string, Timed> }[];
	truth: Record<string, Truth>;
}

interface Truth {
	base: string;
	/** `rebuild`: the same network, built again. */
	kind: string;
	/** Nodes that the change touches: of the head, or of the base where it has none. */
	culprits: string[];
}

export interface DevicePair extends Truth {
	name: string;
	recording: (typeof recordings)[number];
	base: string;
	engines: { base: RecordedEngine; head: RecordedEngine };
	enginesMs: { base: number; head: number };
	timedHalfWidthMs: number;
}

export function devicePairs(): DevicePair[] {
	return recordings.flatMap((recording) => {
		const folder = `test/fixtures/engines/planted/${recording}`;
		const read = (file: string): Packed =>
			JSON.parse(gunzipSync(readFileSync(`${folder}/${file}`)).toString("utf8"));
		return readdirSync(folder).flatMap((file) =>
			pairsOf(read(file), file.replace(".json.gz", "")).map((pair) => ({ ...pair, recording })),
		);
	});
}

function pairsOf(packed: Packed, base: string): Omit<DevicePair, "recording">[] {
	return packed.groups.flatMap(({ arms }) =>
		Object.entries(arms)
			.filter(([arm]) => arm !== base)
			.map(([arm, head]) => {
				const own = arms[base]!;
				const truth = packed.truth[arm]!;
				return {
					...truth,
					name: arm,
					engines: { base: engineOf(packed, base, own), head: engineOf(packed, arm, head) },
					enginesMs: { base: meanOf(own.mediansMs), head: meanOf(head.mediansMs) },
					timedHalfWidthMs: halfWidth(own.mediansMs, head.mediansMs),
				};
			}),
	);
}

function engineOf({ layers, names, engines }: Packed, arm: string, timed: Timed): RecordedEngine {
	const { layers: own, bindings } = engines[arm]!;
	const info = parseLayerInfo(JSON.stringify({ Layers: own.map((at) => layers[at]), Bindings: bindings }));
	const profiles = timed.averagesMs.map((averages): LayerProfile => {
		const rows = averages.map((averageMs, at) => {
			const name = names[timed.names[at] ?? -1] ?? "";
			return { name, averageMs, share: 0 };
		});
		return { iterations: 200, layers: rows };
	});
	return { info, profiles };
}

function halfWidth(base: readonly number[], head: readonly number[]): number {
	const squares = [base, head].map((all) => all.reduce((sum, ms) => sum + (ms - meanOf(all)) ** 2, 0));
	const df = base.length + head.length - 2;
	const variance = ((squares[0] ?? 0) + (squares[1] ?? 0)) / df;
	return tCritical(0.05, df) * Math.sqrt(variance * (1 / base.length + 1 / head.length));
}

export interface PairScore {
	/** Share of the nodes in the head's kernels whose component has kernels in both engines. */
	aligned: number;
	rows: number;
	unfounded: number;
	warnings: readonly string[];
	named: boolean;
	share: number;
	covered: boolean;
	errorMs: number;
	halfWidthMs: number;
	timedHalfWidthMs: number;
}

export function scoreOfPair({ engines, enginesMs, timedHalfWidthMs, culprits }: DevicePair): PairScore {
	const { rows, account, warnings } = diffOf(engines.base, engines.head, { gpu: "NVIDIA H200", enginesMs });
	const [costMs, attributedMs] = [enginesMs.head - enginesMs.base, account?.attributedMs ?? 0];
	const [errorMs, halfWidthMs] = [Math.abs(attributedMs - costMs), account?.halfWidthMs ?? 0];
	const own = new Set(culprits.flatMap((node) => [node, shorten(node, 48), shorten(node, 60)]));
	const shown = rows
		.slice(0, 3)
		.flatMap(({ label, members, causes }) => [label, ...members, ...causes.map(({ says }) => says)]);
	return {
		aligned: alignedShare(engines),
		rows: rows.length,
		unfounded: rows.filter(({ causes }) => causes.length === 0).length,
		warnings,
		named: shown.some((text) => text.split(/ \+ |`/).some((node) => own.has(node))),
		share: attributedMs / costMs,
		covered: errorMs <= Math.hypot(halfWidthMs, timedHalfWidthMs),
		errorMs,
		halfWidthMs,
		timedHalfWidthMs,
	};
}

function alignedShare(engines: DevicePair["engines"]): number {
	const models = {
		base: engineModel({ ...engines.base, graph: null }),
		head: engineModel({ ...engines.head, graph: null }),
	};
	const components = componentsOf(models).map(({ base, head }) => ({
		nodes: new Set(head.filter(takesTime).flatMap(({ nodes }) => nodes)).size,
		isMatched: base.some(takesTime),
	}));
	const total = components.reduce((sum, { nodes }) => sum + nodes, 0);
	return components.reduce((sum, { nodes, isMatched }) => sum + (isMatched ? nodes : 0), 0) / total;
}
