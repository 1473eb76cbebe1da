// The gate through the built bundle, on ONNX Runtime.
import { copyFileSync, existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { afterAll, beforeAll, expect, it } from "vitest";
import {
	type AtEnd,
	type CliRun,
	quickConfig,
	quickProject,
	readResult,
	runCli,
	temporaryFolder,
	writeProject,
} from "../support/project.ts";

const validate = new Ajv2020({ allowUnionTypes: true, strictRequired: false }).compile(
	JSON.parse(readFileSync("golden-schema/result.schema.json", "utf8")),
);

/** Two folders below one: a base, and a head with `change` on top. */
function twoArms(change: Record<string, string>, atEnd?: AtEnd): string {
	const folder = temporaryFolder(atEnd);
	quickProject(join(folder, "base"));
	quickProject(join(folder, "head"), change);
	return folder;
}

const twoArmsRun = ["run", "--base", "base", "--head", "head", "--out", "out"];

interface Finished {
	folder: string;
	run: CliRun;
}

/** Runs that several tests read. */
let same: Finished;
let wrong: Finished;
beforeAll(async () => {
	const finished = async (folder: string): Promise<Finished> => ({
		folder,
		run: await runCli(twoArmsRun, { cwd: folder }),
	});
	same = await finished(twoArms({}, afterAll));
	wrong = await finished(twoArms({ "model.onnx": "fixture:wrong.onnx" }, afterAll));
});

it("run passes a head with the same engine, byte for byte, and rules out any change", () => {
	const { folder, run } = same;
	expect(run.stderr).toContain("report.html");
	expect(run.exit).toBe(0);
	const result = readResult(join(folder, "out"));
	expect(validate(result), JSON.stringify(validate.errors)).toBe(true);
	expect(result.outcome).toBe("pass");
	expect(result.workloads.map((row) => [row.verdict, row.work?.excluded])).toEqual([["unchanged", 0]]);
	expect(result.golden.map((verdict) => verdict.state)).toEqual(["match", "match"]);
});

it("run counts the same work for the same model in other bytes, in every process", async () => {
	const folder = twoArms({ "model.onnx": "fixture:reexported.onnx" });
	const run = await runCli(twoArmsRun, { cwd: folder });
	expect(run.exit, run.stderr).toBe(0);
	const result = readResult(join(folder, "out"));
	expect(validate(result), JSON.stringify(validate.errors)).toBe(true);
	const [row] = result.workloads;
	expect(row).toMatchObject({
		verdict: "unchanged",
		runs: [],
		work: { verdict: "unchanged", estimate: 0, interval: [0, 0] },
	});
	expect(row?.work?.head).toBeGreaterThan(1000);
	expect(result.gates.find(({ gate }) => gate === "work")).toMatchObject({ status: "pass" });
	expect(run.stdout).toMatch(
		/Work counted on ONNX Runtime \(WebAssembly\), exact; not\s+time,\s+not\s+TensorRT/,
	);
});

it("run shows more work by node, and only warns of it", async () => {
	const [base, head] = ["base", "head"].map((arm) => `examples/quickstart/${arm}/models/detector.onnx`);
	const folder = temporaryFolder();
	const config = "version: 1\nbackend: onnxruntime\nmodels: { net: { onnx: model.onnx } }\n";
	for (const [arm, model] of [
		["base", base],
		["head", head],
	] as const) {
		writeProject(join(folder, arm), { "trtgate.yml": config });
		copyFileSync(model ?? "", join(folder, arm, "model.onnx"));
	}
	const run = await runCli(twoArmsRun, { cwd: folder });
	expect(run.exit, run.stderr).toBe(0);
	const result = readResult(join(folder, "out"));
	expect(validate(result), JSON.stringify(validate.errors)).toBe(true);
	const [row] = result.workloads;
	expect([result.outcome, row?.verdict, row?.doubt]).toEqual(["warn", "regressed", undefined]);
	expect(row?.work?.estimate).toBeGreaterThan(0.4);
	expect(row?.explanation).toMatchObject({
		unit: "M instructions",
		rows: [{ label: "/neck/reduce/Conv", isSignificant: true, halfWidthMs: 0 }, {}],
	});
	expect(row?.layers?.head).toMatchObject({ unit: "M instructions" });
	const page = readFileSync(join(folder, "out/report.html"), "utf8");
	expect(page).toContain("Where the work went");
	expect(page).toContain("change, M instructions");
	expect(run.stdout).toMatch(/\+7\.\d+ M instructions: \/neck\/reduce\/Conv/);
});

it("run fails a head that computes something else, naming output, case, metric, got and allowed", () => {
	const { folder, run } = wrong;
	expect(run.exit).toBe(1);
	const result = readResult(join(folder, "out"));
	expect(result.outcome).toBe("fail");
	const [check] = result.golden[0]?.checks ?? [];
	expect(check).toMatchObject({ output: "y", metric: "relative-l2", allowed: 1e-3, pass: false });
	expect(check?.got).toBeCloseTo(0.05, 4);
	expect(check?.base).toBeLessThan(1e-5);
	expect(run.stdout).toMatch(/y: relative L2 is 5e-2.*limit of\s+1e-3\s+\(case\s+case-\d/s);
	expect(result.golden[0]?.modelChanged).toBe(true);
});

it("run checks builds and goldens alone if there is no base, and reports it", async () => {
	const folder = quickProject(temporaryFolder());
	const run = await runCli(["run", "--out", "out"], { cwd: folder });
	expect(run.exit, run.stderr).toBe(0);
	const result = readResult(join(folder, "out"));
	expect(result.arms.base).toBeNull();
	expect(result.workloads[0]?.verdict).toBe("missing");
	expect(result.workloads[0]?.work?.head).toBeGreaterThan(0);
	expect(result.arms.noBase).toMatch(/no base/i);
});

it("run reports a model that the base does not have as new, and does not fail", async () => {
	const folder = temporaryFolder();
	writeProject(join(folder, "base"), { "README.md": "no model yet" });
	quickProject(join(folder, "head"));
	const run = await runCli(twoArmsRun, { cwd: folder });
	expect(run.exit, run.stderr).toBe(0);
	const result = readResult(join(folder, "out"));
	expect(result.workloads[0]).toMatchObject({
		verdict: "missing",
		work: { reason: expect.stringContaining("New") },
	});
	expect(result.builds.map((build) => [build.arm, build.state])).toContainEqual(["base", "missing"]);
});

it.each([
	["", 1, "fail"],
	["interface: off, ", 1, "fail"],
	["interface: warn, not-comparable: neutral, ", 0, "inconclusive"],
])(
	"run does not compare speeds of models with other inputs, and names the difference: with the base's gates %j exit %i",
	async (gates, exit, outcome) => {
		const folder = temporaryFolder();
		quickProject(join(folder, "base"), {
			"trtgate.yml": quickConfig.replace("gates: { ", `gates: { ${gates}`),
		});
		const head = {
			"model.onnx": "fixture:other-input.onnx",
			"trtgate.yml": quickConfig.replace(/ {4}golden:.*\n/, ""),
		};
		quickProject(join(folder, "head"), head);
		const run = await runCli(twoArmsRun, { cwd: folder });
		expect(run.exit, run.stdout + run.stderr).toBe(exit);
		const result = readResult(join(folder, "out"));
		expect(result).toMatchObject({ outcome, workloads: [] });
		const messages = result.gates
			.filter(({ status }) => status === outcome)
			.map(({ gate, message }) => `${gate}: ${message}`);
		expect(messages).toContainEqual(
			expect.stringMatching(
				/^interface: .*workload batch 2 of the base no longer runs: the head has no input x/i,
			),
		);
	},
);

it("run warns when the base checked a workload that the head no longer checks", async () => {
	const folder = twoArms({ "trtgate.yml": quickConfig.replace("{ batch: 2 }", "{ batch: 1 }") });
	await runCli(twoArmsRun, { cwd: folder });
	const gates = readResult(join(folder, "out")).gates.filter((gate) => gate.gate === "coverage");
	expect(gates).toMatchObject([{ status: "warn", workload: "batch 2" }]);
});

it("run prints the plan, and runs nothing, with --dry-run", async () => {
	const folder = twoArms({});
	const run = await runCli([...twoArmsRun, "--dry-run"], { cwd: folder });
	expect(run.exit, run.stderr).toBe(0);
	expect(run.stdout).toMatch(/net\/fp32/);
	expect(run.stdout).toMatch(/case-0/);
	expect(existsSync(join(folder, "out", "result.json"))).toBe(false);
	expect(existsSync(join(folder, "out", "raw"))).toBe(false);
});

it("run leaves no scratch files, locks or worktrees behind", () => {
	expect(readdirSync(join(same.folder, "out")).sort()).toEqual([
		".gitignore",
		"engines",
		"exports",
		"junit.xml",
		"logs",
		"report.html",
		"report.md",
		"result.json",
	]);
});

it("report renders again, byte for byte", async () => {
	const { folder } = wrong;
	const names = [
		"report.html",
		"report.md",
		"junit.xml",
		"result.json",
		"exports/workloads.csv",
		"exports/findings.sarif",
	];
	const read = (): string[] => names.map((name) => readFileSync(join(folder, "out", name), "utf8"));
	const before = read();
	const run = await runCli(["report", "out"], { cwd: folder });
	expect(run.exit).toBe(1);
	expect(read()).toEqual(before);
});
