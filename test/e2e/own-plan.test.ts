// Engines whose plan a command of the user writes, or that is there already: replayed, as tensorrt.test.ts.
import { copyFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { expectSchema } from "../support/expect-schema.ts";
import { expectExit } from "../support/project.ts";
import { type Change, gateReplay } from "../support/replay/gate.ts";
import type { Replay } from "../support/replay/install.ts";

/** Stands in for a builder in Python; the plan is one that the replay knows. */
const builder = "trtexec --onnx=model.onnx --saveEngine=net.plan >/dev/null";

const withBuild = (build: string, engine = "fp16") =>
	[`{ precision: ${engine} }`, `{ precision: ${engine}, build: { ${build} } }`] as const;

interface Asked {
	step: string;
	argv: string[];
}

function run(replay: Replay, change: Change = {}) {
	return gateReplay(replay, { ...change, argv: ["--seed", "one", ...(change.argv ?? [])] });
}

it.each([
	["same-model", "fp16", 0],
	["slower-head", "fp16", 1],
	["wrong-head", "fp32", 1],
] as const)(
	"a plan of a command gets the verdicts of trtexec's own build: %s",
	async (comparison, precision, exit) => {
		const [own, theirs] = [
			await run({ comparison }, { config: [withBuild(`command: "${builder}", plan: net.plan`, precision)] }),
			await run({ comparison }),
		];
		for (const { run, result } of [own, theirs]) {
			expectExit(run, exit);
			expectSchema(result, "result");
		}
		const verdicts = ({ result }: typeof own) => ({
			outcome: result.outcome,
			gates: result.gates
				.filter(({ gate }) => gate !== "build-time")
				.map(({ gate, status, message }) => [gate, status, message]),
			golden: result.golden,
			rows: result.workloads.map(({ verdict, latency, layers }) => [verdict, latency, layers]),
			coverage: result.builds.map(({ precisionCoverage }) => precisionCoverage),
		});
		expect(verdicts(own)).toEqual(verdicts(theirs));
		for (const { state, recipe, notes } of own.result.builds) {
			expect(state).toBe("built");
			expect(recipe).toEqual({ tensorrt: "10.6.0", build: builder });
			expect(notes?.join(" ")).toMatch(/\d+ layers/);
		}
		expect(own.result.notes.filter((note) => note.includes("taken as they are"))).toHaveLength(1);
	},
);
