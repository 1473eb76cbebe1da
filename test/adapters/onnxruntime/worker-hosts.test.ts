import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, it, type MockInstance, vi } from "vitest";
import { drawsRandomly } from "../../../src/adapters/onnxruntime/worker-process.ts";
import { createProcesses, type Processes } from "../../../src/adapters/process/processes.ts";
import type { OnnxModel } from "../../../src/core/onnx/model.ts";
import type { Backend, BuiltEngine } from "../../../src/ports/backend.ts";
import {
	buildJob,
	builtEngine,
	countJob,
	fixture,
	image,
	inferJob,
	testBackend,
} from "../../support/ort-jobs.ts";
import { temporaryFolder } from "../../support/project.ts";

const folder = temporaryFolder(afterAll);
let processes: Processes;
let start: MockInstance<Processes["run"]>;
let backend: Backend;
let engine: BuiltEngine;

const good = { id: "good", inputs: { image: image(0.5) } };
const inferGood = (one = backend) => one.infer(inferJob(engine, [good], folder));

describe("jobs of one run", () => {
	beforeEach(async () => {
		processes = createProcesses();
		start = vi.spyOn(processes, "run");
		backend = testBackend({ processes });
		engine = await builtEngine(backend, fixture("net"), join(folder, "net"));
		return () => processes.killAll();
	});

	it("share a process that lives on, each with its own log, with the same results as in separate processes", async () => {
		const warned = await backend.build(buildJob(fixture("warns"), join(folder, "warns")));
		const result = await inferGood();
		expect(start).toHaveBeenCalledTimes(1);
		expect(warned.warnings).toMatchObject([{ count: 1 }]);
		expect(readFileSync(join(folder, "warns", "build.log"), "utf8")).toMatch(/CleanUnusedInitializers/);
		expect(readFileSync(join(folder, "infer.log"), "utf8")).not.toMatch(/CleanUnused|done with/);
		await processes.killAll();
		const alone = await inferGood(testBackend());
		expect(result).toEqual({ ...alone, wallMs: expect.any(Number) });
	});

	it("get a new process after a case that failed, and after a model that was refused", async () => {
		await backend.infer(inferJob(engine, [{ id: "bad", inputs: {} }, good], folder));
		expect(await inferGood()).toMatchObject({
			state: "done",
			cases: [{ state: "done" }],
		});
		expect(start).toHaveBeenCalledTimes(2);
		// It ends itself at once; `process.exit` would wait for V8's compiler.
		expect(await start.mock.results[0]?.value).toMatchObject({ state: "signalled", signal: "SIGKILL" });
		await backend.build(buildJob(fixture("refused-kernel"), join(folder, "refused")));
		expect(await inferGood()).toMatchObject({ state: "done" });
		expect(start).toHaveBeenCalledTimes(3);
	});

	it("run at the same time in processes of their own", async () => {
		const jobs = ["a", "b"].map((name) => inferJob(engine, [good], join(folder, name)));
		for (const result of await Promise.all(jobs.map((job) => backend.infer(job))))
			expect(result.state).toBe("done");
		expect(start).toHaveBeenCalledTimes(2);
	});

	it("count and profile in a process that ran other jobs exactly as in a new one", async () => {
		const counts = async (one: Backend, folder: string) => {
			const job = countJob(engine, folder);
			const path = join(folder, "profile.json");
			const profile = await one.profile?.({ ...job, profilePath: path, layersPath: path, nodesPath: path });
			return { count: await one.count?.(job), layers: profile?.state === "done" && profile.layers };
		};
		const alone = await counts(testBackend(), join(folder, "alone"));
		expect(alone).toMatchObject({ count: { state: "counted" }, layers: { unit: "M instructions" } });
		await inferGood();
		for (const name of ["first", "second"]) expect(await counts(backend, join(folder, name))).toEqual(alone);
		expect((await inferGood()).state).toBe("done");
		expect(start).toHaveBeenCalledTimes(1);
	});

	it("count as time of children only while they run", async () => {
		const before = processes.childMs();
		expect(before).toBeGreaterThan(0);
		await new Promise(setImmediate);
		expect(processes.childMs()).toBe(before);
	});
});

describe("drawsRandomly", () => {
	const graph = (op: string, subgraphs: unknown[] = []) => ({ nodes: [{ op }], subgraphs });
	it.each([
		["a plain operator", { graph: graph("Conv"), functions: [] }, false],
		["a random one", { graph: graph("RandomNormalLike"), functions: [] }, true],
		["one in a branch", { graph: graph("If", [{ graph: graph("Bernoulli") }]), functions: [] }, true],
		["one in a function", { graph: graph("Mine"), functions: [graph("Multinomial")] }, true],
	])("%s", (_, model, expected) => {
		expect(drawsRandomly(model as unknown as OnnxModel)).toBe(expected);
	});
});
