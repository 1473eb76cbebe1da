// Checks a model by its file, before any engine is built.
import type { Finding } from "../../../generated/result.ts";
import { groupBy } from "../group.ts";
import { cycles, graphOutputs, names, versions } from "./findings/graph.ts";
import { operators, randomness, settings } from "./findings/operators.ts";
import { hardware, placement, precision, quantisation } from "./findings/precision.ts";
import { onnxRuntimeLimits, signatures } from "./findings/signatures.ts";
import { type PreflightContext, type Rule, subjectOf } from "./findings/subject.ts";
import { tensorRtRestrictions, topkLimit } from "./findings/tensorrt-restrictions.ts";
import {
	dimsConflict,
	dimsUnbound,
	elementTypes,
	externalData,
	inputsAndOutputs,
	staticShapes,
	weights,
} from "./findings/tensors.ts";
import type { InspectedModel } from "./model.ts";

const rules: readonly Rule[] = [
	externalData,
	versions,
	graphOutputs,
	names,
	cycles,
	operators,
	signatures,
	onnxRuntimeLimits,
	randomness,
	tensorRtRestrictions,
	inputsAndOutputs,
	dimsUnbound,
	dimsConflict,
	precision,
	settings,
	hardware,
	weights,
	elementTypes,
	staticShapes,
	quantisation,
	placement,
	topkLimit,
];

const severities: readonly Finding["severity"][] = ["error", "warning", "note"];
/** One fault can show at a thousand nodes. */
const maxPerCode = 20;

/** Errors first: the backend refuses the model or gets no input. A warning: it may. */
export function preflight(model: InspectedModel, context: PreflightContext): Finding[] {
	const subject = subjectOf(model, context);
	const found = bounded(rules.flatMap((rule) => rule(subject)));
	return severities.flatMap((severity) => found.filter((finding) => finding.severity === severity));
}

function bounded(found: readonly Finding[]) {
	const groups = groupBy(found, ({ code, severity }) => `${code} ${severity}`);
	return [...groups.values()].flatMap((group): Finding[] => {
		if (group.length <= maxPerCode) return group;
		const [{ code, severity }] = group;
		const message = `${group.length - maxPerCode} more findings of this kind.`;
		return [...group.slice(0, maxPerCode), { code, severity, message }];
	});
}

export function findingKey({ code, model, engine, node }: Finding): string {
	return JSON.stringify([code, model, engine, node]);
}
