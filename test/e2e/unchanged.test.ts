import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { Result } from "../../generated/result.ts";
import {
	expectExit,
	gateFolders,
	quickConfig,
	quickProject,
	readResult,
	runCli,
	temporaryFolder,
	twoProjects,
	untimed,
	writeProject,
} from "../support/project.ts";

const verifyLogs = (folder: string) =>
	readdirSync(join(folder, "out/logs")).filter((name) => name.startsWith("verify-"));
const withoutTime = ({ golden }: Result) => golden.map(({ state, checks }) => [state, checks]);

it("the gate reuses golden verdicts while engine, golden and limits stay the same, and reports their date", async () => {
	const folder = twoProjects({}, {});
	const gate = async (...argv: string[]) => {
		const { run, result } = await gateFolders(folder, {
			argv,
			env: { XDG_CACHE_HOME: join(folder, ".cache") },
		});
		expectExit(run, 0);
		return result;
	};
	const first = await gate();
	expect(verifyLogs(folder)).toHaveLength(1);
	expect(first.builds.map(({ arm, sharedWithBase }) => [arm, sharedWithBase])).toEqual([
		["base", undefined],
		["head", true],
	]);
	expect(first.notes.join(" ")).toContain("Unchanged: 1 of 1 engine");

	const second = await gate();
	expect(verifyLogs(folder)).toEqual([]);
	expect(withoutTime(second)).toEqual(withoutTime(first));
	expect(second.golden.map(({ state }) => state)).toEqual(["match", "match"]);
	expect(second.notes.join(" ")).toMatch(/Golden verdicts reused .*net\/\S+ \(\d{4}-\d\d-\d\d\)/);

	await gate("--fresh");
	expect(verifyLogs(folder)).toHaveLength(1);

	const stricter = quickConfig.replace("gates: {", "gates: { golden: { relative-l2: { fp32: 2e-3 } },");
	for (const arm of ["base", "head"]) writeProject(join(folder, arm), { "trtgate.yml": stricter });
	await gate();
	expect(verifyLogs(folder)).toHaveLength(1);
});

it("the gate reuses a mismatch as well as a match", async () => {
	const config = untimed(quickConfig.replace("threads: 1", "threads: 1, rebuilds: 3"));
	const folder = quickProject(temporaryFolder(), {
		"trtgate.yml": config,
		"model.onnx": "fixture:wrong.onnx",
	});
	const env = { XDG_CACHE_HOME: join(folder, ".cache") };
	for (const _ of ["first", "second"]) {
		const run = await runCli(["run", "--out", "out"], { cwd: folder, env });
		expectExit(run, 1);
		expect(existsSync(join(folder, "out/result.json"))).toBe(true);
	}
	expect(verifyLogs(folder)).toEqual([]);
	const { golden, notes } = readResult(join(folder, "out"));
	expect(golden.map(({ state }) => state)).toContain("mismatch");
	expect(notes.join(" ")).toContain("measure.rebuilds has no effect: ONNX Runtime makes the same engine");
});

it("the gate notes each setting of times that has no effect where work is counted", async () => {
	const workloads =
		"[{ batch: 2, streams: 2, every: 33ms, gates: { slo: { p99: 5ms, rate: 9/s }, max-latency: 5ms } }, { sweep: { batch: [1, 4] } }]";
	const config = quickConfig
		.replace("[{ batch: 2 }]", workloads)
		.replace("threads: 1", "threads: 1, start-up: always, memory-growth: always, load: { when: always }");
	const cwd = quickProject(temporaryFolder(), { "trtgate.yml": config });
	expectExit(await runCli(["run", "--out", "out"], { cwd }), 0);
	const { notes } = readResult(join(cwd, "out"));
	const unused = notes.flatMap(
		(note) => /^(\S+) has no effect: .* nothing is timed\.$/.exec(note)?.[1] ?? [],
	);
	expect(unused).toEqual(
		"max-latency slo every streams measure.load measure.start-up measure.memory-growth".split(" "),
	);
	expect(notes).toContain("Of a sweep, only the largest size is counted.");
});
