import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { entryStore } from "../../../src/adapters/cache/entries.ts";
import { resumeCases } from "../../../src/adapters/onnxruntime/kept-cases.ts";
import type { InferResult, InferredCase } from "../../../src/ports/backend.ts";
import type { EmulationJob, ReferenceJob } from "../../../src/ports/reference.ts";
import { float32 } from "../../support/golden-tensors.ts";
import { fixture, referenceJob } from "../../support/ort-jobs.ts";
import { temporaryFolder } from "../../support/project.ts";

const runtime = { flavour: "wasm", version: "1", folder: "ort" } as const;
const inputsOf = (count: number) =>
	Array.from({ length: count }, (_, index) => ({ x: float32([index], [1]) }));
const timeout = { code: "tool-timeout", message: "too slow" } as const;

function setUp(store = join(temporaryFolder(), "cases")) {
	const asked: string[][] = [];
	/** Gets through as many cases as given, slowly. */
	const run =
		(most: number, wallMs = 5000) =>
		async (job: ReferenceJob): Promise<InferResult> => {
			asked.push(job.cases.map(({ id }) => id));
			const cases = job.cases.slice(0, most).map(({ id, inputs }): InferredCase => {
				return { id, state: "done", outputs: { y: inputs["x"] ?? float32([0]), empty: float32([], [0]) } };
			});
			return cases.length === 0
				? { state: "failed", failure: timeout, wallMs }
				: { state: "done", cases, wallMs };
		};
	const kept = { store: entryStore({ folder: store, maxBytes: 2 ** 20 }), version: "1" };
	const job = referenceJob(temporaryFolder(), fixture("net"), inputsOf(4));
	const idsOf = (result: InferResult) =>
		result.state === "done" ? result.cases.map(({ id }) => id) : result.failure.code;
	return { asked, run, kept, job, idsOf, store };
}

it("resumeCases runs only the cases that no earlier run finished, and gives the same outputs", async () => {
	const { asked, run, kept, job, idsOf } = setUp();
	const ids = job.cases.map(({ id }) => id);
	const results = [];
	for (const most of [0, 3, 0, 4, 0]) results.push(await resumeCases(job, runtime, kept, run(most)));
	expect(results.map(idsOf)).toEqual(["tool-timeout", ids.slice(0, 3), ids.slice(0, 3), ids, ids]);
	expect(asked).toEqual([ids, ids, ids.slice(3), ids.slice(3)]);
	const fresh = await run(4)(job);
	expect(results.at(-1)).toEqual({ ...fresh, wallMs: 0 });
});

it.each<[string, (job: ReferenceJob) => Partial<EmulationJob>]>([
	["another level", ({ variant }) => ({ variant: { ...variant, level: "all" } })],
	["another precision", () => ({ precision: "fp16" })],
	["another model", ({ model }) => ({ model: { ...model, sha256: "0" } })],
	[
		"other inputs",
		({ cases }) => ({ cases: cases.map((one) => ({ ...one, inputs: { x: float32([9], [1]) } })) }),
	],
])("resumeCases takes nothing over for %s", async (_, changed) => {
	const { run, kept, job, idsOf } = setUp();
	await resumeCases(job, runtime, kept, run(4));
	expect(idsOf(await resumeCases({ ...job, ...changed(job) }, runtime, kept, run(0)))).toBe("tool-timeout");
});

it("resumeCases keeps nothing of quick runs, and takes over no damaged file", async () => {
	const { run, kept, job, idsOf, store } = setUp();
	await resumeCases(job, runtime, kept, run(4, 10));
	expect(await kept.store.list("")).toEqual([]);
	await resumeCases(job, runtime, kept, run(4));
	for (const entry of readdirSync(store)) {
		const path = join(store, entry, "outputs.bin");
		const bytes = readFileSync(path);
		writeFileSync(
			path,
			bytes.map((byte) => byte ^ 1),
		);
	}
	expect(idsOf(await resumeCases(job, runtime, kept, run(0)))).toBe("tool-timeout");
});
