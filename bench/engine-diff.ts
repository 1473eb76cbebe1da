// How long it takes to compare two engines, against the limit of 300 ms of CPU time for 5,000 layers, and up to 100,000 layers; and to draw
// a graph of 2,000 groups, against one second.
import { diffEngines } from "../src/core/engine/diff.ts";
import { type EngineModel, engineModel } from "../src/core/engine/model.ts";
import { enginePart } from "../src/core/report/html/engine.ts";
import { html } from "../src/core/report/html/markup.ts";
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

function cpuMs(times: number, work: () => unknown): number {
	const tookMs = Array.from({ length: times }, () => {
		const before = process.cpuUsage();
		work();
		const { user, system } = process.cpuUsage(before);
		return (user + system) / 1000;
	});
	return tookMs.sort((a, b) => a - b)[Math.floor(tookMs.length / 2)] ?? 0;
}

function report(what: string, tookMs: number, allowedMs: number): void {
	const isOver = tookMs > allowedMs;
	failed ||= isOver;
	process.stdout.write(`${what}: ${tookMs.toFixed(0)} ms${isOver ? `, over the limit of ${allowedMs} ms` : ""}\n`);
}

for (const count of [5000, 100_000]) {
	for (const [name, change] of Object.entries(changes)) {
		const [base, head] = [chain(count, () => ({})), chain(count, change)];
		const middle = cpuMs(count > 5000 ? 1 : runs, () => diffEngines({ base, head }, { gpu: null, enginesMs: null }));
		report(`${count} layers, ${name}`, middle, count === 5000 ? limitMs : Number.POSITIVE_INFINITY);
	}
}
const third: Change = (at) => (at % 3 === 0 ? { Weights: { Type: "Float", Count: 64 } } : {});
const drawn = diffEngines({ base: chain(2000, () => ({})), head: chain(2000, third) }, { gpu: null, enginesMs: null });
const page = () => html`${enginePart(drawn, "2,000 groups")}`.markup;
report(`${drawn.graph?.groups.length} groups drawn, ${(page().length / 1e6).toFixed(1)} MB`, cpuMs(runs, page), 1000);
process.exitCode = failed ? 1 : 0;
