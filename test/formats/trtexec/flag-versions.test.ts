import { expect, it } from "vitest";
import { lackedFlag } from "../../../src/formats/trtexec/flag-versions.ts";

it.each([
	[806, "--maxTactics=10", "--maxTactics, which came with 10.4"],
	[1003, "--maxTactics=10", "--maxTactics, which came with 10.4"],
	[1004, "--maxTactics=10", null],
	[806, "--tacticSources=-CUBLAS,-CUDNN", null],
	[806, "--heuristic", null],
	[1006, "--heuristic", "--heuristic, which ended with 10.0"],
	[806, "--preview=+profileSharing0806", null],
	[
		806,
		"--preview=+profileSharing0806,-aliasedPluginIO1003",
		"preview feature aliasedPluginIO1003, which came with 10.3",
	],
	[1006, "--preview=+aliasedPluginIO1003", null],
] as const)("TensorRT %i with %s", (version, flag, lacks) => {
	expect(lackedFlag([flag], version)).toBe(lacks);
});
