import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { expectSchema } from "../support/expect-schema.ts";
import { model, value } from "../support/onnx-writer.ts";
import {
	type AtEnd,
	expectExit,
	type Gated,
	gateFolders,
	quickConfig,
	quickProject,
	readResult,
	runCli,
	temporaryFolder,
	twoProjects,
	writeProject,
} from "../support/project.ts";

const changed = (head: Record<string, string>, atEnd?: AtEnd) => gateFolders(twoProjects({}, head, atEnd));

let same: Gated;
let wrong: Gated;
beforeAll(async () => {
	same = await changed({}, afterAll);
	wrong = await changed({ "model.onnx": "fixture:wrong.onnx" }, afterAll);
});

it("run passes a head with the same engine, byte for byte, and rules out any change", () => {
	const { result, run } = same;
	expect(run.stderr).toContain("report.html");
	expect(run.exit).toBe(0);
	expectSchema(result, "result");
	expect(result.outcome).toBe("pass");
	expect(result.workloads.map((row) => [row.verdict, row.work?.excluded])).toEqual([["unchanged", 0]]);
	expect(result.golden.map((verdict) => verdict.state)).toEqual(["match", "match"]);
});

it("run counts the same work for the same model in other bytes, in every process", async () => {
	const { run, result } = await changed({ "model.onnx": "fixture:reexported.onnx" });
	expectExit(run, 0);
	expectSchema(result, "result");
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
	const { run, result, report } = await gateFolders(folder);
	expectExit(run, 0);
	expectSchema(result, "result");
	const [row] = result.workloads;
	expect([result.outcome, row?.verdict, row?.doubt]).toEqual(["warn", "regressed", undefined]);
	expect(row?.work?.estimate).toBeGreaterThan(0.4);
	expect(row?.explanation).toMatchObject({
		unit: "M instructions",
		rows: [{ label: "/neck/reduce/Conv", isSignificant: true, halfWidthMs: 0 }, {}],
	});
	expect(row?.layers?.head).toMatchObject({ unit: "M instructions" });
	const page = report("report.html");
	expect(page).toContain("Where the work went");
	expect(page).toContain("change, M instructions");
	expect(page).toContain("Red does more work, green less;");
	expect(page).not.toMatch(/slower|faster/);
	const explained = await runCli(["explain", "out"], { cwd: folder });
	expect(explained.stdout).toContain("of the profiled work belongs to ONNX nodes");
	expect(run.stdout).toMatch(/\+7\.\d+ M instructions: \/neck\/reduce\/Conv/);
});

it("run fails a head that computes something else, naming output, case, metric, got and allowed", () => {
	const { result, run } = wrong;
	expect(run.exit).toBe(1);
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
	expectExit(run, 0);
	const result = readResult(join(folder, "out"));
	expect(result.arms.base).toBeNull();
	expect(result.workloads[0]?.verdict).toBe("missing");
	expect(result.workloads[0]?.work?.head).toBeGreaterThan(0);
	expect(result.arms.noBase).toMatch(/no base/i);
	expect(result.workloads[0]?.work?.reason).toBe("No base was given.");
});

it.each([
	["interface: off, ", 1, "fail"],
	["interface: warn, not-comparable: neutral, ", 0, "inconclusive"],
])(
	"run does not compare speeds of models with other inputs, and names the difference: with the base's gates %j exit %i",
	async (gates, exit, outcome) => {
		const base = {
			"trtgate.yml": quickConfig.replace("gates: { ", `gates: { ${gates}`),
		};
		const head = {
			"model.onnx": "fixture:other-input.onnx",
			"trtgate.yml": quickConfig.replace(/ {4}golden:.*\n/, ""),
		};
		const { run, result } = await gateFolders(twoProjects(base, head));
		expectExit(run, exit);
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

it("run prints the plan, and runs nothing, with --dry-run", async () => {
	const { run, folder } = await gateFolders(twoProjects({}, {}), { argv: ["--dry-run"] });
	expectExit(run, 0);
	expect(run.stdout).toMatch(/net\/fp32/);
	expect(run.stdout).toMatch(/case-0/);
	expect(existsSync(join(folder, "out", "result.json"))).toBe(false);
	expect(existsSync(join(folder, "out", "raw"))).toBe(false);
});

it("run fails more work beside a node that counts misjudge, unless that node can explain it", async () => {
	const net = (nodes: string) =>
		model({ nodes, inputs: [value("x", [64, 64])], outputs: [value("y", [64, 64])] });
	const more = "a = MatMul(x, x); b = MatMul(a, x); c = MatMul(b, x)";
	const heads = {
		fail: `${more}; s = ReduceMax<keepdims=0>(x); t = Tanh(s); y = Add(c, t)`,
		warn: "a = MatMul(x, x); y = Erf(a)",
	};
	const config = "version: 1\nbackend: onnxruntime\nmodels: { net: { onnx: model.onnx } }\n";
	const gates = "gates: { work: { fail: 10% } }\n";
	for (const [status, nodes] of Object.entries(heads)) {
		const folder = temporaryFolder();
		for (const [arm, graph] of [
			["base", "y = MatMul(x, x)"],
			["head", nodes],
		] as const) {
			writeProject(join(folder, arm), { "trtgate.yml": config + gates });
			writeFileSync(join(folder, arm, "model.onnx"), net(graph));
		}
		const { result } = await gateFolders(folder);
		const [row] = result.workloads;
		const doubt = status === "warn" ? "Counts follow the time of such nodes poorly: 1 more Erf." : undefined;
		expect([row?.verdict, row?.doubt]).toEqual(["regressed", doubt]);
		expect(result.gates.find(({ gate }) => gate === "work")).toMatchObject({ status });
	}
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

it("report of a folder that holds only result.json names and links only what it writes there", async () => {
	const folder = temporaryFolder();
	const { files } = wrong.result;
	expect(files.map(({ path }) => path)).toEqual(expect.arrayContaining(["logs", "engines"]));
	mkdirSync(join(folder, "logs"));
	copyFileSync(join(wrong.folder, "out", "result.json"), join(folder, "result.json"));
	const run = await runCli(["report", "."], { cwd: folder });
	expect(run.exit).toBe(1);
	const page = readFileSync(join(folder, "report.html"), "utf8");
	const linked = [...page.matchAll(/href="\.\/([^"]*)"/g)].map(([, path = ""]) => path);
	expect(linked.filter((path) => !existsSync(join(folder, path)))).toEqual([]);
	expect(linked).toContain("logs");
	expect(linked).toContain("report.html");
	expect(run.stdout).toMatch(/^logs /m);
	expect(run.stdout).not.toMatch(/^engines /m);
});
