import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { commandTables } from "../../src/app/cli.ts";
import { commonOptions, type Option } from "../../src/app/commands/arguments.ts";
import { expectSchema } from "../support/expect-schema.ts";
import {
	expectExit,
	expectRefusal,
	quickProject,
	runCli,
	temporaryFolder,
	untimed,
	writeProject,
} from "../support/project.ts";

const expectJson = (text: string, schema: string): unknown => expectSchema(JSON.parse(text), schema);

it("help and version go to stdout with exit 0; no command at all is a usage fault", async () => {
	const cwd = temporaryFolder();
	const help = await runCli(["--help"], { cwd });
	expectExit(help, 0);
	expect(help.stdout).toContain("preflight");
	expect((await runCli(["--version"], { cwd })).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
	expect(await runCli([], { cwd })).toMatchObject({ exit: 2, stdout: "" });
});

it.each(commandTables)(
	"help and version lists every option of $name with its default, and an example",
	async (table) => {
		const run = await runCli([...table.name.split(" "), "--help"], { cwd: temporaryFolder() });
		expect(run).toMatchObject({ exit: 0, stderr: "" });
		expect(run.stdout).toContain(`Example:\n  ${table.example}\n`);
		for (const [name, option] of Object.entries<Option>(table.options)) {
			const listed = new RegExp(`^  --${name}( .*)?\n((?: {6}.*\n)+)`, "m")
				.exec(run.stdout)?.[2]
				?.replace(/\s+/g, " ");
			expect(listed, name).toContain(option.does);
			if (option.default !== undefined) expect(listed, name).toContain(`Default: ${option.default}.`);
		}
		for (const name of Object.keys(commonOptions)) expect(run.stdout).toContain(`\n  --${name}\n`);
	},
);

it.each([
	["run --confg x", "Unknown option --confg", "Did you mean --config?"],
	["golden record model.onnx --oout x", "Unknown option --oout", "Did you mean --out?"],
	["golden check golden.json --output x", "Unknown option --output", "Did you mean --outputs?"],
	["doctor --hlep", "Unknown option --hlep", "Did you mean --help?"],
	["golden recrd", 'Unknown command "golden recrd"', "Did you mean `trtgate golden record`?"],
	["goldn check", 'Unknown command "goldn"', "Did you mean `trtgate golden`?"],
	["golden", "`trtgate golden` needs a command", "lists the commands"],
	["golden check golden.json --outputs . --precision fp17", '--precision is "fp17"', "fp16"],
	["run --base", "--base needs a value", "trtgate run"],
	[
		"golden check golden.json",
		"golden check needs --outputs",
		"Add --outputs DIR|FILE.json: folder per case with",
	],
	[
		"verdict --nothing-like-it",
		"Unknown option --nothing-like-it",
		"`trtgate verdict --help` lists its options.",
	],
])("help and version says of `%s` what was meant", async (words, message, fix) => {
	const run = await runCli(words.split(" "), { cwd: temporaryFolder() });
	expect(run.stdout).toBe("");
	for (const says of [message, fix]) expectRefusal(run, says);
});

it("verdict explains pairs of measurements, as text and as JSON", async () => {
	const pairs = [1.041, 1.043, 1.04, 1.044, 1.042, 1.041].map((head) => ({ base: 1, head }));
	const cwd = writeProject(temporaryFolder(), {
		"pairs.json": JSON.stringify({ pairs, minimalEffect: 0.02 }),
	});
	const words = await runCli(["verdict", "pairs.json"], { cwd });
	expect(words).toMatchObject({ exit: 0, stdout: expect.stringMatching(/^regressed: Slower: \+4\.2 %/) });
	const value = expectJson((await runCli(["verdict", "pairs.json", "--json"], { cwd })).stdout, "verdict");
	expect(value).toMatchObject({
		verdict: "regressed",
		pairs: 6,
		interval: [expect.any(Number), expect.any(Number)],
		excluded: expect.any(Number),
	});
	const { base, head, estimate } = value as { base: number; head: number; estimate: number };
	expect(head / base - 1).toBeCloseTo(estimate, 12);
});

it.each([
	[
		"finds a slowdown at the first look although something disturbed a run",
		[1.031, 1.029, [1.3, 1.03], 1.032, 1.028],
		/^regressed: Slower: \+3\.0 % .*, 5 pairs \(1 disturbed and set aside\)\.$/m,
	],
	[
		"sums a wide interval up by the slowdown that it leaves open",
		[0.2, 2.4, 0.5, 1.35, 0.67],
		/a slowdown of up to \d+ % is not ruled out\. Not a pass\.$/m,
	],
])("verdict %s", async (_, heads, says) => {
	const pairs = heads.map((pair) => {
		const [base, head] = Array.isArray(pair) ? pair : [1, pair];
		return { base, head };
	});
	const cwd = writeProject(temporaryFolder(), { "pairs.json": JSON.stringify({ pairs }) });
	const { stdout } = await runCli(["verdict", "pairs.json"], { cwd });
	expect(stdout).toMatch(says);
	expect(stdout).not.toContain("speedup");
});

it("preflight describes a model, and blocks one that cannot run", async () => {
	const cwd = quickProject(temporaryFolder(), { "bad.onnx": "fixture:unsupported-op.onnx" });
	expect(await runCli(["preflight", "model.onnx"], { cwd })).toMatchObject({
		exit: 0,
		stdout: expect.stringContaining("MatMul 1"),
	});
	const bad = await runCli(["preflight", "bad.onnx", "--json"], { cwd });
	expect(bad.exit).toBe(1);
	expect(expectJson(bad.stdout, "preflight")).toMatchObject({
		findings: [{ severity: "error", node: "activation" }],
	});
});

it("doctor lists what this machine can do", async () => {
	const run = await runCli(["doctor"], { cwd: temporaryFolder() });
	expectExit(run, 0);
	expect(run.stdout).toMatch(/✓ Node\.js: v\d+/);
	expect(run.stdout).toMatch(/ONNX Runtime \(WebAssembly\)/);
	expectJson((await runCli(["doctor", "--json"], { cwd: temporaryFolder() })).stdout, "doctor");
});

it("init writes a config that the gate accepts, and a workflow", async () => {
	const cwd = writeProject(temporaryFolder(), { "nets/model.onnx": "fixture:model.onnx" });
	const run = await runCli(["init", "nets/model.onnx"], { cwd });
	expectExit(run, 0);
	expect(readFileSync(join(cwd, "trtgate.yml"), "utf8")).toContain("onnx: nets/model.onnx");
	expect(existsSync(join(cwd, ".github/workflows/trtgate.yml"))).toBe(true);
	const plan = await runCli(["run", "--dry-run"], { cwd });
	expectExit(plan, 0);
	expect(plan.stdout).toMatch(/measure .*: its instructions are counted\n/);
	expect(expectJson((await runCli(["run", "--dry-run", "--json"], { cwd })).stdout, "plan")).toMatchObject({
		arms: ["head"],
	});
});

it("a dry run keeps the report of the run before", async () => {
	const cwd = quickProject(temporaryFolder(), { "trtgate.yml": untimed() });
	expectExit(await runCli(["run"], { cwd }), 0);
	const out = join(cwd, "trtgate-out");
	const before = readdirSync(out, { recursive: true }).sort();
	expectExit(await runCli(["run", "--dry-run"], { cwd }), 0);
	expect(readdirSync(out, { recursive: true }).sort()).toEqual(before);
});
