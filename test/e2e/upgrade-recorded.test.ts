import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { replayUpgrade } from "../support/upgrade-project.ts";

it("the recorded upgrade from 8.6.1 to 10.6.0", async () => {
	const { run, result, cwd } = await replayUpgrade();
	console.log(run.stdout, run.stderr);
	console.log(readFileSync(join(cwd, "out/report.md"), "utf8"));
	const { workloads, gates, notes, builds } = result();
	console.log(
		JSON.stringify(
			{
				w: workloads.map(({ id, memory, verdict, latency }) => ({ id, memory, verdict, latency })),
				gates,
				notes,
			},
			null,
			1,
		),
	);
	console.log(builds.map((b) => [b.arm, b.model, b.state, b.notes, b.failure]));
	expect(run.exit).toBe(1);
});
