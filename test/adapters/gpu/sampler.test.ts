import { afterEach, expect, it } from "vitest";
import { systemClock } from "../../../src/adapters/clock.ts";
import { gpuTelemetry } from "../../../src/adapters/gpu/sampler.ts";
import { createProcesses } from "../../../src/adapters/process/processes.ts";
import type { Telemetry } from "../../../src/ports/world.ts";
import { program } from "../../support/ort-jobs.ts";
import { until } from "../../support/until.ts";

const clock = systemClock();
const open: { telemetry: Telemetry; processes: ReturnType<typeof createProcesses> }[] = [];
afterEach(async () => {
	for (const { telemetry, processes } of open.splice(0)) {
		await telemetry.stop();
		await processes.killAll();
	}
});

async function watch(options: string[], { silenceMs = 60_000, timeoutMs = 600_000 } = {}) {
	const processes = createProcesses();
	const smi = { argv: [process.execPath, program("nvidia-smi"), ...options] as const, processes, timeoutMs };
	const telemetry = gpuTelemetry({ smi, clock, everyMs: 20, silenceMs, firstMs: 60_000 });
	open.push({ telemetry, processes });
	const fromMs = clock.now();
	await telemetry.start();
	return { telemetry, processes, fromMs };
}

const noGpm =
	"NVIDIA H200 offers no hardware counters (GPM), so utilisation is nvidia-smi's: the share of time in which any kernel ran.";

it("samples a GPU, and reports what it did between two times", async () => {
	const { telemetry, processes, fromMs } = await watch(["samples=comparison-same-model.csv"]);
	await until(() => (telemetry.window(fromMs, clock.now())?.samples ?? 0) > 20);
	const window = telemetry.window(fromMs, clock.now());
	expect(window?.smClockMhz?.mean).toBe(1980);
	expect(window).toMatchObject({ throttleReasons: [], use: { source: "nvidia-smi", memoryBandwidth: null } });
	expect(telemetry.window(fromMs - 1000, fromMs - 1)).toBeNull();
	expect(telemetry.foreignProcesses(fromMs, clock.now())).toEqual([]);
	await until(() => telemetry.degradations().includes(noGpm));
	expect(telemetry.degradations()).toEqual([noGpm]);
	expect(processes.childMs()).toBe(0);
});

it("reads the hardware's counters if they are offered", async () => {
	const { telemetry, fromMs } = await watch(["gpm=h200-dmon-gpm.txt", "speed=20"]);
	await until(() => telemetry.window(fromMs, clock.now() - 500)?.use?.source === "gpm");
	expect(telemetry.window(fromMs, clock.now())?.use?.smUtilisation).toBeGreaterThan(0.3);
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
	const { telemetry, fromMs } = await watch([`fault=${fault}`], setting);
	await until(() => telemetry.degradations().some((text) => text.startsWith(sentence)));
	expect(telemetry.window(fromMs, clock.now())?.samples).toBe(5);
});

it.each([
	["no-driver", "nvidia-smi reports no GPU (exit code 9): NVIDIA-SMI has failed because"],
	["no-devices", "nvidia-smi reports no GPU (exit code 6): No devices were found"],
])("with %s watches nothing and explains why", async (fault, sentence) => {
	const { telemetry, fromMs } = await watch([`fault=${fault}`]);
	expect(telemetry.degradations()).toEqual([expect.stringContaining(sentence)]);
	expect(telemetry.window(fromMs, clock.now())).toBeNull();
});

it("does not wait for an nvidia-smi that never answers and ignores SIGTERM", async () => {
	const { telemetry } = await watch(["fault=deaf"], { timeoutMs: 200 });
	expect(telemetry.degradations()[0]).toMatch(/^nvidia-smi did not answer within \d s/);
});

it("notes an idle process that was there before, and does not count it as foreign", async () => {
	const options = ["samples=h200-query-idle.csv", "apps=h200-neighbour-apps.csv", "speed=10"];
	const { telemetry, fromMs } = await watch(options, { silenceMs: 10_000 });
	expect(telemetry.degradations()).toContain(
		"python3 (process 5796) was on the GPU before the measurements, idle.",
	);
	await until(() => telemetry.window(fromMs, clock.now())?.otherMemoryBytes === 682 * 1024 * 1024);
	expect(telemetry.foreignProcesses(fromMs, clock.now())).toEqual([]);
	expect(telemetry.window(fromMs, clock.now())?.ownMemoryBytes).toBe(0);
});

it("counts a process that keeps the GPU busy as foreign", async () => {
	const options = ["samples=h200-query-load.csv", "apps=h200-neighbour-apps.csv", "speed=10"];
	const { telemetry, fromMs } = await watch(options);
	await until(() => telemetry.foreignProcesses(fromMs, clock.now()).length > 0);
	expect(telemetry.foreignProcesses(fromMs, clock.now())[0]).toMatchObject({ pid: 5796, name: "python3" });
});

it("leaves no process behind, and stops twice as well as once", async () => {
	const { telemetry, processes } = await watch([]);
	await telemetry.stop();
	await telemetry.stop();
	const started = clock.now();
	await processes.killAll();
	expect(clock.now() - started).toBeLessThan(100);
});
