// Engines, their layers and kernels as blocks.
import type {
	Arm,
	ArmLayers,
	EngineDiff,
	EngineRow,
	TimedKernel,
	TimedLayer,
	WorkloadResult,
} from "../../../generated/result.ts";
import type { EngineAlone } from "../../engine/core/alone.ts";
import { diffOfLayers } from "../../engine/core/explain/layers.ts";
import { dash } from "../compare/sentence.ts";
import { cleanName, quoted } from "../text/escape.ts";
import { counted, listNames, present, subjectName } from "../text/labels.ts";
import { formatCount, formatMs, formatPercent } from "../text/units.ts";
import {
	accountSentence,
	causeText,
	changeText,
	detailTexts,
	groupText,
	headlineOf,
	type LayerUnit,
	layerUnit,
	machineSentences,
	partText,
	summaryText,
	unchangedSentence,
	unitOf,
} from "./engine-text.ts";
import { drawGraph } from "./html/engine-graph.ts";
import { shareBar } from "./html/markup.ts";
import {
	type Block,
	type Column,
	details,
	heading,
	long,
	numbers,
	numeric,
	plain,
	sentence,
	table,
} from "./section.ts";

const arms = ["base", "head"] as const;
const warningBlock = (text: string): Block => ({ kind: "notice", text });

function diffColumns({ account }: EngineDiff, unit: LayerUnit): Column<EngineRow>[] {
	const time = (arm: Arm): Column<EngineRow> => ({
		...numbers(`${arm}, ${unit.name}`, (row: EngineRow) => row[arm]?.meanMs, unit.format),
		formats: ["html", "terminal"],
	});
	const change = numeric<EngineRow>(`change, ${unit.name}`, (row) => changeText(row, unit) || dash, {
		sortBy: ({ changeMs, isSignificant }) => (isSignificant ? changeMs : null),
	});
	return [
		heading("ONNX nodes", (row) => {
			const others = row.members.filter((name) => name !== row.label).map((name) => quoted(name, 40));
			return `${groupText(row)}${others.length === 0 ? "" : `: also ${listNames(others)}`}`;
		}),
		...(account === null ? [] : [change, ...arms.map(time)]),
		numeric("kernels", ({ base, head }) => `${base?.kernels ?? 0} → ${head?.kernels ?? 0}`, {
			formats: ["html", "terminal"],
			sortBy: ({ base, head }) => (head?.kernels ?? 0) - (base?.kernels ?? 0),
		}),
		long("why", (row) => [causeText(row) || "unknown", ...detailTexts(row)].join(" · ")),
	];
}

export function diffBlocks(diff: EngineDiff, label: string): Block[] {
	const unit = unitOf(diff);
	const texts = present([headlineOf(diff, unit), accountSentence(diff, unit), ...machineSentences(diff)]);
	const more = { noun: "row", hidden: diff.hidden };
	return [
		...texts.map((text) => sentence(text)),
		...diff.warnings.map(warningBlock),
		table(`node groups that changed: ${label}`, diffColumns(diff, unit), diff.rows, more),
		{ kind: "figure", drawn: drawGraph(diff.graph, unit, label) },
		sentence(unchangedSentence(diff, unit), "quiet"),
	];
}

export function aloneBlocks({ summary, groups, warnings }: EngineAlone, label: string): Block[] {
	type Group = (typeof groups)[number];
	const unit = layerUnit(groups[0]?.part.meanMs ?? 0);
	const totalMs = summary.meanMs ?? 0;
	const shareOf = ({ part }: Group) => (part.meanMs === null || totalMs <= 0 ? null : part.meanMs / totalMs);
	const columns: Column<Group>[] = [
		heading("ONNX nodes", ({ label: name }) => quoted(name)),
		numbers(`time, ${unit.name}`, ({ part }) => part.meanMs, unit.format),
		...shareColumns(shareOf),
		plain("precision", ({ part }) => part.precision ?? dash),
		long("bytes, operations, limit", ({ part }) => partText(part)),
	];
	return [
		sentence(`${summaryText(summary)}.`),
		...warnings.map(warningBlock),
		table(`groups of ONNX nodes of ${label}`, columns, groups, { noun: "group" }),
	];
}

function shareColumns<Row>(shareOf: (row: Row) => number | null): Column<Row>[] {
	return [
		numbers("share", shareOf, (share) => formatPercent(share)),
		{ title: "", cell: (row) => shareBar(shareOf(row) ?? 0), sortBy: shareOf },
	];
}

function layerColumns({ layers }: ArmLayers, unit: LayerUnit): Column<TimedLayer>[] {
	const order = new Map(layers.map((layer, index) => [layer, index + 1]));
	return [
		{ title: "#", numeric: true, cell: (layer) => order.get(layer) ?? "" },
		heading("Layer", ({ name, type, precision, tactic }) => {
			const known = present([type, precision]).map((text) => cleanName(text, 40));
			return present([quoted(name, 120), ...known, tactic && quoted(tactic, 60)]).join(" · ");
		}),
		numbers(`${unit.of}, ${unit.name}`, ({ meanMs }) => meanMs, unit.format),
		...shareColumns<TimedLayer>(({ share }) => share),
	];
}

function layersLegend(shown: readonly ArmLayers[], unit: LayerUnit) {
	const totals = shown.map(({ totalMs }) => unit.format(totalMs)).join(" → ");
	const how =
		unit.of === "work"
			? "ONNX Runtime's profiler, which adds about 0.01 million for each node"
			: "TensorRT's profiler, which is slower than the timed runs";
	return sentence(
		`All layers together ${totals} ${unit.name}, from a separate run under ${how}; not used by any gate.`,
		"quiet",
	);
}

export function layerBlocks(workload: WorkloadResult, isOpen: boolean): Block[] {
	const { layers, explanation } = workload;
	const shown = arms.flatMap((arm) => (layers?.[arm]?.layers.length ? [{ arm, own: layers[arm] }] : []));
	const last = shown.at(-1);
	if (layers === undefined || last === undefined) return [];
	const times = shown.flatMap(({ own }) => own.layers.map(({ meanMs }) => meanMs));
	const longest = times.reduce((most, ms) => Math.max(most, ms), 0);
	const unit = layerUnit(longest, last.own.unit);
	const name = subjectName(workload);
	const diff = explanation ?? diffOfLayers(layers);
	const tables = shown.toReversed().flatMap(({ arm, own }) => {
		const total = own.layers.length;
		const which =
			total < own.count ? `The ${counted(total, "slowest layer")}` : `All ${counted(total, "layer")}`;
		const slowest = own.layers.toSorted((a, b) => b.meanMs - a.meanMs);
		const all = table(`all layers of ${name}, ${arm}`, layerColumns(own, unit), slowest, { noun: "layer" });
		return diff === null ? [all] : details(`${which} of the ${arm}`, [all]);
	});
	const owns = shown.map(({ own }) => own);
	const blocks = [...(diff === null ? [] : diffBlocks(diff, name)), layersLegend(owns, unit), ...tables];
	return isOpen
		? [{ kind: "heading", text: `Where the ${unit.of} went` }, ...blocks]
		: details(`Where the ${unit.of} went, layer by layer`, blocks);
}

type KernelRow = { name: string } & Partial<Record<Arm, TimedKernel>>;

const maxKernels = 30;

const kernelFigures = [
	["calls", "calls", formatCount],
	["total", "totalMs", formatMs],
	["share", "share", formatPercent],
] as const;

export function kernelBlocks(workload: WorkloadResult): Block[] {
	const { kernels } = workload;
	const shown = arms.filter((arm) => (kernels?.[arm]?.kernels.length ?? 0) > 0);
	const found = new Map<string, KernelRow>();
	for (const arm of shown.toReversed())
		for (const kernel of kernels?.[arm]?.kernels ?? [])
			found.set(kernel.name, { ...(found.get(kernel.name) ?? { name: kernel.name }), [arm]: kernel });
	if (found.size === 0) return [];
	const longest = ({ base, head }: KernelRow) => Math.max(base?.totalMs ?? 0, head?.totalMs ?? 0);
	const rows = [...found.values()].sort((a, b) => longest(b) - longest(a)).slice(0, maxKernels);
	const all = Math.max(found.size, ...shown.map((arm) => kernels?.[arm]?.count ?? 0));
	const columns: Column<KernelRow>[] = [
		heading("Kernel", ({ name }) => quoted(name, 160)),
		...shown.flatMap((arm) =>
			kernelFigures.map(([title, figure, format]) =>
				numbers(`${arm} ${title}`, (row: KernelRow) => row[arm]?.[figure], format),
			),
		),
	];
	const how = "From a short run under nsys, which is slower than the timed runs; not used by any gate.";
	const more = { noun: "kernel", hidden: all - rows.length };
	return details("Kernels by time, from Nsight Systems", [
		table(`kernels of ${subjectName(workload)}`, columns, rows, more),
		sentence(how, "quiet"),
	]);
}
