import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createProcesses } from "../../../src/adapters/process/processes.ts";
import type { Backend, BuiltEngine } from "../../../src/ports/backend.ts";
import { buildBuild } from "../../support/build-result.ts";
import { float32 } from "../../support/golden-tensors.ts";
import {
	buildJob,
	countJob,
	fixture,
	inferJob,
	models,
	program,
	testBackend,
} from "../../support/ort-jobs.ts";
import { temporaryFolder } from "../../support/project.ts";

const folder = temporaryFolder(afterAll);
const backendOf = (name: string): Backend => testBackend({ workerPath: program(name) });
const cases = [{ id: "a", inputs: { x: float32([1]) } }];
let engine: BuiltEngine;
beforeAll(() => {
	const model = fixture("net");
	const { spec } = buildJob(model, folder);
	engine = { spec, arm: "head", record: buildBuild(), path: model.path, model };
});

it.each([
	["sleeper", "tool-timeout", 2_000, "asleep"],
	["crasher", "tool-crashed", 600_000, "about to touch bad memory"],
	["garbage", "tool-output", 600_000, "all is well"],
	["absent", "tool-crashed", 600_000, "Error: Cannot find module"],
])("%s is reported with its cause", async (...[name, code, timeoutMs, word]) => {
	const backend = backendOf(name);
	const failure = {
		code,
		excerpt: expect.arrayContaining([expect.stringContaining(word)]),
		log: expect.stringMatching(/\.log$/),
	};
	const failed = { state: "failed", failure };
	expect(await backend.count?.({ ...countJob(engine, folder), timeoutMs })).toMatchObject(failed);
	expect(await backend.infer({ ...inferJob(engine, cases, folder), timeoutMs })).toMatchObject(failed);
	const record = await backend.build(buildJob(engine.model, folder, { timeoutMs }));
	expect(record).toMatchObject({
		state: code === "tool-timeout" ? "timed-out" : "refused",
		failure: { code, kind: "runner" },
	});
});

it("a worker that ends well without an answer is reported", async () => {
	const silent = testBackend({ workerPath: "/dev/null" });
	const message = expect.stringContaining("left no result that can be read");
	const failed = { state: "failed", failure: { code: "tool-output", message } };
	expect(await silent.count?.(countJob(engine, folder))).toMatchObject(failed);
	expect(await silent.infer(inferJob(engine, cases, folder))).toMatchObject(failed);
});

it("a worker is interrupted when the run is cancelled", async () => {
	const processes = createProcesses();
	const backend = testBackend({ processes, workerPath: program("sleeper") });
	setTimeout(() => void processes.killAll(), 200);
	const failure = { code: "interrupted" };
	expect(await backend.count?.(countJob(engine, folder))).toMatchObject({ state: "failed", failure });
});

it.each(["short-output", "lost-output", "outside-output", "huge-output", "few-cases", "other-job"])(
	"a worker that lies is rejected: %s",
	async (lie) => {
		const liar = { ...engine, path: `/x/${lie}.onnx` };
		const result = await backendOf("wrong-answer").infer(inferJob(liar, cases, join(folder, lie)));
		expect(result).toMatchObject({ state: "failed", failure: { code: "tool-output" } });
	},
);

it("a worker is killed in the middle of a model that never ends", async () => {
	const endless = { ...engine, path: join(models, "endless.onnx") };
	const x = float32(new Array<number>(16).fill(1), [4, 4]);
	const job = inferJob(endless, [{ id: "a", inputs: { x } }], folder);
	const result = await testBackend().infer({ ...job, timeoutMs: 1_500 });
	expect(result).toMatchObject({ state: "failed", failure: { code: "tool-timeout" } });
});
