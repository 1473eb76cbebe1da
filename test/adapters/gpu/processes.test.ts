import { spawn } from "node:child_process";
import { expect, it } from "vitest";
import { watchProcesses } from "../../../src/adapters/gpu/sampler.ts";
import { createProcesses } from "../../../src/adapters/process/processes.ts";
import type { ProcessSample } from "../../../src/core/telemetry/window.ts";
import { program } from "../../support/ort-jobs.ts";
import { until } from "../../support/until.ts";

it("distinguishes our processes and their children from foreign and unknown ones and from those on other GPUs", async () => {
	const processes = createProcesses();
	const seen: number[] = [];
	const ours = processes.run({
		argv: [process.execPath, program("forker")],
		timeoutMs: 600_000,
		onLine: (line: string) => seen.push(Number(/\d+/.exec(line)?.[0])),
	});
	const foreign = spawn(process.execPath, [program("sleeper")], { stdio: "ignore" });
	await until(() => seen.length > 0);
	const readings: ProcessSample[] = [];
	const list = watchProcesses("GPU-1", processes, (reading) => readings.push(reading));
	list.push(`t, GPU-1, ${seen[0]}, node, 100`, 5);
	list.push(`t, GPU-1, ${foreign.pid}, /usr/bin/node, 7`, 6);
	list.push(`t, GPU-1, ${foreign.pid}, /usr/bin/node, 8`, 6);
	list.push(`t, GPU-1, ${process.pid}, trtexec, 7`, 6);
	list.push("t, GPU-1, [N/A], [Not Found], [N/A]", 6);
	list.push("t, GPU-2, 1, init, 7", 6);
	await until(() => readings.length > 0);
	expect(readings).toHaveLength(1);
	expect(readings[0]?.atMs).toBe(5);
	expect(
		readings[0]?.processes.map(({ owner, memoryBytes }) => [
			owner,
			memoryBytes === null ? null : memoryBytes / 1024 / 1024,
		]),
	).toEqual([
		["ours", 100],
		["foreign", 8],
		["unknown", 7],
		["unknown", null],
	]);
	foreign.kill();
	await processes.killAll();
	await ours;
});
