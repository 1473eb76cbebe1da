// `golden check` reads Polygraphy's results: one iteration for each case, judged by the golden's own comparators.
import { createHash } from "node:crypto";
import { join } from "node:path";
import { expect, it } from "vitest";
import { checkGolden } from "../../../src/app/golden/check.ts";
import { encodeNpy } from "../../../src/formats/tensor/npy.ts";
import { float32 } from "../../support/golden-tensors.ts";
import { temporaryFolder, writeProject } from "../../support/project.ts";
import { testTerminal } from "../../support/test-terminal.ts";

function resultsOf(...values: number[]): string {
	const iterations = values.map((value) => {
		const array = Buffer.from(encodeNpy(float32([value]))).toString("base64");
		return { outputs: { out: { values: { array, polygraphy_class: "ndarray" } } } };
	});
	return JSON.stringify({ lst: [["trt-runner", iterations]] });
}

const golden = resultsOf(1, 2, 3);
const sha256 = createHash("sha256").update(golden).digest("hex");
const layout = { dtype: "float32", shape: [1] };
const manifest = {
	schemaVersion: 1,
	goldenId: "net@1",
	model: { path: "net.onnx", sha256: "a".repeat(64) },
	producer: { backend: "onnxruntime-native", version: "1.22.0", precision: "fp32" },
	outputs: { out: { comparators: [{ kind: "relative-l2" }] } },
	cases: [0, 1, 2].map((iteration) => ({
		id: `case-${iteration}`,
		inputs: { x: { path: "x.raw", sha256, ...layout } },
		outputs: {
			out: { path: "golden.json.json", format: "polygraphy", sha256, iteration, member: "out", ...layout },
		},
	})),
};

async function check(candidate: string) {
	const cwd = writeProject(temporaryFolder(), {
		"golden.json": JSON.stringify(manifest),
		"golden.json.json": golden,
		"candidate.json": candidate,
	});
	let out = "";
	const terminal = testTerminal(cwd, (text) => {
		out += text;
	});
	const argv = [join(cwd, "golden.json"), "--outputs", "candidate.json", "--json"];
	return { exit: await checkGolden(argv, terminal), said: JSON.parse(out) };
}

it("golden check judges each iteration of Polygraphy's results against its case", async () => {
	expect((await check(golden)).exit).toBe(0);
	const { exit, said } = await check(resultsOf(1, 2, 4));
	expect(exit).toBe(1);
	expect(said.cases.map(({ state }: { state: string }) => state)).toEqual(["match", "match", "mismatch"]);
	expect(said.cases[2].checks[0]).toMatchObject({ output: "out", metric: "relative-l2", pass: false });
});

it.each([
	["fewer iterations than cases", resultsOf(1, 2), "iteration 2"],
	[
		"the results of several runners",
		golden.replace('"lst":[', '"lst":[["other",[]],'),
		"results of one runner",
	],
	["other JSON", "{}", "RunResults"],
	["no JSON", "lst", "invalid JSON"],
	["a Git LFS pointer", `version https://git-lfs.github.com/spec/v1\noid sha256:${sha256}\nsize 4\n`, "LFS"],
])("golden check refuses %s", async (_, candidate, words) => {
	await expect(check(candidate)).rejects.toMatchObject({
		code: "tensor-invalid",
		message: expect.stringContaining(words),
	});
});
