// Engines that must beat a sibling, through the built bundle, on recorded runs: of two nets one is 4 % slower.
import { copyFileSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";
import { expectSchema } from "../support/expect-schema.ts";
import { expectExit, runCli, temporaryFolder } from "../support/project.ts";
import { gateReplay } from "../support/replay/gate.ts";

const comparison = "slower-head";
const fixture = (name: string): string => resolve(`test/fixtures/models/${name}.onnx`);

/** Both sides have the two nets, as two engines of one model. */
async function gateSiblings(engines: string, more = "", headEngines = engines, env = {}) {
	const gated = await gateReplay(
		{ comparison },
		{
			config: [
				["engines: { fp16: { precision: fp16 } }", `engines: { ${engines} }`],
				["unchanged-models: rebuild", "unchanged-models: skip"],
				["golden: golden/golden.json", ""],
				["cache: { engines: false", more.includes("cache:") ? more : `${more}\n$&`],
			],
			headConfig: [[engines, headEngines]],
			env,
			given(folder) {
				for (const arm of ["base", "head"]) {
					copyFileSync(fixture("classifier"), join(folder, arm, "model.onnx"));
					copyFileSync(fixture("head-classifier-wider"), join(folder, arm, "wide.onnx"));
				}
			},
		},
	);
	expectSchema(gated.result, "result");
	const payoffs = gated.result.gates.filter(({ gate }) => gate === "payoff");
	return { ...gated, payoffs };
}

const wide = "wide: { precision: fp16, onnx: wide.onnx }";
const narrow = `fp16: { precision: fp16, against: wide }, ${wide}`;

it("an engine that is 4 % faster than its sibling warns, because 5 % are wanted, and every report draws the two", async () => {
	const { run, result, payoffs, folder } = await gateSiblings(narrow);
	expectExit(run, 0);
	const [sibling] = result.siblings ?? [];
	expect(sibling).toMatchObject({ model: "net", engine: "fp16", against: "wide", workload: "batch 8" });
	expect(sibling?.latency.estimate).toBeGreaterThan(-0.047);
	expect(sibling?.latency.estimate).toBeLessThan(-0.033);
	expect(payoffs).toMatchObject([
		{
			engine: "fp16",
			status: "warn",
			message: expect.stringMatching(/^Against wide: −3\.9 % .* 4\.1 % faster; 5 % faster is wanted/),
		},
	]);
	expect(result.workloads.map(({ latency }) => latency.pairs)).toEqual([0, 0]);
	const texts = ["report.md", "report.html"].map((name) => readFileSync(join(folder, "out", name), "utf8"));
	for (const text of [run.stdout, ...texts]) expect(text).toMatch(/payoff/i);
	expect(texts[0]).toMatch(/net · wide · batch 8 \| fp16 \| .*reference/);
	const again = await runCli(["report", "out"], { cwd: folder });
	expect(again.stdout).toContain("Payoff: time against error");
});

it("an engine passes beyond its limit, and one that is slower than its sibling fails where the config says so", async () => {
	const passing = await gateSiblings(narrow, "gates: { payoff: { warn: 3% } }");
	expect(passing.payoffs.map(({ status }) => status)).toEqual(["pass"]);
	const slower = `fp16: { precision: fp16 }, ${wide.replace("}", ", against: fp16 }")}`;
	const failing = await gateSiblings(slower, "gates: { payoff: { warn: 3%, fail: 1% } }");
	expectExit(failing.run, 1);
	expect(failing.payoffs).toMatchObject([{ engine: "wide", status: "fail" }]);
});

it("a head that drops `against` is still compared, as the base says, and the looser rule is reported", async () => {
	const { result, payoffs } = await gateSiblings(narrow, "", narrow.replace(", against: wide", ""));
	expect(payoffs.map(({ status }) => status)).toEqual(["warn"]);
	expect(result.gates.filter(({ gate }) => gate === "limit-change")).toMatchObject([
		{ status: "warn", message: expect.stringContaining("against: wide → not set.") },
	]);
});

it.each([
	["adds `against`", narrow.replace(", against: wide", ""), narrow, "wide"],
	[
		"renames the sibling",
		narrow,
		narrow.replace("wide:", "broad:").replace("against: wide", "against: broad"),
		"broad",
	],
])("a head that %s to engines that it shares with the base is compared", async (_, base, head, sibling) => {
	const { payoffs } = await gateSiblings(base, "", head);
	expect(payoffs).toMatchObject([
		{ status: "warn", message: expect.stringContaining(`Against ${sibling}: −3.9 %`) },
	]);
});

it("a pair of engines from the cache that the base has too costs no time again, and a note says so", async () => {
	const env = { XDG_CACHE_HOME: temporaryFolder(), RUNNER_TOOL_CACHE: "" };
	const more = "cache: { engines: true";
	const first = await gateSiblings(narrow, more, narrow, env);
	expect(first.payoffs).toHaveLength(1);
	const second = await gateSiblings(narrow, more, narrow, env);
	expect(second.payoffs).toEqual([]);
	expect(second.result.siblings).toBeUndefined();
	expect(second.result.notes.join()).toContain("Payoff not timed: net/fp16 against wide.");
});
