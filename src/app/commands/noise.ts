// `trtgate doctor --noise`: one engine against itself, by a run of the gate.
import { basename, join, resolve } from "node:path";
import { systemClock } from "../../adapters/clock.ts";
import { fileModelReader } from "../../adapters/files/model-reader.ts";
import { fileStore } from "../../adapters/files/store.ts";
import { placeModel } from "../../adapters/onnxruntime/model-files.ts";
import { inNewFolder } from "../../adapters/process/write-error.ts";
import { findDims, fixedRange } from "../../core/config/dims.ts";
import { modelLines, precisionVariants } from "../../core/config/tune.ts";
import { type NoiseFinding, noiseFindings } from "../../core/telemetry/noise.ts";
import { examplesAt } from "../compose.ts";
import { progressFor, type Terminal } from "../terminal.ts";
import { chooseInitSizes } from "./init-sizes.ts";
import { readBackend, runTrial } from "./trial.ts";

/** With the build of an engine on a slow machine. */
const mostMs = 10 * 60_000;
/** Ten runs and their starts take a minute. */
const measure =
	"measure: { pairs: [5], warm-up: 1s, duration: 3s, identical-engines: measure, unchanged-models: rebuild }";

export async function measureNoise(
	machine: { trtexec?: string; device?: string; model?: string; quiet: boolean },
	terminal: Terminal,
): Promise<NoiseFinding[]> {
	const { model: given, quiet, trtexec, device } = machine;
	const backend = await readBackend(machine, terminal);
	if (backend.kind !== "tensorrt")
		return [
			{
				name: "noise",
				ok: true,
				status:
					"nothing to time: without TensorRT and a GPU, work is counted. Counts are exact on every machine, so noise does not matter here",
			},
		];
	const path =
		given === undefined
			? join(await examplesAt("quickstart"), "base", "models", "segmenter.onnx")
			: resolve(terminal.cwd, given);
	const model = await fileModelReader().read(path);
	const known = await chooseInitSizes(model, { dims: {}, inputs: {} }, { ...terminal, quiet: true });
	const [variant] = precisionVariants(model, {
		tensorrt: backend.version,
		computeCapability: backend.computeCapability,
	});
	const found = findDims(model.onnx, known);
	const dims = found.dims.map((dim) => ({ ...dim, range: fixedRange(dim.range.opt) }));
	return inNewFolder("trtgate-noise-", async (folder) => {
		const onnx = basename((await placeModel(model, folder)).path);
		const tuned = { name: "noise", onnx, found: { ...found, dims } };
		const lines = modelLines(tuned, variant === undefined ? [] : [variant]);
		const text = `version: 1\nbackend: tensorrt\n${lines}${measure}\nprobes: off\n`;
		await fileStore().writeText(join(folder, "trtgate.yml"), text);
		const options = {
			...{ base: ".", head: ".", config: "trtgate.yml", out: "out" },
			inputs: device === undefined ? ({} as Record<string, string>) : { device },
			progress: progressFor(terminal, { quiet }),
			...(trtexec === undefined ? {} : { trtexec }),
		};
		const result = await runTrial(options, systemClock().now() + mostMs, { ...terminal, cwd: folder });
		const [row] = result.workloads;
		if (row !== undefined) return noiseFindings(row);
		const why = result.errors[0]?.message ?? result.builds[0]?.failure?.title ?? "no run was timed";
		return [{ name: "noise", ok: false, status: `not measured: ${why}` }];
	});
}
