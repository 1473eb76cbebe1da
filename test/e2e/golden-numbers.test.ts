// Numbers at the ends of their range through the built bundle: `trtgate golden check` says what is true of them.
import { createHash } from "node:crypto";
import { expect, it } from "vitest";
import type { ComparatorSpec, GoldenOutput } from "../../generated/golden.ts";
import type { GoldenCheck } from "../../generated/result.ts";
import { encodeNpy } from "../../src/formats/tensor/npy.ts";
import type { Tensor } from "../../src/golden/core/tensor/tensor.ts";
import { float32, float64, int64, manifestOf } from "../support/golden-tensors.ts";
import { runCli, temporaryFolder, writeProject } from "../support/project.ts";

interface Said {
	exit: number | null;
	state: string;
	checks: GoldenCheck[];
}

/** A golden of one output, and an engine's answer to it. */
async function check(expected: Tensor, got: Tensor, spec: GoldenOutput, precision = "fp32"): Promise<Said> {
	const file = encodeNpy(expected);
	const manifest = manifestOf({ y: expected }, { y: spec });
	const [golden] = manifest.cases;
	const entry = {
		path: "y.npy",
		sha256: createHash("sha256").update(file).digest("hex"),
		dtype: expected.dtype,
		shape: [...expected.shape],
	};
	const cwd = writeProject(temporaryFolder(), {
		"golden.json": JSON.stringify({ ...manifest, cases: [{ ...golden, outputs: { y: entry } }] }),
		"y.npy": file,
		"out/only/y.npy": encodeNpy(got),
	});
	const argv = ["golden", "check", "golden.json", "--outputs", "out", "--precision", precision, "--json"];
	const run = await runCli(argv, { cwd });
	expect(run.stdout, run.stderr).toMatch(/^\{/);
	const { state, cases } = JSON.parse(run.stdout);
	return { exit: run.exit, state, checks: cases[0].checks };
}

const asked = (...comparators: [ComparatorSpec]): GoldenOutput => ({ comparators });

/** About standard normal, and the same every time. */
function noise(seed: number, count: number): number[] {
	const uniform = (at: number): number =>
		(Math.abs(Math.sin(at * 12.9898 + seed * 78.233)) * 43_758.5453) % 1;
	return Array.from(
		{ length: count },
		(_, at) => [1, 2, 3, 4].reduce((sum, part) => sum + uniform(at * 4 + part), -2) * Math.sqrt(3),
	);
}

it("golden check finds a row that is far off by kl, though the engine's class lies below e^-709", async () => {
	const golden = new Array<number>(80).fill(0);
	const engine = golden.map((value, at) => (at === 3 ? -730 : value));
	const said = await check(
		float64(golden, [8, 10]),
		float64(engine, [8, 10]),
		asked({ kind: "kl", input: "logits" }),
	);
	expect(said).toMatchObject({ exit: 1, state: "mismatch", checks: [{ metric: "kl", pass: false }] });
	expect(said.checks[0]?.got).toBeCloseTo((Math.log(0.9) + 73) / 8, 12);
});

it("golden check passes a bit-identical fp16 softmax of 32,000 classes by kl, with 0", async () => {
	const classes = 32_000;
	const logits = noise(3, classes).map((value) => 4 * value);
	const powers = logits.map((value) => Math.exp(value));
	const sum = powers.reduce((total, value) => total + value, 0);
	const bits = Uint16Array.from(powers, (value) => halfBits(value / sum));
	expect(bits.filter((pattern) => pattern === 0).length).toBeGreaterThan(1000);
	const tensor: Tensor = { dtype: "float16", shape: [1, classes], data: new Uint8Array(bits.buffer) };
	const said = await check(tensor, tensor, { semantic: "probabilities", ...asked({ kind: "kl" }) }, "fp16");
	expect(said).toMatchObject({ exit: 0, state: "match", checks: [{ metric: "kl", got: 0, pass: true }] });
});

it("golden check finds an engine that is noise of 1e-20 by cosine", async () => {
	const golden = noise(1, 4096);
	const other = noise(2, 4096);
	const dot = (a: readonly number[], b: readonly number[]): number =>
		a.reduce((sum, value, at) => sum + value * (b[at] ?? 0), 0);
	const cosine = dot(golden, other) / Math.sqrt(dot(golden, golden) * dot(other, other));
	// Turned so that it points a little in the golden's direction.
	const engine = other.map((value) => value * Math.sign(cosine) * 1e-20);
	const said = await check(float64(golden), float64(engine), asked({ kind: "cosine" }));
	expect(said).toMatchObject({ exit: 1, state: "mismatch" });
	expect(said.checks[0]?.got).toBeCloseTo(Math.abs(cosine), 9);
});

it("golden check distinguishes errors of 3 beyond 2^53", async () => {
	const golden = Array.from({ length: 64 }, (_, at) => 2n ** 60n + BigInt(at));
	const engine = golden.map((value) => value + 3n);
	const said = await check(int64(golden), int64(engine), asked({ kind: "max-abs", tolerance: 2 }));
	expect(said).toMatchObject({ exit: 1, checks: [{ metric: "max-abs", got: 3, pass: false }] });
});

it("golden check matches an output of -Infinity throughout that is the golden's own", async () => {
	const masked = float32(new Array<number>(12).fill(Number.NEGATIVE_INFINITY), [3, 4]);
	const spec: GoldenOutput = { nonFinite: "must-match" };
	expect(await check(masked, masked, spec)).toMatchObject({
		exit: 0,
		state: "match",
		checks: [{ metric: "non-finite" }, { pass: true }],
	});
	expect(await check(masked, float32(new Array<number>(12).fill(0), [3, 4]), spec)).toMatchObject({
		exit: 1,
		state: "mismatch",
	});
});

/** Bits of a half from 0 to 1, rounded to nearest. */
function halfBits(value: number): number {
	if (value < 2 ** -14) return Math.round(value * 2 ** 24);
	const exponent = Math.floor(Math.log2(value));
	return ((exponent + 15) << 10) + Math.round((value / 2 ** exponent - 1) * 1024);
}
