// Judges TopK for TensorRT, which keeps at most 3840 elements.
import type { Finding } from "../../schema/result.ts";
import { constantOf, finding, nodeIn, type Rule } from "./subject.ts";

/** NvInfer.h of every version: "Currently only values of K up to 3840 are supported"; the parser of some lets more through. */
const mostK = 3840;

export const topkLimit: Rule = (subject) => {
	if (subject.context.backend !== "tensorrt") return [];
	return subject.scopes.flatMap((scope) =>
		scope.nodes.flatMap((node): Finding[] => {
			if (node.domain !== "" || node.op !== "TopK") return [];
			const attribute = node.attributes.find(({ name }) => name === "k")?.value;
			const k = typeof attribute === "number" ? attribute : constantOf(subject, scope, node.inputs[1])?.values?.[0];
			if (k === undefined || k <= mostK) return [];
			const message = `${nodeIn(node, scope)} keeps ${k} elements; TensorRT's TopK keeps at most ${mostK}.`;
			return [finding("topk-limit", { severity: "error", message, fix: `Keep at most ${mostK}, or sort outside of the engine.`, node })];
		}),
	);
};
