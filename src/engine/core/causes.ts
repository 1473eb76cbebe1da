// Finds why a component changed; without a rule, nothing is claimed.
import type { EngineCause } from "../../../generated/result.ts";
import { cleanName, shorten } from "../../core/text/escape.ts";
import { counted } from "../../core/text/labels.ts";
import { formatBytes, formatCount } from "../../core/text/units.ts";
import { type Changed, code, editedNodes, newCasts, newNodes } from "./changed.ts";
import { isSameStructure, type PartFacts } from "./facts.ts";
import { type LayerTensor, tensorBytes, typesOf } from "./layer.ts";
import type { ModelLayer } from "./model.ts";

type Rule = (changed: Changed) => Omit<EngineCause, "kind"> | null;
type Sides = Pick<Changed, "base" | "head">;

export function precisionChange({ base, head }: Sides): string | null {
	const [from, to] = [base.precisions[0], head.precisions[0]];
	return from === undefined || to === undefined || from === to ? null : `${from} → ${to}`;
}

export function settingChange(sides: Sides): string | null {
	return precisionChange(sides)?.replace("tf32", "fp32") ?? null;
}

export const quantiseAdvice =
	"Put Q and DQ on every input of the layers around it, both inputs of an Add as well, so that they read and write 8 bits.";
const newNodeAdvice =
	"Put what is new in the model before or after these nodes, or replace it with operations that fuse.";
const fusionAdvice =
	"Make sure only the next node reads the tensors between these nodes, and keep them in one precision.";
/** Two versions cannot share a timing cache. */
const cacheAdvice = ({ around }: Changed) =>
	around.isUpgrade
		? {}
		: { try: "Build both from one timing cache; with one, only real changes choose another kernel." };

const narrow = new Set(["int8", "fp8", "int4", "fp4", "uint8"]);
const half = new Set(["fp16", "bf16"]);

const isAdded = ({ component, base, head }: Changed) =>
	component.tier === "none" && base.kernels.length > 0 !== head.kernels.length > 0;

const added: Rule = (changed) => {
	if (!isAdded(changed)) return null;
	const isNew = changed.head.kernels.length > 0;
	const { kernels, reformats } = isNew ? changed.head : changed.base;
	const copies = reformats.length === 0 ? "" : ` and ${counted(reformats.length, "reformat")}`;
	const isQuantising = kernels.every(({ kind }) => kind === "quantize");
	return {
		says: `${isNew ? "new" : "removed"}: ${counted(kernels.length, isQuantising ? "Q/DQ kernel" : "kernel")}${copies}`,
		evidence: kernels.slice(0, 3).map(({ name }) => code(name)),
		...(isQuantising && isNew ? { try: quantiseAdvice } : {}),
	};
};

const precision: Rule = (changed) => {
	const change = precisionChange(changed);
	if (change === null) return null;
	const { head, base } = changed;
	const [to, from] = [head.precisions[0] ?? "", base.precisions[0] ?? ""];
	const casts = newCasts(changed);
	const copies = head.reformats.length - base.reformats.length;
	const isCommon = settingChange(changed) === changed.commonPrecision;
	const cast = casts.length > 0 ? `; the model casts there: ${casts.slice(0, 2).map(code).join(", ")}` : "";
	const [kernel] = head.kernels;
	const tensors = kernel === undefined ? [] : [...kernel.inputs.slice(0, 1), ...kernel.outputs.slice(0, 1)];
	const evidence = tensors.map(
		({ name, dtype, format }) => `${code(name)} is ${dtype ?? "unknown"} (${cleanName(format, 60)})`,
	);
	const isWider = half.has(from) && !narrow.has(to) && !half.has(to);
	const advice =
		narrow.has(from) && !narrow.has(to)
			? "Check that Q and DQ nodes still surround it."
			: "Remove the cast or constraint, or state the precision that you want for these nodes.";
	return {
		says: `${change}${cast || (isCommon ? "; like most of the engine" : "")}`,
		evidence: copies > 0 ? [...evidence, `${counted(copies, "more reformat")} around it`] : evidence,
		...(isWider || narrow.has(from) ? { try: advice } : {}),
	};
};

/** Tensors that now pass between kernels, and their other readers. */
function fusionEvidence({ component: { head }, around }: Changed) {
	const own = new Set(head);
	const read = new Set(head.flatMap(({ inputs }) => inputs.map(({ name }) => name)));
	const crossing = head.flatMap(({ outputs }) => outputs.filter(({ name }) => read.has(name)));
	return crossing.slice(0, 3).map((tensor) => {
		const bytes = tensorBytes(tensor);
		const readers = (around.readers.get(tensor.name) ?? []).filter(({ layer }) => !own.has(layer));
		const others = [
			...(around.outputs.has(tensor.name) ? ["the engine's outputs"] : []),
			...readers.map(({ layer }) => code(layer.nodes[0] ?? layer.servedLayer ?? layer.name)),
		];
		const need = others.length === 1 ? "needs" : "need";
		const why = others.length === 0 ? "" : `; ${others.slice(0, 2).join(" and ")} ${need} it too`;
		return `${code(tensor.name)}${bytes === null ? "" : ` (${formatBytes(bytes)})`} is now written to memory${why}`;
	});
}

/** None where another version fuses the same nodes otherwise. */
function fusionRemedy(changed: Changed) {
	const { isSameModel, isUpgrade } = changed.around;
	if (isSameModel && isUpgrade) return {};
	return { try: newNodes(changed).length > 0 ? newNodeAdvice : fusionAdvice };
}

const fusion: Rule = (changed) => {
	const [before, after] = [changed.base.kernels.length, changed.head.kernels.length];
	if (before === after || before === 0 || after === 0) return null;
	const counts = `${counted(before, "kernel")} → ${after}`;
	if (after < before) return { says: `fused: ${counts}`, evidence: [] };
	return {
		says: `no longer fused: ${counts}`,
		evidence: fusionEvidence(changed),
		...fusionRemedy(changed),
	};
};

const reformat: Rule = (changed) => {
	const { base, head } = changed;
	const more = head.reformats.length - base.reformats.length;
	if (more === 0 || isAdded(changed)) return null;
	if (more < 0) return { says: counted(-more, "fewer reformat"), evidence: [] };
	const formatOf = (tensor: LayerTensor | undefined) => cleanName(tensor?.format || "?", 50);
	return {
		says: counted(more, "more reformat"),
		evidence: head.reformats
			.filter(({ inputs }) => inputs.length > 0)
			.slice(0, 3)
			.map(({ inputs, outputs }) => `${formatOf(inputs[0])} → ${formatOf(outputs[0])}`),
		try: "Keep neighbouring nodes in one precision and layout; a tensor that only some of them can read in its layout is copied.",
	};
};

const tensorsOf = ({ kernels }: PartFacts, side: "inputs" | "outputs") =>
	kernels.flatMap((kernel) => kernel[side]);

const shape: Rule = ({ base, head }) => {
	if (base.kernels.length !== head.kernels.length) return null;
	for (const side of ["outputs", "inputs"] as const) {
		const shapesOf = (part: PartFacts) => tensorsOf(part, side).map(({ dims }) => dims.join("×"));
		const [before, after] = [shapesOf(base), shapesOf(head)];
		const at = before.length === after.length ? before.findIndex((dims, index) => dims !== after[index]) : -1;
		// An open axis may have any size. Different weights read a different input.
		const isOpen = /-\d/.test(`${before[at]}${after[at]}`);
		if (at >= 0 && !isOpen && (side === "outputs" || base.weights === head.weights))
			return {
				says: `${side === "inputs" ? "input " : ""}shape changed: ${before[at]} → ${after[at]}`,
				evidence: [],
			};
	}
	return null;
};

const isAlike = ({ base, head }: Sides) =>
	base.kernels.length === head.kernels.length && base.shapes === head.shapes && base.weights === head.weights;

const inputs: Rule = (changed) => {
	const { base, head, around } = changed;
	if (!isAlike(changed)) return null;
	const sides = (["inputs", "outputs"] as const).flatMap((side) => {
		const [from, to] = [tensorsOf(base, side), tensorsOf(head, side)];
		const [before, after] = [typesOf(from), typesOf(to)];
		if (before === after || before === "" || after === "") return [];
		const isOneType = new Set([...from, ...to].map(({ dtype }) => dtype)).size === 1;
		const what = isOneType
			? `${counted(to.length, "tensor")} instead of ${from.length}`
			: `${shorten(after, 60)} instead of ${shorten(before, 60)}`;
		return [{ side, from, to, says: `${side === "inputs" ? "reads" : "writes"} ${what}` }];
	});
	if (sides.length === 0) return null;
	const read = sides.find(({ side }) => side === "inputs");
	const differing = read?.to.filter(({ dtype }, at) => dtype !== read.from[at]?.dtype) ?? [];
	const evidence = differing.slice(0, 2).map(({ name }) => {
		const writer = around.writers.get(name);
		if (writer === undefined && around.inputs.has(name)) return `${code(name)} is an input of the engine`;
		return `${code(name)} is written by ${writer === undefined ? "an unknown layer" : code(writer.nodes.at(-1) ?? writer.name)}`;
	});
	const isWider = read?.from.some(({ dtype }, at) => {
		const now = read.to[at]?.dtype;
		return narrow.has(dtype ?? "") && now != null && !narrow.has(now);
	});
	const says = sides.map((side) => side.says).join("; ");
	return { says, evidence, ...(isWider ? { try: quantiseAdvice } : {}) };
};

const setting: Rule = (changed) => {
	const [before, ...moreBefore] = changed.base.kernels;
	const [after, ...moreAfter] = changed.head.kernels;
	if (!isAlike(changed) || before === undefined || after === undefined) return null;
	if (moreBefore.length + moreAfter.length > 0) return null;
	const says = Object.keys({ ...before.parameters, ...after.parameters }).flatMap((key) => {
		const settingOf = ({ parameters }: ModelLayer) => String(parameters[key] ?? "none");
		const [from, to] = [settingOf(before), settingOf(after)];
		return from === to ? [] : [`${key} ${cleanName(from, 30)} → ${cleanName(to, 30)}`];
	});
	return says.length === 0 ? null : { says: says.slice(0, 3).join(", "), evidence: [] };
};

const weights: Rule = ({ base, head }) => {
	if (base.weights === head.weights || base.weights === 0 || head.weights === 0) return null;
	const says = `weights changed: ${formatCount(base.weights)} → ${formatCount(head.weights)} values`;
	return { says, evidence: [] };
};

const tactic: Rule = (changed) => {
	const { base, head } = changed;
	const typesIn = ({ kernels }: PartFacts) =>
		code([...new Set(kernels.map(({ type }) => type ?? "unknown"))].join(" and "));
	if (isAlike(changed) && precisionChange(changed) === null && typesIn(base) !== typesIn(head))
		return {
			says: `another kind of kernel: ${typesIn(base)} → ${typesIn(head)}`,
			evidence: [],
			...(setting(changed) === null && editedNodes(changed) === "" ? cacheAdvice(changed) : {}),
		};
	if (!isSameStructure(base, head) || base.tactics === head.tactics) return null;
	const differing = head.kernels.find((kernel, at) => kernel.tactic !== base.kernels[at]?.tactic);
	return {
		says: "a different kernel was chosen; nothing else changed",
		evidence: differing === undefined ? [] : [code(differing.tactic ?? "unknown")],
		...cacheAdvice(changed),
	};
};

const layout: Rule = ({ base, head }) =>
	isSameStructure(base, head) && base.tactics === head.tactics && base.layouts !== head.layouts
		? { says: "different memory layout", evidence: [] }
		: null;

const rules: readonly (readonly [EngineCause["kind"], Rule])[] = [
	["added", added],
	["precision", precision],
	["fusion", fusion],
	["weights", weights],
	["shape", shape],
	["inputs", inputs],
	["setting", setting],
	["reformat", reformat],
	["tactic", tactic],
	["layout", layout],
];

export function causesOf(changed: Changed): EngineCause[] {
	const found = rules.flatMap(([kind, rule]) => {
		const claim = rule(changed);
		return claim === null ? [] : [{ kind, ...claim }];
	});
	// Changed inputs of a kernel are a consequence of another cause.
	const [first, ...others] = found.length > 1 ? found.filter(({ kind }) => kind !== "inputs") : found;
	const edited = editedNodes(changed);
	if (first === undefined) return edited === "" ? [] : [{ kind: "setting", says: edited, evidence: [] }];
	return [
		edited === "" || newCasts(changed).length > 0 ? first : { ...first, says: `${first.says}; ${edited}` },
		...others,
	];
}
