import { join, resolve } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../../src/adapters/clock.ts";
import { readBoard, tegraTelemetry } from "../../../src/adapters/gpu/tegra.ts";
import { createProcesses } from "../../../src/adapters/process/processes.ts";
import { trtexecBackend } from "../../../src/adapters/trtexec/backend.ts";
import { findTrtexec, readTegraDevice } from "../../../src/adapters/trtexec/find.ts";
import { gpuWatch } from "../../../src/app/gpu.ts";
import { folderWith, writeScript } from "../../support/project.ts";
import { until } from "../../support/until.ts";

const fixture = resolve("test/fixtures/tegra/trtexec-orin.txt");
const busy =
	"RAM 6185/7620MB (lfb 8x2MB) EMC_FREQ 43%@2133 GR3D_FREQ 63%@[621] gpu@53.343C VDD_IN 12479mW/12479mW VDD_CPU_GPU_CV 4667mW/4667mW";

const files = {
	"sys/firmware/devicetree/base/model": "NVIDIA Jetson AGX Orin Developer Kit\0",
	"etc/nv_tegra_release": "# R36 (release), REVISION: 4.4, GCID: 41062509, BOARD: generic, EABI: aarch64\n",
	"sys/class/devfreq/17000000.gpu/min_freq": "306000000\n",
	"sys/class/devfreq/17000000.gpu/max_freq": "1300500000\n",
	"sys/class/devfreq/15340000.vic/max_freq": "601600000\n",
};

function jetson(programs: Readonly<Record<string, string>>, below = "") {
	const kept = Object.entries(files).filter(([path]) => path.startsWith(below));
	const root = folderWith(Object.fromEntries(kept));
	for (const [name, script] of Object.entries(programs)) writeScript(join(root, "bin", name), script);
	const processes = createProcesses({ env: { PATH: `${join(root, "bin")}:/usr/bin:/bin` } });
	onTestFinished(() => processes.killAll());
	return { root, processes };
}

const tools = {
	nvpmodel: 'echo "NV Power Mode: MAXN"; echo 0',
	trtexec: `case "$*" in *--help*) echo "&&&& RUNNING TensorRT.trtexec [TensorRT v101602] # trtexec --help";; *) cat ${fixture}; exit 1;; esac`,
	tegrastats: `[ "$1 $2" = "--interval 100" ] || exit 2; while :; do echo "${busy}"; sleep 0.01; done`,
};

it("a Jetson is described by its files, nvpmodel and trtexec, if nvidia-smi is missing", async () => {
	const { root, processes } = jetson(tools);
	const board = await readBoard(processes, root);
	if (board === null) throw new Error("no board");
	const found = await findTrtexec({ cwd: root, processes });
	if (found.state === "missing") throw new Error("no trtexec");
	const { trtexec } = found;
	const read = await readTegraDevice(trtexec, { board }, processes);
	if (read.state !== "found") throw new Error(read.state);
	const timing = { cudaGraph: true, spinWait: true, transfers: false };
	const backend = trtexecBackend({ trtexec, gpu: read.device, processes, timing });
	const facts = { device: "Orin", computeCapability: "8.7", memoryBytes: 15536 * 1024 ** 2 };
	expect(await backend.facts()).toMatchObject(facts);
	expect(await backend.fingerprint()).toMatchObject({
		...{ gpu: "Orin", computeCapability: "8.7", driverBranch: "36", l4t: "36.4.4", powerMode: "MAXN" },
		...{ board: "NVIDIA Jetson AGX Orin Developer Kit", gpuClock: "up to 1301 MHz" },
	});
	expect(await readTegraDevice(trtexec, { board, wanted: "1" }, processes)).toEqual({ state: "none" });
});

it("a Jetson is recognised in a container by its release alone, without its power mode", async () => {
	const { root, processes } = jetson({}, "etc/");
	const unknown = { model: null, powerMode: null, gpuClock: null };
	expect(await readBoard(processes, root)).toEqual({ ...unknown, l4t: "36.4.4" });
	expect(await readBoard(processes, join(root, "empty"))).toBeNull();
});

it("a Jetson is watched by tegrastats while engines run, and the report says what that cannot know", async () => {
	const { root, processes } = jetson(tools);
	const board = await readBoard(processes, root);
	const device = { choice: { gpu: { uuid: "GPU-tegra" }, slice: null }, cuda: null, board };
	const clock = systemClock();
	const watch = gpuWatch({ gpu: async () => device as never, processes, clock, device: undefined });
	const fromMs = clock.now();
	await watch.start();
	await until(() => (watch.window(fromMs, clock.now())?.samples ?? 0) > 3);
	expect(watch.window(fromMs, clock.now())).toMatchObject({
		smClockMhz: { mean: 621, min: 621, max: 621 },
		...{ memoryClockMhz: { mean: 2133 }, powerW: { mean: expect.closeTo(4.667, 9) }, throttleReasons: [] },
		use: {
			source: "tegrastats",
			smUtilisation: expect.closeTo(0.63, 9),
			memoryBandwidth: expect.closeTo(0.43, 9),
		},
	});
	expect(watch.degradations()).toEqual([
		expect.stringContaining("a foreign process on the GPU"),
		expect.stringContaining("shared with the CPU"),
		expect.stringContaining("VDD_CPU_GPU_CV"),
	]);
	await watch.stop();
});

it("without tegrastats the run goes on, and says what is unknown", async () => {
	const { processes } = jetson({});
	const tool = { argv: ["tegrastats"], name: "tegrastats", processes } as const;
	const watch = tegraTelemetry({ tool, clock: systemClock() });
	await watch.start();
	expect(watch.degradations()).toEqual([
		"tegrastats is not installed; from then on, the GPU's clocks and power are unknown.",
	]);
	expect(watch.window(0, 1)).toBeNull();
});
