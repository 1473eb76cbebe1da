// Why a component changed: a table of rules, each with the evidence that it cites and what to try. No rule, no claim.
import type { EngineCause } from "../../../generated/result.ts";
import { cleanName, shorten } from "../text/escape.ts";
import { counted } from "../text/labels.ts";
import { formatBytes, formatCount } from "../text/units.ts";
import { type Around, type Changed, code, editedNodes, newCasts, newNodes } from "./changed.ts";
import { isSameStructure, type PartFacts } from "./facts.ts";
import { type LayerTensor, typesOf } from "./layer.ts";
import type { ModelLayer } from "./model.ts";
import { tensorBytes } from "./work.ts";

type Rule = (changed: Changed) => Omit<EngineCause, "kind"> | null;

export function precisionChange({ base, head }: Pick<Changed, "base" | "head">): string | null {
	const [from, to] = [base.precisions[0], head.precisions[0]];
	return from === undefined || to === undefined || from === to ? null : `${from} → ${to}`;
}

export function settingChange(changed: Pick<Changed, "base" | "head">): string | null {
	return precisionChange(changed)?.replace("tf32", "fp32") ?? null;
}

const added: Rule = ({ component: { tier }, base, head }) => {
	if (tier !== "none" || base.kernels.length > 0 === head.kernels.length > 0) return null;
	const own = head.kernels.length > 0 ? head : base;
	const copies = own.reformats.length === 0 ? "" : ` and ${counted(own.reformats.length, "reformat")}`;
	const isQuantising = own.kernels.every(({ kind }) => kind === "quantize");
	return {
		says: `${own === head ? "new" : "removed"}: ${counted(own.kernels.length, isQuantising ? "Q/DQ kernel" : "kernel")}${copies}`,
		evidence: own.kernels.slice(0, 3).map(({ name }) => code(name)),
		...(isQuantising && own === head ? { try: quantiseAdvice } : {}),
	};
};

export const quantiseAdvice =
	"Put Q and DQ on every input of the layers around it, both inputs of an Add as well, so that they read and write 8 bits.";

const narrow = new Set(["int8", "fp8", "int4", "fp4", "uint8"]);
const half = new Set(["fp16", "bf16"]);

const precision: Rule = (changed) => {
	const change = precisionChange(changed);
	if (change === null) return null;
	const { head, base } = changed;
	const [to, from] = [head.precisions[0] ?? "", base.precisions[0] ?? ""];
	const casts = newCasts(changed);
	const copies = head.reformats.length - base.reformats.length;
	const why =
		casts.length > 0
			? `; the model casts there: ${casts.slice(0, 2).map(code).join(", ")}`
			: settingChange(changed) === changed.commonPrecision
				? "; like most of the engine"
				: "";
	const evidence = [
		...head.kernels
			.slice(0, 1)
			.flatMap(({ inputs, outputs }) =>
				[...inputs.slice(0, 1), ...outputs.slice(0, 1)].map(
					(tensor) =>
						`${code(tensor.name)} is ${tensor.dtype ?? "unknown"} (${cleanName(tensor.format, 60)})`,
				),
			),
		...(copies > 0 ? [`${counted(copies, "more reformat")} around it`] : []),
	];
	const isWider = (half.has(from) || narrow.has(from)) && !narrow.has(to) && !half.has(to);
	const advice =
		narrow.has(from) && !narrow.has(to)
			? "Check that Q and DQ nodes still surround it."
			: "Remove the cast or constraint, or state the precision that you want for these nodes.";
	return { says: `${change}${why}`, evidence, ...(isWider || narrow.has(from) ? { try: advice } : {}) };
};

function crossing(layers: readonly ModelLayer[]): LayerTensor[] {
	const read = new Set(layers.flatMap(({ inputs }) => inputs.map(({ name }) => name)));
	return layers.flatMap(({ outputs }) => outputs.filter(({ name }) => read.has(name)));
}

/** Who else reads a tensor: that is why it must be in memory. */
function otherReaders({ name }: LayerTensor, { component, around }: Changed): string[] {
	const own = new Set(component.head);
	const readers = (around.readers.get(name) ?? []).filter((layer) => !own.has(layer)).slice(0, 3);
	return [
		...(around.outputs.has(name) ? ["the engine's outputs"] : []),
		...readers.map((layer) => code(layer.nodes[0] ?? layer.servedLayer ?? layer.name)),
	];
}

function fusionEvidence(changed: Changed): string[] {
	return crossing(changed.component.head)
		.slice(0, 3)
		.map((tensor) => {
			const bytes = tensorBytes(tensor);
			const others = otherReaders(tensor, changed);
			const why =
				others.length === 0
					? ""
					: `; ${others.slice(0, 2).join(" and ")} need${others.length === 1 ? "s" : ""} it too`;
			return `${code(tensor.name)}${bytes === null ? "" : ` (${formatBytes(bytes)})`} is now written to memory${why}`;
		});
}

const fusion: Rule = (changed) => {
	const [before, after] = [changed.base.kernels.length, changed.head.kernels.length];
	if (before === after || before === 0 || after === 0) return null;
	if (after < before) return { says: `fused: ${counted(before, "kernel")} → ${after}`, evidence: [] };
	const advice = newNodes(changed).length > 0 ? newNodeAdvice : fusionAdvice;
	return {
		says: `no longer fused: ${counted(before, "kernel")} → ${after}`,
		evidence: fusionEvidence(changed),
		try: advice,
	};
};

const fusionAdvice =
	"Make sure only the next node reads the tensors between these nodes, and keep them in one precision.";
const newNodeAdvice =
	"Put what is new in the model before or after these nodes, or replace it with operations that fuse.";

function roundTrips(reformats: readonly ModelLayer[], { writers }: Around): number {
	return reformats.filter(({ inputs, outputs }) => {
		const source = writers.get(inputs[0]?.name ?? "");
		return source?.kind === "reformat" && source.inputs[0]?.format === outputs[0]?.format;
	}).length;
}

const reformat: Rule = (changed) => {
	const { base, head, around } = changed;
	const more = head.reformats.length - base.reformats.length;
	if (more === 0 || added(changed) !== null) return null;
	const formats = ({ inputs, outputs }: ModelLayer) =>
		`${cleanName(inputs[0]?.format || "?", 50)} → ${cleanName(outputs[0]?.format || "?", 50)}`;
	if (more < 0) return { says: counted(-more, "fewer reformat"), evidence: [] };
	const trips = roundTrips(head.reformats, around);
	const tripText = trips === 0 ? "" : `, ${counted(trips, "round trip")}`;
	return {
		says: `${counted(more, "more reformat")}${tripText}`,
		evidence: head.reformats
			.filter(({ inputs: [input] }) => input !== undefined)
			.slice(0, 3)
			.map(formats),
		try: "Keep neighbouring nodes in one precision and layout; a tensor that only some of them can read in its layout is copied.",
	};
};

const shape: Rule = ({ base, head }) => {
	if (base.kernels.length !== head.kernels.length) return null;
	const found = (["outputs", "inputs"] as const).flatMap((side) => {
		const [before = [], after = []] = [base, head].map((part) =>
			tensorsOf(part, side).map(({ dims }) => dims.join("×")),
		);
		const at = before.length === after.length ? before.findIndex((dims, index) => dims !== after[index]) : -1;
		// An open axis may have any size. Other weights read another input.
		const isKnown =
			at >= 0 &&
			!/-\d/.test(`${before[at]}${after[at]}`) &&
			(side === "outputs" || base.weights === head.weights);
		return isKnown
			? [
					{
						says: `${side === "inputs" ? "input " : ""}shape changed: ${before[at]} → ${after[at]}`,
						evidence: [],
					},
				]
			: [];
	});
	return found[0] ?? null;
};

const isAlike = ({ base, head }: Changed): boolean =>
	base.kernels.length === head.kernels.length && base.shapes === head.shapes && base.weights === head.weights;

const tensorsOf = ({ kernels }: PartFacts, side: "inputs" | "outputs"): readonly LayerTensor[] =>
	kernels.flatMap((kernel) => kernel[side]);

const inputs: Rule = (changed) => {
	const { base, head, around } = changed;
	if (!isAlike(changed)) return null;
	const sides = (["inputs", "outputs"] as const).map((side) => {
		const [from, to] = [tensorsOf(base, side), tensorsOf(head, side)];
		const [before, after] = [typesOf(from), typesOf(to)];
		const isSame = before === after || before === "" || after === "";
		const isOneType = new Set([...from, ...to].map(({ dtype }) => dtype)).size === 1;
		const what = isOneType
			? `${counted(to.length, "tensor")} instead of ${from.length}`
			: `${shorten(after ?? "", 60)} instead of ${shorten(before ?? "", 60)}`;
		const says = `${side === "inputs" ? "reads" : "writes"} ${what}`;
		return {
			says: isSame ? [] : [says],
			other: isSame ? [] : to.filter(({ dtype }, at) => dtype !== from[at]?.dtype),
		};
	});
	if (sides.every(({ says }) => says.length === 0)) return null;
	const evidence = (sides[0]?.other ?? []).slice(0, 2).map(({ name }) => {
		const writer = around.writers.get(name);
		if (writer === undefined && around.inputs.has(name)) return `${code(name)} is an input of the engine`;
		return `${code(name)} is written by ${writer === undefined ? "an unknown layer" : code(writer.nodes.at(-1) ?? writer.name)}`;
	});
	const isWider = tensorsOf(base, "inputs").some(({ dtype }, at) =>
		isLost(dtype, tensorsOf(head, "inputs")[at]?.dtype),
	);
	return {
		says: sides.flatMap(({ says }) => says).join("; "),
		evidence,
		...(isWider ? { try: quantiseAdvice } : {}),
	};
};

const isLost = (from: string | null, to: string | null | undefined): boolean =>
	narrow.has(from ?? "") && to != null && !narrow.has(to);

const setting: Rule = (changed) => {
	if (!isAlike(changed)) return null;
	const [kernel, before] = [changed.head.kernels, changed.base.kernels].map((own) =>
		own.length === 1 ? own[0] : undefined,
	);
	const keys = Object.keys({ ...before?.parameters, ...kernel?.parameters });
	const says = keys.flatMap((key) => {
		const [from, to] = [before, kernel].map((one) => String(one?.parameters[key] ?? "none"));
		return from === to ? [] : [`${key} ${cleanName(from ?? "", 30)} → ${cleanName(to ?? "", 30)}`];
	});
	return says.length === 0 || before === undefined || kernel === undefined
		? null
		: { says: says.slice(0, 3).join(", "), evidence: [] };
};

const weights: Rule = ({ base, head }) => {
	if (base.weights === head.weights || base.weights === 0 || head.weights === 0) return null;
	return {
		says: `weights changed: ${formatCount(base.weights)} → ${formatCount(head.weights)} values`,
		evidence: [],
	};
};

const boundary: Rule = ({ base, head }) => {
	if (head.regions <= base.regions || base.regions === 0) return null;
	return {
		says: `split across ${head.regions} Myelin regions, ${base.regions} before`,
		evidence: [],
		try: "Look for a node between them that TensorRT runs outside Myelin, such as a plugin or a changed shape computation.",
	};
};

const tactic: Rule = (changed) => {
	const { base, head } = changed;
	const types = ({ kernels }: PartFacts): string =>
		[...new Set(kernels.map(({ type }) => type ?? "unknown"))].join(" and ");
	if (isAlike(changed) && precisionChange(changed) === null && types(base) !== types(head))
		return {
			says: `another kind of kernel: ${code(types(base))} → ${code(types(head))}`,
			evidence: [],
			...(setting(changed) === null && editedNodes(changed) === "" ? { try: cacheAdvice } : {}),
		};
	if (!isSameStructure(base, head) || base.tactics === head.tactics) return null;
	const differing = head.kernels
		.filter((kernel, at) => kernel.tactic !== base.kernels[at]?.tactic)
		.slice(0, 1);
	return {
		says: "a different kernel was chosen; nothing else changed",
		evidence: differing.map(({ tactic: name }) => code(name ?? "unknown")),
		try: cacheAdvice,
	};
};

const cacheAdvice = "Build both from one timing cache; with one, only real changes choose another kernel.";

const layout: Rule = ({ base, head }) =>
	isSameStructure(base, head) && base.tactics === head.tactics && base.layouts !== head.layouts
		? { says: "different memory layout", evidence: [] }
		: null;

const rules = {
	added,
	precision,
	fusion,
	boundary,
	weights,
	shape,
	inputs,
	setting,
	reformat,
	tactic,
	layout,
} as const satisfies Record<string, Rule>;

export function causesOf(changed: Changed): EngineCause[] {
	const found = Object.entries(rules).flatMap(([kind, rule]): EngineCause[] => {
		const claim = rule(changed);
		return claim === null ? [] : [{ kind: kind as EngineCause["kind"], ...claim }];
	});
	// What a kernel reads follows from the change of another.
	const [first, ...others] = found.length > 1 ? found.filter(({ kind }) => kind !== "inputs") : found;
	const edited = editedNodes(changed);
	if (first === undefined) return edited === "" ? [] : [{ kind: "setting", says: edited, evidence: [] }];
	return [
		edited === "" || newCasts(changed).length > 0 ? first : { ...first, says: `${first.says}; ${edited}` },
		...others,
	];
}
