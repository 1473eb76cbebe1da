// node drive.mjs count|time FOLDER MODEL FEEDS: counts of one inference by class as JSON, or the fastest inference in
// milliseconds of CPU time, to which other programs add little.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [what, folder, model, feedsText] = process.argv.slice(2);
let exports = {};
const { instantiate } = WebAssembly;
WebAssembly.instantiate = async (...source) => {
	const result = await instantiate(...source);
	exports = (result.instance ?? result).exports;
	return result;
};
const ort = await import("onnxruntime-web");
ort.env.wasm.wasmPaths = pathToFileURL(join(folder, "/")).href;
ort.env.wasm.numThreads = 1;
const options = {
	executionProviders: ["wasm"],
	graphOptimizationLevel: "all",
	intraOpNumThreads: 1,
	logSeverityLevel: 3,
};
const session = await ort.InferenceSession.create(model, options);
const views = {
	float32: Float32Array,
	int64: BigInt64Array,
	int32: Int32Array,
	uint8: Uint8Array,
	bool: Uint8Array,
};
const feeds = {};
for (const { name, dtype, shape, path } of JSON.parse(feedsText)) {
	const { buffer } = Uint8Array.from(readFileSync(path));
	feeds[name] = new ort.Tensor(dtype, new views[dtype](buffer), shape);
}
const read = () =>
	Object.keys(exports).flatMap((name) => (name.startsWith("count-") ? [Number(exports[name].value)] : []));
const times = [];
const cpuMs = () => {
	const { user, system } = process.cpuUsage();
	return (user + system) / 1000;
};
const started = cpuMs();
let counts = [];
while (what === "count" ? times.length < 3 : times.length < 8 || cpuMs() - started < 1200) {
	const [before, at] = [read(), cpuMs()];
	await session.run(feeds);
	times.push(cpuMs() - at);
	counts = read().map((count, index) => count - before[index]);
}
process.stdout.write(what === "count" ? JSON.stringify(counts) : String(Math.min(...times)));
process.exit(0);
