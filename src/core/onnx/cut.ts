// Cuts from a model the part that computes one of its tensors.
import type { AddedOutput, GraphEdit, KeptNode, OnnxModel } from "./model.ts";
import { feeds } from "./model.ts";
import { producersOf, readsOf, scopesOf } from "./walk.ts";

/** All inputs stay, so that the same values can be fed; weights that nothing reads go. */
export function cutAt(model: OnnxModel, output: AddedOutput): GraphEdit & { nodes: KeptNode[] } {
	const [scope] = scopesOf(model);
	const producers = producersOf(scope);
	const reads = readsOf(scope);
	const kept = new Set(scope.nodes.flatMap(({ outputs }, at) => (outputs.includes(output.name) ? [at] : [])));
	for (const at of kept) for (const from of producers[at] ?? []) kept.add(from);
	const nodes = [...kept].sort((a, b) => a - b);
	const tensors = nodes.flatMap((at) => [...(reads[at] ?? []), ...(scope.nodes[at]?.outputs ?? [])]);
	const inputs = feeds(model.graph).map(({ name }) => name);
	return {
		nodes: nodes.map((at) => ({ kept: at })),
		keptTensors: new Set([...inputs, ...tensors]),
		addedOutputs: [output],
	};
}
