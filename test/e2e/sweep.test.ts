// A sweep through the built bundle: recorded runs, 4 % slower at every size.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { expectSchema } from "../support/expect-schema.ts";
import { runCli } from "../support/project.ts";
import { gateReplay } from "../support/replay/gate.ts";

it("a sweep times its sizes in pairs, and every report shows the worst as one gate", async () => {
	const { run, result, folder } = await gateReplay(
		{ comparison: "slower-head" },
		{ config: [[/workloads: \[.*\]/, "workloads: [{ sweep: { batch: [1, 3] } }]"]] },
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
	expect(run.stdout).toContain("Sweep of 1 workload");
	const [markdown, html] = ["report.md", "report.html"].map((name) =>
		readFileSync(join(folder, "out", name), "utf8"),
	);
	expect(markdown).toContain("Sweep of 1 workload");
	expect(html).toContain('class="curve head"');
	const again = await runCli(["report", "out"], { cwd: folder });
	expect(again.stdout).toContain("Sweep of 1 workload");
});
