// Watches Jetson boards, whose nvidia-smi is missing or answers N/A, with tegrastats.
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { gpuWindow, type TelemetrySample } from "../../core/telemetry/window.ts";
import {
	gpuPowerOf,
	isGpuDevice,
	parsePowerMode,
	parseTegraRelease,
	parseTegrastats,
	type TegraBoard,
} from "../../formats/tegra/tegrastats.ts";
import type { Clock, Telemetry } from "../../ports/world.ts";
import type { Processes } from "../process/processes.ts";
import { openStream, type Smi, type Stream, untilFirst } from "./nvidia-smi.ts";
import { createRing } from "./sampler.ts";

/** null if this is not a Jetson. Containers may hide all files. */
export async function readBoard(processes: Processes, root = "/"): Promise<TegraBoard | null> {
	const text = (path: string) => readFile(join(root, path), "utf8").catch(() => "");
	const model = (await text("sys/firmware/devicetree/base/model")).split("\0", 1)[0]?.trim() ?? "";
	const l4t = parseTegraRelease(await text("etc/nv_tegra_release"));
	const isNamed = /\b(jetson|tegra|thor|orin|xavier)\b/i.test(model);
	if (!isNamed && l4t === null) return null;
	const limits = { timeoutMs: 10_000, captureBytes: 4096, beside: true };
	const { stdout } = await processes.run({ argv: ["nvpmodel", "-q"], ...limits });
	const devices = await readdir(join(root, "sys/class/devfreq")).catch(() => []);
	const device = join("sys/class/devfreq", devices.find(isGpuDevice) ?? "none");
	const mhz = async (file: string) => Math.round(Number(await text(join(device, file))) / 1e6);
	const [minMhz, maxMhz] = [await mhz("min_freq"), await mhz("max_freq")];
	return {
		model: isNamed ? model : null,
		l4t,
		powerMode: parsePowerMode(stdout),
		gpuClock: maxMhz > 0 ? { minMhz, maxMhz } : null,
	};
}

const everyMs = 100;
const waitMs = 5_000;
const maxSamples = 72_000;

export function tegraTelemetry({ tool, clock }: { tool: Smi; clock: Clock }): Telemetry {
	const samples = createRing<TelemetrySample>(maxSamples);
	const sentences = new Set<string>();
	let stream: Stream | null = null;
	const begin = () =>
		untilFirst(waitMs, (settle) => {
			stream = openStream(tool, {
				args: ["--interval", String(everyMs)],
				silenceMs: waitMs,
				onLine(line) {
					const sample = parseTegrastats(line, clock.now());
					if (sample === null) return;
					samples.push(sample);
					if (samples.entries().length === 1)
						for (const sentence of caveats(sample, line)) sentences.add(sentence);
					settle();
				},
				onEnd(why) {
					sentences.add(`${why}; from then on, the GPU's clocks and power are unknown.`);
					settle();
				},
			});
		});
	let started: Promise<void> | undefined;
	return {
		start() {
			started ??= begin();
			return started;
		},
		window: (fromMs, toMs) =>
			gpuWindow({ samples: samples.entries(), use: [], processes: [], source: "tegrastats" }, fromMs, toMs),
		foreignProcesses: () => [],
		degradations: () => [...sentences],
		stop: async () => stream?.stop(),
	};
}

function caveats(sample: TelemetrySample, line: string) {
	const { rail = null } = gpuPowerOf(line) ?? {};
	return [
		"tegrastats lists neither processes nor throttle reasons, so a foreign process on the GPU or throttling shows only in its clock and load.",
		"Memory is shared with the CPU, so its use is that of the whole board.",
		...(rail === null || rail === "VDD_GPU"
			? []
			: [`Power is that of the rail ${rail}, which the GPU shares with other parts.`]),
		...(sample.smClockMhz === null
			? ["tegrastats reports the GPU's clock only to root on this board, so clocks are unknown."]
			: []),
	];
}
