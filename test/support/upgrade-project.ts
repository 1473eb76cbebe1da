import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Dim, model, value } from "./onnx-writer.ts";
import { type AtEnd, readResult, runCli, temporaryFolder } from "./project.ts";
import { installReplay } from "./replay/install.ts";

const netOf = (input: string, dims: readonly Dim[], output: string) =>
	model({
		inputs: [value(input, dims)],
		outputs: [value(output, dims)],
		nodes: `${output} = Relu(${input})`,
	});

/** Small networks with the inputs of the recorded ones. */
const nets = {
	orientation: netOf("x", ["batch", 3, 224, 224], "fetch_name_0"),
	onet: netOf("input_3", ["batch", 48, 48, 3], "dense_5"),
	"plcmos-v2": netOf("degraded_audio", ["batch", 1, 128, 257], "mos"),
};

const config = `version: 1
backend: tensorrt
base: { trtexec: old/replay-bin/trtexec }
models:
${Object.keys(nets)
	.map(
		(name) =>
			`  ${name}: { onnx: ${name}.onnx, dims: { batch: { min: 1, opt: 8, max: 32 } }, engines: { fp32: { precision: fp32 } }, workloads: [{ batch: 1 }] }`,
	)
	.join("\n")}
measure: { pairs: [5], warm-up: 300ms, duration: 500ms, timeout: 5m, build-timeout: 5m }
cache: { engines: false, timing: false, verdicts: false }
probes: off
`;

/** Replays the recorded upgrade from TensorRT 8.6.1 to 10.6.0. */
export async function replayUpgrade(edit: (config: string) => string = (text) => text, atEnd?: AtEnd) {
	const cwd = temporaryFolder(atEnd);
	writeFileSync(join(cwd, "trtgate.yml"), edit(config));
	for (const [name, bytes] of Object.entries(nets)) writeFileSync(join(cwd, `${name}.onnx`), bytes);
	installReplay(join(cwd, "old"), { comparison: "upgrade", as: "base" });
	const env = { PATH: installReplay(cwd, { comparison: "upgrade", as: "head" }) };
	const run = await runCli(["run", "--out", "out"], { cwd, env });
	return {
		...{ cwd, env, run },
		result: () => readResult(join(cwd, "out")),
		read: (path: string) => readFileSync(join(cwd, path), "utf8"),
	};
}
