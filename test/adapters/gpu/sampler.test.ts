import { readFileSync } from "node:fs";
import { expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../../src/adapters/clock.ts";
import { gpuTelemetry } from "../../../src/adapters/gpu/sampler.ts";
import { createProcesses } from "../../../src/adapters/process/processes.ts";
import { program } from "../../support/ort-jobs.ts";
import { until } from "../../support/until.ts";

const clock = systemClock();

async function watch(options: string[], { silenceMs = 60_000, timeoutMs = 600_000 } = {}) {
	const processes = createProcesses();
	const smi = { argv: [process.execPath, program("nvidia-smi"), ...options] as const, processes, timeoutMs };
	const telemetry = gpuTelemetry({ smi, clock, everyMs: 20, silenceMs, firstMs: 60_000 });
	onTestFinished(async () => {
		await telemetry.stop();
		await processes.killAll();
	});
	const fromMs = clock.now();
	await telemetry.start();
	return {
		...{ telemetry, processes, fromMs },
		window: (untilMs = clock.now()) => telemetry.window(fromMs, untilMs),
		foreign: () => telemetry.foreignProcesses(fromMs, clock.now()),
	};
}

const noGpm =
	"NVIDIA H200 offers no hardware counters (GPM), so utilisation is nvidia-smi's: the share of time in which any kernel ran.";

it("samples a GPU, and reports what it did between two times", async () => {
	const { telemetry, processes, fromMs, window, foreign } = await watch([
		"samples=comparison-same-model.csv",
	]);
	await until(() => (window()?.samples ?? 0) > 20);
	expect(window()).toMatchObject({
		smClockMhz: { mean: 1980 },
		...{ throttleReasons: [], use: { source: "nvidia-smi", memoryBandwidth: null } },
	});
	expect(telemetry.window(fromMs - 1000, fromMs - 1)).toBeNull();
	expect(foreign()).toEqual([]);
	await until(() => telemetry.degradations().includes(noGpm));
	expect(telemetry.degradations()).toEqual([noGpm]);
	expect(processes.childMs()).toBe(0);
});

it("reads the hardware's counters if they are offered", async () => {
	const { telemetry, window } = await watch(["gpm=h200-dmon-gpm.txt", "speed=20"]);
	await until(() => window(clock.now() - 500)?.use?.source === "gpm");
	expect(window()?.use?.smUtilisation).toBeGreaterThan(0.3);
	expect(telemetry.degradations()).toEqual([]);
});

it.each([
	["hang:5", "nvidia-smi printed nothing for 1.5 s and was stopped; from then on"],
	["end:5", "nvidia-smi ended (exit code 15); its last output: "],
	["lost:5", "The GPU was lost during monitoring: GPU is lost."],
	["columns:5", "nvidia-smi's rows could not be parsed: 10 columns where 8 were expected."],
	["na:5", "nvidia-smi's rows could not be parsed: no value in any column, but N/A."],
])("with %s keeps what came before, and reports what happened", async (fault, sentence) => {
	const setting = fault.startsWith("hang") ? { silenceMs: 1_500 } : {};
	const { telemetry, window } = await watch([`fault=${fault}`], setting);
	await until(() => telemetry.degradations().some((text) => text.startsWith(sentence)));
	expect(window()?.samples).toBe(5);
});

it.each([
	["no-driver", "nvidia-smi reports no GPU (exit code 9): NVIDIA-SMI has failed because"],
	["no-devices", "nvidia-smi reports no GPU (exit code 6): No devices were found"],
])("with %s watches nothing and explains why", async (fault, sentence) => {
	const { telemetry, window } = await watch([`fault=${fault}`]);
	expect(telemetry.degradations()).toEqual([expect.stringContaining(sentence)]);
	expect(window()).toBeNull();
});

it("does not wait for an nvidia-smi that never answers and ignores SIGTERM", async () => {
	const { telemetry } = await watch(["fault=deaf"], { timeoutMs: 200 });
	expect(telemetry.degradations()[0]).toMatch(/^nvidia-smi did not answer within \d s/);
});

it("notes an idle process that was there before, and does not count it as foreign", async () => {
	const options = ["samples=h200-query-idle.csv", "apps=h200-neighbour-apps.csv", "speed=10"];
	const { telemetry, window, foreign } = await watch(options, { silenceMs: 10_000 });
	expect(telemetry.degradations()).toContain(
		"python3 (process 5796) was on the GPU before the measurements, idle.",
	);
	await until(() => window()?.otherMemoryBytes === 682 * 1024 * 1024);
	expect(foreign()).toEqual([]);
	expect(window()?.ownMemoryBytes).toBe(0);
});

it("counts a process that keeps the GPU busy as foreign", async () => {
	const options = ["samples=h200-query-load.csv", "apps=h200-neighbour-apps.csv", "speed=10"];
	const { foreign } = await watch(options);
	await until(() => foreign().length > 0);
	expect(foreign()[0]).toMatchObject({ pid: 5796, name: "python3" });
});

it("leaves no process behind, and stops twice as well as once", async () => {
	const { telemetry } = await watch([]);
	const children = () =>
		readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, "utf8").match(/\d+/g);
	const running = () =>
		(children() ?? []).filter((pid) => readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("nvidia-smi"));
	expect(running()).not.toEqual([]);
	await telemetry.stop();
	await telemetry.stop();
	expect(running()).toEqual([]);
});
