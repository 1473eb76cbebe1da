// A whole run with a worker whose TensorRT is a stand-in: the head loads 50 ms longer and loses 64 KiB per change of shape.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Arm } from "../../generated/result.ts";
import { expectSchema } from "../support/expect-schema.ts";
import { expectExit, gateFolders, temporaryFolder } from "../support/project.ts";
import { writeArms } from "../support/replay/gate.ts";
import { installReplay } from "../support/replay/install.ts";
import { type FakePlan, installWorker, isOfHead, missing } from "../support/tensorrt-worker.ts";

const comparison = "slower-head";
const shape = [-1, 3, 32, 32];
const plan: FakePlan = {
	inputs: [{ name: "images", dtype: "FLOAT", shape }],
	outputs: [{ name: "probabilities", dtype: "FLOAT", shape, op: "same", from: "images" }],
	serviceMs: [10],
	clock: "virtual",
	profiles: [{ images: [1, 8, 8].map((batch) => [batch, ...shape.slice(1)]) }],
};
const head: FakePlan = {
	...plan,
	serviceMs: [11],
	loadMs: 50,
	leak: { bytes: 65_536, each: "shape", of: "driver" },
};

async function gate(
	measure: string,
	hasPython = true,
	more = "",
	arrivals: Partial<Record<Arm, string>> = {},
) {
	const folder = temporaryFolder();
	writeArms(folder, comparison, (config) =>
		config
			.replace("golden: golden/golden.json", "")
			.replace("probes: nightly", "probes: off")
			.replace("unchanged-models: rebuild", `$&, ${measure}`)
			.concat(more),
	);
	for (const [arm, text] of Object.entries(arrivals)) writeFileSync(join(folder, arm, "arrivals.txt"), text);
	const env = { PATH: installReplay(folder, { comparison }) };
	if (hasPython) installWorker(folder, { right: plan, faulty: head }, isOfHead);
	return gateFolders(folder, { env });
}

const suite = missing === null ? describe : describe.skip;

suite("start-up and memory growth", () => {
	it("find what loads longer and what leaks, and every report shows both", async () => {
		const { run, result, report } = await gate("start-up: always, memory-growth: always");
		expectExit(run, 1);
		expectSchema(result, "result");
		expect(result.startUps).toMatchObject([{ engine: "fp16", comparison: { verdict: "regressed" } }]);
		expect(result.memoryGrowths).toMatchObject([{ engine: "fp16", state: "grows" }]);
		const gates = new Map(result.gates.map((one) => [one.gate, one]));
		expect(gates.get("start-up")).toMatchObject({
			status: "warn",
			message: expect.stringMatching(/^Time to the first inference: Slower: \+\d/),
		});
		expect(gates.get("memory-growth")).toMatchObject({
			status: "fail",
			message: expect.stringMatching(/^1,000 changes of shape: GPU memory grows by 6\d\.\d MiB/),
		});
		for (const name of ["report.md", "report.html", "terminal"]) {
			expect(report(name)).toMatch(/Start-up of 1 engine/);
			expect(report(name)).toMatch(/Memory growth of 1 engine/);
			expect(report(name)).toMatch(/start-up gate warns|start-up warn/i);
		}
	});

	it("requests that arrive on a schedule wait longer for a slower head, in every report, the history's figures and the gate; start-up and memory growth are left to scheduled runs", async () => {
		const { run, result, report } = await gate(
			"start-up: nightly, memory-growth: nightly, load: { when: always, duration: 20ms }",
			true,
			"gates: { slo: { p99: 15ms, rate: 20/s } }",
		);
		expectSchema(result, "result");
		expect(result.errors, run.stderr).toEqual([]);
		expect([result.startUps, result.memoryGrowths]).toEqual([undefined, undefined]);
		const [load] = result.measuredLoads ?? [];
		expect(load).toMatchObject({ engine: "fp16", arrivals: "poisson", replaced: 0 });
		expect(load?.points).toMatchObject([
			{ share: 0.8, base: { requests: 2500 }, comparison: { verdict: "regressed" } },
			{ share: null, ratePerSecond: 20 },
		]);
		expect(result.gates.find(({ gate }) => gate === "slo")).toMatchObject({
			status: "fail",
			message: expect.stringMatching(/^Measured at 20 \/ s: P99 \d\d\.\d+ ms/),
		});
		for (const name of ["report.md", "report.html", "terminal"])
			expect(report(name)).toMatch(/Measured load of 1 engine/);
		expect(report("exports/bencher.json")).toContain("p99-measured");
	});

	it.each([
		["is missing", {}, { path: expect.stringMatching(/trtgate\.yml$/), line: expect.any(Number) }],
		["has a word", { base: "0\n5\n", head: "0\nsoon\n" }, { path: "arrivals.txt", line: 2 }],
	])(
		"a file of arrivals that %s is found before anything is built, also by day",
		async (_, arrivals, location) => {
			const { run, result } = await gate("load: { arrivals: arrivals.txt }", true, "", arrivals);
			expect(result.errors, run.stderr).toMatchObject([
				{ code: "arrivals-invalid", location, fix: expect.any(String) },
			]);
			expect(result.builds).toEqual([]);
		},
	);

	it("a file of arrivals that only the base has wrong is the head's", async () => {
		const { run, result } = await gate(
			"start-up: off, memory-growth: off, load: { when: always, arrivals: arrivals.txt, duration: 20ms }",
			true,
			"",
			{ base: "0\nsoon\n", head: "0\n20\n40\n" },
		);
		expect(result.errors, run.stderr).toEqual([]);
		expect(result.measuredLoads).toMatchObject([{ points: [{ ratePerSecond: 50 }] }]);
	});

	it("need Python", async () => {
		const without = await gate("start-up: always, memory-growth: always", false);
		expect(without.result.notes).toContainEqual(
			expect.stringMatching(/^Start-up, memory growth and load were not measured/),
		);
	});
});
