// Where the time went: the explained change, or the slowest layers of one engine, and all layers of each side folded.

import type {
	Arm,
	ArmLayers,
	TimedLayer,
	WorkloadLayers,
	WorkloadResult,
} from "../../../../generated/result.ts";
import { diffOfLayers } from "../../explain/layers.ts";
import { cleanName } from "../../text/escape.ts";
import { counted, subjectName } from "../../text/labels.ts";
import { formatCount, formatPercent } from "../../text/units.ts";
import { type LayerUnit, layerUnit } from "../layer-format.ts";
import { enginePart } from "./engine.ts";
import { type Column, folded, html, type Markup, moreText, type Piece, sortableTable } from "./markup.ts";

const mostSlow = 8;
const maxRows = 1000;

interface ShownArm {
	arm: Arm;
	layers: ArmLayers;
	unit: LayerUnit;
}

/** The head first; both in one unit. */
function shownArms(layers: WorkloadLayers | undefined): ShownArm[] {
	const arms = (["head", "base"] as const).flatMap((arm) => {
		const own = layers?.[arm] ?? null;
		return own === null || own.layers.length === 0 ? [] : [{ arm, layers: own }];
	});
	const unit = layerUnit(
		arms.flatMap((one) => one.layers.layers).reduce((most, { meanMs }) => Math.max(most, meanMs), 0),
		arms[0]?.layers.unit,
	);
	return arms.map((one) => ({ ...one, unit }));
}

function nameCell({ name, type, precision, tactic }: TimedLayer): Piece {
	const known = [type, precision].flatMap((text) => (text === undefined ? [] : [cleanName(text, 40)]));
	const kernel =
		tactic === undefined ? null : html`${known.length > 0 ? " · " : ""}<code>${cleanName(tactic, 60)}</code>`;
	return html`<code>${cleanName(name, 120)}</code>${known.length === 0 && kernel === null ? null : html`<small>${known.join(" · ")}${kernel}</small>`}`;
}

function columns({ layers, unit }: ShownArm, title: string): Column<TimedLayer>[] {
	const order = new Map(layers.layers.map((layer, index) => [layer, index + 1]));
	return [
		{ title: "#", numeric: true, cell: (layer) => order.get(layer) ?? "" },
		{ title, heading: true, cell: nameCell },
		{
			title: `${unit.of}, ${unit.name}`,
			numeric: true,
			cell: ({ meanMs }) => unit.format(meanMs),
			sortBy: ({ meanMs }) => meanMs,
		},
		{
			title: "share",
			numeric: true,
			cell: ({ share }) => formatPercent(share),
			sortBy: ({ share }) => share,
		},
	];
}

function slowestTable(shown: ShownArm, name: string): Piece {
	const slowest = [...shown.layers.layers].sort((a, b) => b.meanMs - a.meanMs).slice(0, mostSlow);
	return sortableTable(`slowest layers of ${name}`, columns(shown, "Slowest layers"), slowest);
}

function fullTable(shown: ShownArm, name: string): Markup {
	const { arm, layers } = shown;
	const total = layers.layers.length;
	const table = sortableTable(
		`all layers of ${name}, ${arm}`,
		columns(shown, "Layer"),
		layers.layers.slice(0, maxRows),
	);
	const title =
		total < layers.count ? `The ${counted(total, "slowest layer")}` : `All ${counted(total, "layer")}`;
	return folded(`${title} of the ${arm}`, [table, moreText(total - maxRows, "layers")]);
}

function legend(arms: readonly ShownArm[]): Markup {
	const inBaseOrder = arms.toReversed();
	const totals = inBaseOrder.map(({ layers, unit }) => unit.format(layers.totalMs)).join(" → ");
	const inferences = inBaseOrder.map(({ layers }) => formatCount(layers.iterations)).join(" and ");
	if (arms[0]?.layers.unit !== undefined)
		return html`<p class="legend">all layers together ${totals} ${arms[0].unit.name} · counted in a separate run with ONNX Runtime's profiler, which adds about 0.01 million for each node; not used by any gate</p>
`;
	return html`<p class="legend">all layers together ${totals} ${arms[0]?.unit.name ?? ""} · means of ${inferences} inferences in a separate run under TensorRT's profiler, which is slower than the timed runs; not used by any gate</p>
`;
}

/** `open`: what changed is shown unfolded, for a workload that needs attention. */
export function layersPart(workload: WorkloadResult, { open }: { open: boolean }): Piece {
	const arms = shownArms(workload.layers);
	const [first] = arms;
	if (first === undefined) return null;
	const name = subjectName(workload);
	const what = first.unit.of;
	const explanation =
		workload.explanation ?? (workload.layers === undefined ? null : diffOfLayers(workload.layers));
	const why =
		explanation === null
			? slowestTable(first, name)
			: enginePart(explanation, name, { graph: open ? "all" : "near" });
	const parts = [why, legend(arms), arms.map((arm) => fullTable(arm, name))];
	return open
		? [html`<h3>Where the ${what} went</h3>\n`, ...parts]
		: folded(`Where the ${what} went, layer by layer`, parts);
}
