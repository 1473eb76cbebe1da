import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { Result } from "../../../generated/result.ts";
import { acceptChange } from "../../../src/app/commands/accept.ts";
import { loaded } from "../../core/config/load.ts";
import {
	buildBuild,
	buildComparison,
	buildGate,
	buildResult,
	buildWorkload,
} from "../../support/build-result.ts";
import { expectFault, folderWith } from "../../support/project.ts";
import { testTerminal } from "../../support/test-terminal.ts";

const [old, slower] = ["0123456789abcdef", "fedcba9876543210"];
const config =
	"version: 1 # ours\nmodels:\n  encoder: { onnx: net.onnx, engines: { fp16: { precision: fp16 } } }\n";

const builds = [
	buildBuild({ arm: "base", recipeHash: old, engineBytes: 1000 }),
	buildBuild({ recipeHash: slower, engineBytes: 1234 }),
];
const row = (workload: string, estimate: number, upper: number) =>
	buildWorkload({
		workload,
		latency: buildComparison({ verdict: "regressed", estimate, interval: [estimate - 0.01, upper] }),
	});
const failedGate = (more: Parameters<typeof buildGate>[0]) => buildGate({ status: "fail", ...more });
const failed = buildResult({
	outcome: "fail",
	builds,
	workloads: [row("small", 0.12, 0.131), row("large", 0.2, 0.2111)],
	gates: [
		failedGate({ workload: "small" }),
		failedGate({ workload: "large" }),
		failedGate({ gate: "engine-size" }),
		failedGate({ gate: "golden", case: "case0" }),
		buildGate({ gate: "memory", workload: "large" }),
	],
});

async function run(result: Result, argv: readonly string[], text = config) {
	const files = { "trtgate.yml": text, "out/result.json": JSON.stringify(result) };
	const cwd = folderWith(files);
	let said = "";
	const terminal = testTerminal(cwd, (line) => (said += line));
	const code = await acceptChange(["out", ...argv], terminal);
	return { code, said, text: readFileSync(join(cwd, "trtgate.yml"), "utf8") };
}

const because = ["--reason", "twice the accuracy", "--by", "Ada"];

it("accept writes one entry for each failed figure, as large as the worst interval", async () => {
	const { code, said, text } = await run(failed, because);
	expect(code).toBe(0);
	expect(text.startsWith(config)).toBe(true);
	const common = { engine: "encoder/fp16", recipe: slower, reason: "twice the accuracy", by: "Ada" };
	expect(loaded(text).accept).toMatchObject([
		{ ...common, figure: "latency", atMost: 0.212 },
		{ ...common, figure: "engine-size", atMost: 0.234 },
	]);
	expect(said).toContain(`encoder/fp16: latency may grow by at most 21.2%, for the engine ${slower} only`);
});

it("accept renews entries, drops stale ones, and leaves those of other jobs", async () => {
	const entry = (engine: string, recipe: string) =>
		`  - { engine: ${engine}, figure: latency, at-most: 5%, recipe: "${recipe}", reason: before } # note\n`;
	const before = `${config}accept:\n${entry("encoder/fp16", slower)}${entry("encoder/fp16", old)}${entry("decoder/fp16", "2".repeat(16))}`;
	const { text } = await run(failed, because, before);
	expect(loaded(text).accept?.map(({ engine, figure, recipe }) => [engine, figure, recipe])).toEqual([
		["decoder/fp16", "latency", "2".repeat(16)],
		["encoder/fp16", "latency", slower],
		["encoder/fp16", "engine-size", slower],
	]);
	const { text: pruned, said } = await run(failed, ["--prune"], before);
	expect(loaded(pruned).accept?.map(({ engine, recipe }) => [engine, recipe])).toEqual([
		["encoder/fp16", slower],
		["decoder/fp16", "2".repeat(16)],
	]);
	expect(said).toBe("wrote trtgate.yml\n");
});

it("accept prunes what has been merged, and writes nothing if nothing is stale", async () => {
	const merged = { ...failed, builds: builds.map((build) => ({ ...build, recipeHash: slower })) };
	const { text: accepted } = await run(failed, because);
	expect((await run(merged, ["--prune"], accepted)).text).toBe(config);
	const said = "trtgate.yml has no stale entries.\n";
	expect(await run(failed, ["--prune"], accepted)).toEqual({ code: 0, said, text: accepted });
});

it.each<[string, Result, readonly string[], RegExp]>([
	["no reason", failed, [], /needs a reason/],
	["a blank reason", failed, ["--reason", " "], /needs a reason/],
	["a green result", buildResult(), because, /has no failed figure that can be accepted/],
	["a result whose engine is unknown", { ...failed, builds: [] }, because, /has no failed figure/],
	[
		"a failed golden",
		{ ...failed, gates: [failedGate({ gate: "golden" })] },
		because,
		/has no failed figure/,
	],
])("accept refuses %s", async (_, result, argv, says) => {
	await expectFault(run(result, argv), "usage", says);
});

it("accept does not change a config that it would make invalid", async () => {
	await expect(run(failed, because, "version: 1\nmodels: none\n")).rejects.toThrow(/has errors/);
});
