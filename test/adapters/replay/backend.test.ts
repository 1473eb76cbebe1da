import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import type { Arm } from "../../../generated/result.ts";
import { openRecording, replay } from "../../../src/adapters/replay/backend.ts";
import type { BuiltEngine, MeasureJob } from "../../../src/ports/backend.ts";
import { temporaryFolder } from "../../support/project.ts";

const engine = (id: string, arm: Arm) => ({ spec: { id }, arm }) as BuiltEngine;

async function open() {
	const recording = await openRecording("examples/recorded");
	let nowMs = 0;
	const clock = { now: () => nowMs, timestamp: () => "2026-11-21T00:00:00.000Z" };
	const folder = temporaryFolder();
	const { backend, telemetry } = replay(recording, clock);
	const measure = (id: string, arm: Arm, warmUpMs = 300) => {
		nowMs += 10;
		const job = { engine: engine(id, arm), warmUpMs, durationMs: 1000, samplesPath: `${folder}/raw/run.f64` };
		return backend.measure(job as MeasureJob);
	};
	return { recording, backend, telemetry, measure, folder };
}

it("the replay gives a side's runs in the order of the recording, and a pilot counts as none", async () => {
	const { recording, measure, folder } = await open();
	const recorded = (await recording.engine("classifier/fp16"))?.head.runs ?? [];
	expect(recorded).toHaveLength(8);
	await measure("classifier/fp16", "head", 0);
	for (const run of recorded) {
		const result = await measure("classifier/fp16", "head");
		expect(result).toMatchObject({ state: "ok", wallMs: run.wallMs });
		expect(result.state === "ok" && result.samplesMs[0]).toBe((run.samples[0] ?? 0) / 1e7);
		expect(readFileSync(`${folder}/raw/run.f64`).readDoubleLE(0)).toBe((run.samples[0] ?? 0) / 1e7);
	}
	expect(await measure("classifier/fp16", "head")).toMatchObject({
		state: "unusable",
		reason: "The recording has no run 9 of classifier/fp16 (head).",
	});
});

it("the replay reports the GPU's readings of a run only between the times of that run", async () => {
	const { recording, telemetry, measure } = await open();
	const [first, second] = (await recording.engine("encoder/fp16"))?.base.runs ?? [];
	await measure("encoder/fp16", "base");
	await measure("encoder/fp16", "base");
	expect(telemetry.window(5, 15)).toEqual(first?.gpu);
	expect(telemetry.window(15, 25)).toEqual(second?.gpu);
	expect(telemetry.window(25, 35)).toBeNull();
});

const inferIn = async (id: string, names: readonly string[]) => {
	const { backend } = await open();
	const cases = names.map((name) => ({ id: name, inputs: {} }));
	const limits = { scratchFolder: "", logPath: "", threads: 1, timeoutMs: 1 };
	const result = await backend.infer({ engine: engine(id, "head"), cases, ...limits });
	return result.state === "done" && result.cases.map(({ state }) => state);
};

it.each(["nobody/fp16", "__proto__", "constructor"])("the replay rejects an engine named %s", async (id) => {
	const { measure } = await open();
	expect(await measure(id, "base")).toMatchObject({ state: "unusable" });
	expect(await inferIn(id, ["case-0"])).toEqual(["failed"]);
});

it("the replay rejects golden cases other than its own", async () => {
	const states = await inferIn("segmenter/fp32", ["case-0", "case-1", "__proto__"]);
	expect(states).toEqual(["done", "failed", "failed"]);
});
