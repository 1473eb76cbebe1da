// Judges whether a model's answer is the same each time: a golden can hold no other.
import type { OnnxNode } from "../model.ts";
import type { Scope } from "../walk.ts";
import { constantOf, finding, nodeIn, type Rule, type Subject } from "./subject.ts";

const drawing: ReadonlySet<string> = new Set([
	"Bernoulli",
	"Multinomial",
	"RandomNormal",
	"RandomNormalLike",
	"RandomUniform",
	"RandomUniformLike",
]);

export const randomness: Rule = (subject) =>
	subject.scopes.flatMap((scope) =>
		scope.nodes
			.filter((node) => node.domain === "" && (drawing.has(node.op) || isTraining(node, scope, subject)))
			.map((node) =>
				finding("operator-random", {
					severity: "warning",
					message: `${nodeIn(node, scope)} draws random numbers${node.op === "Dropout" ? " (in training mode)" : ""}: each runtime answers otherwise, and no golden can hold that.`,
					fix: "Export for inference (model.eval()), or make the random tensor an input.",
					node,
				}),
			),
	);

/** Dropout since opset 12: data, ratio (0.5), training_mode (false). What is no constant may be any of both. */
function isTraining(node: OnnxNode, scope: Scope, subject: Subject): boolean {
	if (node.op !== "Dropout" || (node.inputs[2] ?? "") === "") return false;
	const [ratio, mode] = [1, 2].map((place) => constantOf(subject, scope, node.inputs[place])?.values?.[0]);
	return mode !== 0 && ratio !== 0;
}
