import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { Result } from "../../generated/result.ts";
import {
	type CliRun,
	expectExit,
	expectRefusal,
	type Gated,
	gateFolders,
	runCli,
	temporaryFolder,
} from "../support/project.ts";
import { writeArms } from "../support/replay/gate.ts";
import { installReplay } from "../support/replay/install.ts";

const comment = "# What the classifier may cost.\n";

interface Place {
	folder: string;
	run(): Promise<Gated>;
	accept(...argv: string[]): Promise<CliRun>;
	config(): string;
	merge(): void;
}

/** A head that is 4.1 % slower than its base, where 3 % fails. */
function openPlace(): Place {
	const folder = writeArms(temporaryFolder(), "slower-head", (config) =>
		`${comment}${config}gates: { latency: { fail: 3% } } # agreed\n`.replace(/^ {4}golden: .*\n/m, ""),
	);
	const env = { PATH: installReplay(folder, { comparison: "slower-head" }) };
	const path = join(folder, "head/trtgate.yml");
	return {
		folder,
		run: () => gateFolders(folder, { env }),
		accept: (...argv) =>
			runCli(["accept", "out", "--config", "head/trtgate.yml", ...argv], { cwd: folder, env }),
		config: () => readFileSync(path, "utf8"),
		merge: () => {
			for (const name of ["trtgate.yml", "model.onnx"])
				writeFileSync(join(folder, "base", name), readFileSync(join(folder, "head", name)));
		},
	};
}

const failing = (result: Result) => result.gates.filter(({ status }) => status === "fail");
const latencyOf = (result: Result) => result.gates.filter(({ gate }) => gate === "latency");

it("a slowdown that was accepted warns once with who and why, excuses no other engine, and is stale once it is merged", async () => {
	const place = openPlace();
	const first = await place.run();
	expectExit(first.run, 1);
	expect(latencyOf(first.result)).toMatchObject([{ status: "fail" }]);
	expectRefusal(await place.accept(), "accept needs a reason");
	const before = place.config();
	const accepted = await place.accept("--reason", "twice the accuracy", "--by", "Ada");
	expectExit(accepted, 0);
	expect(accepted.stdout).toMatch(
		/net\/fp16: latency may grow by at most \d+\.\d%, for the engine [0-9a-f]+ only/,
	);
	const entry = place.config();
	expect(entry.startsWith(before.slice(0, before.indexOf("gates:")))).toBe(true);
	for (const kept of [comment, "# agreed"]) expect(entry).toContain(kept);

	const second = await place.run();
	expectExit(second.run, 0);
	expect(second.result.outcome).toBe("warn");
	expect(latencyOf(second.result)).toMatchObject([
		{
			status: "warn",
			message: expect.stringMatching(/Accepted once, up to \+\d+\.\d %.* by Ada: twice the accuracy/),
		},
	]);
	for (const name of ["terminal", "report.md", "report.html", "junit.xml"])
		expect(second.report(name).replace(/\s+/g, " "), name).toMatch(/by Ada: twice the accuracy/);

	const path = join(place.folder, "head/trtgate.yml");
	writeFileSync(path, entry.replace("{ precision: fp16 }", "{ precision: fp16, optimization-level: 1 }"));
	const next = await place.run();
	expectExit(next.run, 1);
	expect(failing(next.result)).toMatchObject([
		{ gate: "latency" },
		{
			gate: "accept",
			message: expect.stringMatching(/it is for the engine [0-9a-f]+, and this one is [0-9a-f]+/),
			location: { path: "head/trtgate.yml" },
		},
	]);

	writeFileSync(path, entry);
	place.merge();
	const merged = await place.run();
	expectExit(merged.run, 1);
	expect(failing(merged.result)).toMatchObject([
		{
			...{ gate: "accept", model: "net", engine: "fp16" },
			message: expect.stringContaining("the base already has this engine"),
		},
	]);
	const pruned = await place.accept("--prune");
	expectExit(pruned, 0);
	expect(place.config()).toBe(entry.slice(0, entry.indexOf("accept:")));
	expect((await place.run()).run.exit).toBe(0);
	expectRefusal(await place.accept("--reason", "why not"), "has no failed figure that can be accepted");
});
