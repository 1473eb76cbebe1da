// Where the time went: the explained change, or the slowest layers of one engine, and all layers of each side folded.
import type { Arm, ArmLayers, TimedLayer, WorkloadResult } from "../../../../generated/result.ts";
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
}

function shownArms({ layers }: WorkloadResult): ShownArm[] {
	return (["head", "base"] as const).flatMap((arm) => {
		const own = layers?.[arm] ?? null;
		return own === null || own.layers.length === 0 ? [] : [{ arm, layers: own }];
	});
}

function nameCell({ name, type, precision, tactic }: TimedLayer): Piece {
	const known = [type, precision].flatMap((text) => (text === undefined ? [] : [cleanName(text, 40)]));
	const kernel =
		tactic === undefined ? null : html`${known.length > 0 ? " · " : ""}<code>${cleanName(tactic, 60)}</code>`;
	return html`<code>${cleanName(name, 120)}</code>${known.length === 0 && kernel === null ? null : html`<small>${known.join(" · ")}${kernel}</small>`}`;
}

function columns({ layers }: ArmLayers, unit: LayerUnit, title: string): Column<TimedLayer>[] {
	const order = new Map(layers.map((layer, index) => [layer, index + 1]));
	return [
		{ title: "#", numeric: true, cell: (layer) => order.get(layer) ?? "" },
		{ title, heading: true, cell: nameCell },
		{
			title: `${unit.of}, ${unit.name}`,
			numeric: true,
			text: ({ meanMs }) => unit.format(meanMs),
			sortBy: ({ meanMs }) => meanMs,
		},
		{
			title: "share",
			numeric: true,
			text: ({ share }) => formatPercent(share),
			sortBy: ({ share }) => share,
		},
	];
}

function fullTable({ arm, layers }: ShownArm, unit: LayerUnit, name: string): Markup {
	const total = layers.layers.length;
	const label = `all layers of ${name}, ${arm}`;
	const which =
		total < layers.count ? `The ${counted(total, "slowest layer")}` : `All ${counted(total, "layer")}`;
	return folded(`${which} of the ${arm}`, [
		sortableTable(label, columns(layers, unit, "Layer"), layers.layers.slice(0, maxRows)),
		moreText(total - maxRows, "layers"),
	]);
}

function legend(arms: readonly ShownArm[], unit: LayerUnit): Markup {
	const inBaseOrder = arms.toReversed().map(({ layers }) => layers);
	const totals = inBaseOrder.map(({ totalMs }) => unit.format(totalMs)).join(" → ");
	const inferences = inBaseOrder.map(({ iterations }) => formatCount(iterations)).join(" and ");
	const how =
		unit.of === "work"
			? "counted in a separate run with ONNX Runtime's profiler, which adds about 0.01 million for each node"
			: `means of ${inferences} inferences in a separate run under TensorRT's profiler, which is slower than the timed runs`;
	return html`<p class="legend">all layers together ${totals} ${unit.name} · ${how}; not used by any gate</p>
`;
}

/** `open`: what changed is shown unfolded, for a workload that needs attention. */
export function layersPart(workload: WorkloadResult, { open }: { open: boolean }): Piece {
	const arms = shownArms(workload);
	const [first] = arms;
	if (first === undefined) return null;
	const longestMs = arms
		.flatMap(({ layers }) => layers.layers)
		.reduce((most, { meanMs }) => Math.max(most, meanMs), 0);
	const unit = layerUnit(longestMs, first.layers.unit);
	const name = subjectName(workload);
	const explanation =
		workload.explanation ?? (workload.layers === undefined ? null : diffOfLayers(workload.layers));
	const slowest = first.layers.layers.toSorted((a, b) => b.meanMs - a.meanMs).slice(0, mostSlow);
	const why =
		explanation === null
			? sortableTable(`slowest layers of ${name}`, columns(first.layers, unit, "Slowest layers"), slowest)
			: enginePart(explanation, name, { graph: open ? "all" : "near" });
	const parts = [why, legend(arms, unit), arms.map((arm) => fullTable(arm, unit, name))];
	return open
		? [html`<h3>Where the ${unit.of} went</h3>\n`, ...parts]
		: folded(`Where the ${unit.of} went, layer by layer`, parts);
}
