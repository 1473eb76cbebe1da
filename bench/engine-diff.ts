// How long it takes to compare two engines: against the limit of 300 ms of CPU time for 5,000 layers, and up to 100,000 layers.
import { diffEngines } from "../src/core/engine/diff.ts";
import { type EngineModel, engineModel } from "../src/core/engine/model.ts";
import { parseLayerInfo } from "../src/formats/trtexec/layers.ts";

type Change = (at: number) => object;

function chain(count: number, over: Change): EngineModel {
	const tensor = (name: string) => ({ Name: name, Dimensions: [1, 8, 16, 16], "Format/Datatype": "Half" });
	const Layers = Array.from({ length: count }, (_, at) => ({
		Name: `conv_${at}`,
		LayerType: "CaskConvolution",
		Inputs: [tensor(`t${at}`)],
		Outputs: [tensor(`t${at + 1}`)],
		ParameterType: "Convolution",
		Weights: { Type: "Half", Count: 64 + (at % 7) },
		Metadata: `[ONNX Layer: conv_${at}]\u001e[ONNX Layer: relu_${at}]`,
		...over(at),
	}));
	return engineModel({ info: parseLayerInfo(JSON.stringify({ Layers, Bindings: [] })), profiles: [], graph: null });
}

const changes: Readonly<Record<string, Change>> = {
	unchanged: () => ({}),
	"a third in fp32": (at) => (at % 3 === 0 ? { Weights: { Type: "Float", Count: 64 + (at % 7) } } : {}),
	"all nodes renamed": (at) => ({ Metadata: `[ONNX Layer: other_${at}]` }),
};

const limitMs = 300;
const runs = 7;

let failed = false;
for (const count of [5000, 100_000]) {
	for (const [name, change] of Object.entries(changes)) {
		const [base, head] = [chain(count, () => ({})), chain(count, change)];
		const tookMs = Array.from({ length: count > 5000 ? 1 : runs }, () => {
			const before = process.cpuUsage();
			diffEngines({ base, head }, { gpu: null, enginesMs: null });
			const { user, system } = process.cpuUsage(before);
			return (user + system) / 1000;
		});
		const middle = tookMs.sort((a, b) => a - b)[Math.floor(tookMs.length / 2)] ?? 0;
		const isOver = count === 5000 && middle > limitMs;
		failed ||= isOver;
		process.stdout.write(`${count} layers, ${name}: ${middle.toFixed(0)} ms${isOver ? `, over the limit of ${limitMs} ms` : ""}\n`);
	}
}
process.exitCode = failed ? 1 : 0;
