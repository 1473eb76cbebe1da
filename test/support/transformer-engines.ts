// In fp16, or with an fp32 softmax in every block.
import type { EngineLayer, LayerTensor } from "../../src/engine/core/layer.ts";
import type { RecordedEngine } from "./recorded-engines.ts";

const operations = ["qkv", "scores", "softmax", "context", "project", "mlp"] as const;

const tensor = (name: string, dtype = "fp16"): LayerTensor => ({
	name,
	dims: [1, 128, 768],
	dtype,
	format: `Row major ${dtype}`,
});

function layer(name: string, from: LayerTensor, to: LayerTensor): EngineLayer {
	const isProduct = !name.endsWith("softmax");
	return {
		...{
			name,
			kind: "compute",
			type: isProduct ? "gemm" : "CaskSoftMaxV2",
			inputs: [from],
			outputs: [to],
			precision: to.dtype,
		},
		...{
			tactic: `${to.dtype}_kernel`,
			onnxNodes: [name],
			foreign: null,
			servedLayer: null,
			region: null,
			parameters: {},
		},
		weights: isProduct ? { dtype: "fp16", elements: 768 * 768 } : null,
	};
}

function reformat(served: string, from: LayerTensor, to: LayerTensor): EngineLayer {
	const name = `Reformatting CopyNode for ${to.name} to ${served}`;
	return {
		...layer(name, from, to),
		kind: "reformat",
		type: "Reformat",
		onnxNodes: [],
		weights: null,
		servedLayer: served,
	};
}

function block(at: number, wide: boolean): EngineLayer[] {
	return operations.flatMap((operation, index) => {
		const name = `block.${at}/${operation}`;
		const [from, to] = [
			tensor(`t${at}.${index}`),
			tensor(index === operations.length - 1 ? `t${at + 1}.0` : `t${at}.${index + 1}`),
		];
		if (!wide || operation !== "softmax") return [layer(name, from, to)];
		const [read, written] = [tensor(`${from.name} wide`, "fp32"), tensor(`${to.name} wide`, "fp32")];
		return [reformat(name, from, read), layer(name, read, written), reformat(name, written, to)];
	});
}

function engine(blocks: number, wide: boolean): RecordedEngine {
	const layers = Array.from({ length: blocks }, (_, at) => block(at, wide)).flat();
	const profiles = Array.from({ length: 4 }, (_, turn) => ({
		iterations: 100,
		layers: layers.map(({ name, kind, precision }, at) => {
			const averageMs =
				(kind === "reformat" ? 0.002 : precision === "fp32" ? 0.009 : 0.006) *
				(1 + 0.004 * Math.sin(at * 12.9898 + turn * 78.233));
			return { name, averageMs, share: 0 };
		}),
	}));
	return { info: { detail: "detailed", io: [], layers }, profiles };
}

export function transformerPair(blocks: number): { base: RecordedEngine; head: RecordedEngine } {
	return { base: engine(blocks, false), head: engine(blocks, true) };
}
