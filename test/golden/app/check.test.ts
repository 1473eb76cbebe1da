import { createHash } from "node:crypto";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { GoldenCheck, GoldenVerdict } from "../../../generated/result.ts";
import { encodeNpy } from "../../../src/formats/tensor/npy.ts";
import { checkGolden, renderCheck } from "../../../src/golden/app/check.ts";
import { float32, manifestOf } from "../../support/golden-tensors.ts";
import { temporaryFolder, writeProject } from "../../support/project.ts";
import { testTerminal } from "../../support/test-terminal.ts";

function resultsOf(...values: number[]) {
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
	...manifestOf({}, { out: { comparators: [{ kind: "relative-l2" }] } }),
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
	["a Git LFS pointer", `version https://git-lfs.github.com/spec/v1\noid sha256:${sha256}\nsize 4\n`, "LFS"],
])("golden check refuses %s", async (_, candidate, words) => {
	const refusal = { code: "tensor-invalid", message: expect.stringContaining(words) };
	await expect(check(candidate)).rejects.toMatchObject(refusal);
});

const checkOf = (change: Partial<GoldenCheck> = {}): GoldenCheck => ({
	...{ output: "logits", metric: "relative-l2", got: 1e-4, allowed: 1e-3 },
	...{ bound: "at-most", pass: true, severity: "fail", elements: 10 },
	...change,
});

function verdict(id: string, checks: GoldenCheck[], state: GoldenVerdict["state"] = "match"): GoldenVerdict {
	return {
		...{ model: "m", engine: "e", precision: "fp32", golden: "net@1", modelChanged: false },
		...{ case: id, state, checks },
	};
}

function render(cases: GoldenVerdict[]) {
	const state = cases.every((one) => one.state === "match") ? "match" : "mismatch";
	return renderCheck({ golden: "net@1", precision: "fp32", outputs: "o", state, cases });
}

it("renderCheck reports how near matching cases came to each limit, and in which case", () => {
	const text = render([verdict("day", [checkOf()]), verdict("night", [checkOf({ got: 9e-4 })])]);
	expect(text).toBe(
		"✓ net@1 at fp32: 2 of 2 cases match\n  nearest to its limit:\n    ✓ logits: relative-l2 9e-4 (≤ 1e-3), in night\n",
	);
});

it("renderCheck shows failures first, each with the element, what was got and what expected", () => {
	const worst = { index: [0, 3], got: 1.5, expected: -2 };
	const bad = verdict(
		"night",
		[checkOf({ got: 0.5, pass: false, sample: 2, worst }), checkOf({ metric: "cosine" })],
		"mismatch",
	);
	expect(render([verdict("day", [checkOf()]), bad])).toBe(
		[
			"✗ net@1 at fp32: 1 of 2 cases match",
			"✗ night",
			"    ✗ logits: relative-l2, sample 2 0.5 (≤ 1e-3)",
			"        at [0,3]: got 1.5, expected −2",
			"    ✓ 1 other check",
			"✓ day",
			"    ✓ logits: relative-l2 1e-4 (≤ 1e-3)",
			"",
		].join("\n"),
	);
});

it("renderCheck stays short if thousands fail alike", () => {
	const failing = Array.from({ length: 5000 }, (_, index) =>
		verdict(`c${index}`, [checkOf({ got: 1, pass: false })], "mismatch"),
	);
	const text = render(failing);
	expect(text.split("\n").length).toBeLessThan(40);
	expect(text).toContain("… and 4,990 more cases with failures or warnings (--json shows them)");
});
