// Engines whose plan a command of the user writes, or that is there already: replayed, as tensorrt.test.ts.
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { expectSchema } from "../support/expect-schema.ts";
import { expectExit } from "../support/project.ts";
import { gateReplay } from "../support/replay/gate.ts";
import type { Replay } from "../support/replay/install.ts";

type Edit = readonly [from: string, to: string];

/** Stands in for a builder in Python; the replay knows the plan again. */
const builder =
	"trtexec --onnx=model.onnx --saveEngine=net.plan >/dev/null; echo built >> $TRTGATE_TIMING_CACHE";

const withBuild = (build: string, precision = "fp16"): Edit => [
	`{ precision: ${precision} }`,
	`{ precision: ${precision}, build: { ${build} } }`,
];

const byCommand = (precision?: string): Edit => withBuild(`command: "${builder}", plan: net.plan`, precision);

function gate(comparison: Replay["comparison"], ...config: Edit[]) {
	return gateReplay({ comparison }, { config, argv: ["--seed", "one"] });
}

type Gated = Awaited<ReturnType<typeof gate>>;

/** What the gates say, without times of builds; peak memory counts the whole plan. */
function verdicts({ result }: Gated) {
	return {
		outcome: result.outcome,
		gates: result.gates.map(({ gate, status, message }) => [
			gate,
			status,
			/^build|^memory$/.test(gate) ? "" : message,
		]),
		golden: result.golden,
		rows: result.workloads.map(({ verdict, latency, p99 }) => [verdict, latency, p99]),
		coverage: result.builds.map(({ precisionCoverage }) => precisionCoverage),
	};
}

const probes: Edit = ["probes: nightly", "probes: on"];

it.each([
	["same-model", 0],
	["slower-head", 1],
] as const)(
	"a plan of a command gets the verdicts of trtexec's own build, is asked the same probes, and needs no ONNX file: %s",
	async (comparison, exit) => {
		const asked: Edit[] = comparison === "same-model" ? [probes] : [];
		const own = await gate(comparison, byCommand(), ...asked);
		const theirs = await gate(comparison, ...asked);
		for (const { run, result } of [own, theirs]) {
			expectExit(run, exit);
			expectSchema(result, "result");
		}
		expect(verdicts(own)).toEqual(verdicts(theirs));
		expect(own.result.probes).toEqual(theirs.result.probes);
		for (const { state, recipe, notes } of own.result.builds) {
			expect(state).toBe("built");
			expect(recipe).toEqual({ tensorrt: "10.6.0", build: builder });
			expect(notes?.join(" ")).toMatch(/\d+ layers/);
		}
		expect(own.result.notes.filter((note) => note.includes("taken as they are"))).toHaveLength(1);
		const timings = globSync(join(own.folder, "out/cache/*.timing-10.6.0"));
		expect(timings.map((path) => readFileSync(path, "utf8"))).toEqual(["built\nbuilt\n"]);
		const commands = readFileSync(join(own.folder, "replay-bin/state/asked.jsonl"), "utf8");
		for (const arm of ["base", "head"])
			expect(commands).toContain(`--loadEngine=${own.folder}/out/engines/${arm}/`);
		if (comparison !== "same-model") return;
		expect(own.result.probes?.length).toBeGreaterThan(0);

		const shape: Edit = ["onnx: model.onnx", "inputs: { tokens: { shape: [batch, sequence] } }"];
		const bare = await gate(comparison, byCommand(), shape);
		expectExit(bare.run, 0);
		expectSchema(bare.result, "result");
		const { gates, golden, rows } = verdicts(theirs);
		const ofGates = ([gate = ""]: readonly unknown[]) =>
			!/^precision|^preflight|^golden|^probe/.test(String(gate));
		expect(verdicts(bare)).toMatchObject({ golden, rows });
		expect(verdicts(bare).gates.filter(ofGates)).toEqual(gates.filter(ofGates));
		// Its inputs and outputs are those of its golden.
		expect(bare.result.builds[0]?.modelBytes).toBe(0);
	},
);

it("a plan that is there already serves both sides where it is the same, and is timed where it is not", async () => {
	const plan = (arm: string) => `${JSON.stringify({ arm, build: 0 })}\n`;
	const given = (heads: string) => (folder: string) => {
		writeFileSync(join(folder, "base/net.plan"), plan("base"));
		writeFileSync(join(folder, "head/net.plan"), plan(heads));
	};
	const config = [withBuild("plan: net.plan"), [", unchanged-models: rebuild", ""] as const];
	const same = await gateReplay({ comparison: "same-model" }, { config, given: given("base") });
	expectExit(same.run, 0);
	expect(same.result.builds.map(({ sharedWithBase }) => sharedWithBase)).toEqual([undefined, true]);
	const changed = await gateReplay({ comparison: "slower-head" }, { config, given: given("head") });
	expect(changed.result.workloads.map(({ verdict }) => verdict)).toEqual(["regressed"]);
	expect(changed.result.recipeChanges?.[0]?.rows.map(({ what }) => what)).toEqual(["plan"]);
	expect(changed.result.gates.map(({ gate }) => gate)).not.toContain("build-time");
});

it.each([
	["fails", "echo no GPU here; exit 3", "ended with exit code 3"],
	["writes nothing", "true", "succeeded but wrote no net.plan"],
	[
		"writes outside",
		"ln -s /etc/hostname net.plan",
		"net.plan leads to /etc/hostname, outside the workspace",
	],
])("a build command that %s is one clear error of its engine", async (_what, command, says) => {
	const { run, result } = await gate("same-model", withBuild(`command: "${command}", plan: net.plan`));
	expectExit(run, 1);
	expectSchema(result, "result");
	expect(result.gates.filter(({ status }) => status === "fail").map(({ gate }) => gate)).toEqual(["build"]);
	const head = result.builds.find(({ arm }) => arm === "head");
	expect(head?.failure?.title).toContain(says);
	expect(run.stdout.replace(/\s+/g, " ")).toContain(says);
});
