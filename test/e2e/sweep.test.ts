// A sweep through the built bundle: recorded runs, 4 % slower at every size.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { expectSchema } from "../support/expect-schema.ts";
import { runCli } from "../support/project.ts";
import { gateReplay } from "../support/replay/gate.ts";

const workloads = "workloads: [{ sweep: { batch: [1, 3] }, gates: { slo: { p99: 0.001ms, rate: 400/s } } }]";

it("a sweep times its sizes in pairs, every report shows the worst as one gate, and an slo stays open", async () => {
	const { run, result, folder } = await gateReplay(
		{ comparison: "slower-head" },
		{ config: [[/workloads: \[.*\]/, workloads]] },
	);
	expectSchema(result, "result");
	expect(result.workloads).toEqual([]);
	const [sweep] = result.sweeps ?? [];
	const sizes = sweep?.points.map(({ size }) => size) ?? [];
	expect(sizes).toEqual([1, 2, 3]);
	for (const { row } of sweep?.points ?? []) expect(row.latency.estimate).toBeCloseTo(0.04, 2);
	const latency = result.gates.filter(({ gate }) => gate === "latency");
	expect(latency).toMatchObject([
		{
			workload: "batch 1 to 3",
			status: "warn",
			message: expect.stringMatching(/^Worst of 3 sizes, batch \d: /),
		},
	]);
	expect(result.gates.find(({ gate }) => gate === "slo")).toMatchObject({
		workload: "batch 1 to 3",
		status: "inconclusive",
		message: expect.stringContaining("`sweep`"),
	});
	expect(run.stdout).toContain("Sweep of 1 workload");
	const csv = readFileSync(join(folder, "out/exports/workloads.csv"), "utf8");
	for (const size of sizes) expect(csv).toContain(`net,fp16,batch 1 to 3 · batch ${size},`);
	const [markdown, html] = ["report.md", "report.html"].map((name) =>
		readFileSync(join(folder, "out", name), "utf8"),
	);
	expect(markdown).toContain("Sweep of 1 workload");
	expect(html).toContain('class="curve head"');
	const again = await runCli(["report", "out"], { cwd: folder });
	expect(again.stdout).toContain("Sweep of 1 workload");
});
