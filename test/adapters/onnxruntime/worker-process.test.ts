import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createProcesses } from "../../../src/adapters/process/processes.ts";
import type { Backend, BuiltEngine } from "../../../src/ports/backend.ts";
import {
	buildJob,
	countJob,
	floats,
	inferJob,
	modelAt,
	models,
	net,
	program,
	temporaryFolder,
	testBackend,
} from "../../support/ort-jobs.ts";

const folder = temporaryFolder();
afterAll(() => rmSync(folder, { recursive: true }));
const backendOf = (name: string): Backend => testBackend({ workerPath: program(name) });
const cases = [{ id: "a", inputs: { x: floats([1]) } }];
let engine: BuiltEngine;
beforeAll(() => {
	const { spec } = buildJob(modelAt(net), folder);
	const record = {
		model: "m",
		engine: "fp32",
		arm: "head",
		state: "built",
		durationMs: 1,
		warnings: [],
	} as const;
	engine = { spec, arm: "head", record: { ...record, warnings: [] }, path: net, model: modelAt(net) };
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
	expect(await backend.count?.({ ...countJob(engine, folder), timeoutMs })).toMatchObject({
		state: "failed",
		failure,
	});
	expect(await backend.infer({ ...inferJob(engine, cases, folder), timeoutMs })).toMatchObject({
		state: "failed",
		failure,
	});
	const record = await backend.build(buildJob(engine.model, folder, { timeoutMs }));
	expect(record).toMatchObject({
		state: code === "tool-timeout" ? "timed-out" : "refused",
		failure: { code, kind: "runner" },
	});
});

it("a worker that ends well without an answer is reported", async () => {
	const silent = testBackend({ workerPath: "/dev/null" });
	const failure = {
		code: "tool-output",
		message: expect.stringContaining("left no result that can be read"),
	};
	expect(await silent.count?.(countJob(engine, folder))).toMatchObject({ state: "failed", failure });
	expect(await silent.infer(inferJob(engine, cases, folder))).toMatchObject({ state: "failed", failure });
});

it("a worker is interrupted when the run is cancelled", async () => {
	const processes = createProcesses();
	const backend = testBackend({ processes, workerPath: program("sleeper") });
	setTimeout(() => void processes.killAll(), 200);
	expect(await backend.count?.(countJob(engine, folder))).toMatchObject({
		state: "failed",
		failure: { code: "interrupted" },
	});
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
	const job = inferJob(
		endless,
		[{ id: "a", inputs: { x: floats(new Array<number>(16).fill(1), [4, 4]) } }],
		folder,
	);
	const result = await testBackend().infer({ ...job, timeoutMs: 1_500 });
	expect(result).toMatchObject({ state: "failed", failure: { code: "tool-timeout" } });
});
