// A soak ends: when the engine is steady, when the time is up, when a process fails and when the run is interrupted.
import { expect, it } from "vitest";
import { engineSpecs } from "../../src/core/plan/plan.ts";
import type { MeasureJob, MeasureResult } from "../../src/ports/backend.ts";
import { type Soaked, soak } from "../../src/stages/soak.ts";
import { buildConfig } from "../support/build-config.ts";
import { brokenRun, fakeBackend, fakePorts } from "../support/fakes.ts";

const config = buildConfig("measure: { soak: 10m }\n");
const [spec] = engineSpecs(config);

/** Processes that take their whole duration at these levels, the last again and again. */
async function soakAt(
	levels: readonly number[],
	options: { stopAfter?: number; answer?: (job: MeasureJob) => MeasureResult } = {},
) {
	const jobs: MeasureJob[] = [];
	const backend = fakeBackend((_, nth, job) => {
		jobs.push(job);
		if (options.answer !== undefined) return options.answer(job);
		const ms = levels[Math.min(nth, levels.length - 1)] ?? 1;
		return {
			state: "ok",
			samplesMs: new Float64Array(600).fill(ms),
			peakMemoryBytes: 0,
			wallMs: job.durationMs,
			timedMs: job.durationMs,
		};
	});
	const record = {
		model: "net",
		engine: "plain",
		arm: "head",
		state: "built",
		durationMs: 1,
		warnings: [],
	} as const;
	const head = {
		spec: spec!,
		arm: "head",
		record: { ...record, warnings: [] },
		path: "/head",
		model: {},
	} as never;
	const workload = { id: "net/plain/one", engineId: spec!.id, config: spec!.engine.workloads[0]! };
	const timed = { workload, head, inputs: [], firstArms: [] };
	const found: Soaked[] = [];
	const input = { workloads: [timed], rows: [], measure: config.measure, outFolder: "/out" };
	for await (const one of soak(input, fakePorts(backend, options.stopAfter))) found.push(one);
	const [first] = found;
	return { jobs, result: first !== undefined && "soak" in first ? first.soak : undefined, first };
}

it("a soak ends when three processes agree, and none of them warms up", async () => {
	const { jobs, result } = await soakAt([1.02, 1.01, 1]);
	expect(jobs.map(({ durationMs, warmUpMs }) => [durationMs, warmUpMs])).toEqual(
		Array.from({ length: 5 }, () => [60_000, 0]),
	);
	expect(result).toMatchObject({
		state: "steady",
		drift: expect.closeTo(-0.0196, 3),
		limits: { warn: 0.02, fail: 0.1 },
	});
});

it("a soak that never settles ends when its time is up, whatever the processes say of theirs", async () => {
	const rising = Array.from({ length: 20 }, (_, nth) => 1 + nth / 100);
	const { jobs, result } = await soakAt(rising);
	expect([jobs.length, result?.state]).toEqual([10, "time-up"]);
	let nth = 0;
	const hasty = await soakAt([], {
		answer: () => ({
			state: "ok",
			samplesMs: new Float64Array(60).fill(1 + nth++),
			peakMemoryBytes: 0,
			wallMs: 1,
			timedMs: 1,
		}),
	});
	expect(hasty.jobs).toHaveLength(10);
});

it("a soak whose process fails is an error of its workload, and no finding", async () => {
	const { first } = await soakAt([], { answer: () => brokenRun("it crashed") });
	expect(first).toMatchObject({ id: "net/plain/one", error: { code: "tool-crashed", workload: "one" } });
});

it("an interrupted soak keeps what it has", async () => {
	const { jobs, result } = await soakAt([1], { stopAfter: 2 });
	expect([jobs.length, result?.state, result?.processes.length]).toEqual([2, "interrupted", 1]);
});
