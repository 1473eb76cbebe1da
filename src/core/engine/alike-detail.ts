// Engines of which one was built with names only.
import type { Engines } from "./components.ts";
import { type ModelLayer, nameOnly } from "./model.ts";

export function alikeDetail({ base, head }: Engines): Engines {
	const isPlain = base.detail === "names" || head.detail === "names";
	const plain = ({ name, servedLayer, ...known }: ModelLayer): ModelLayer => {
		const { onnxNodes, foreign, region, index, nodes, owner, timesMs } = known;
		const kind = servedLayer === null ? "compute" : "reformat";
		return { ...nameOnly(name), onnxNodes, foreign, region, index, nodes, owner, timesMs, servedLayer, kind };
	};
	return isPlain && base.detail !== head.detail
		? {
				base: { ...base, detail: "names", layers: base.layers.map(plain) },
				head: { ...head, detail: "names", layers: head.layers.map(plain) },
			}
		: { base, head };
}
