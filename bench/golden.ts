// Prints how fast two fp32 tensors are compared as the gate compares them, and numpy's allclose in the same run.
// node bench/golden.ts [MiB of each tensor]
import { spawnSync } from "node:child_process";
import { pathToFileURL } from "node:url";
import { makePair } from "../src/golden/core/compare/difference.ts";
import {
	allclose,
	defaultMetricOptions,
	maxAbs,
	relativeL2,
} from "../src/golden/core/metrics/element-errors.ts";
import type { Tensor } from "../src/golden/core/tensor/tensor.ts";

const rounds = 9;
const turns = 4;
/** Of our speed in fp32 to that of numpy's allclose. */
const minRatio = 1;
const options = { ...defaultMetricOptions, rtol: 1e-3, atol: 1e-5 };

interface Row {
	what: string;
	dtype: "fp32" | "fp16";
	gigabytesPerSecond: number | null;
}

function tensorOf(values: Float32Array | Uint16Array, dtype: Tensor["dtype"]): Tensor {
	return { dtype, shape: [values.length], data: new Uint8Array(values.buffer) };
}

/** Relative L2, largest difference and share outside: one pass over both. */
function compare(expected: Tensor, got: Tensor): number {
	const pair = makePair(expected, got, options);
	return relativeL2(pair).value + maxAbs(pair).value + allclose(pair, options).value;
}

/** Of both tensors' bytes, best of the rounds, because the machine is shared. */
function speedOf(expected: Tensor, got: Tensor): number {
	let bestMs = Number.POSITIVE_INFINITY;
	for (let round = 0; round < rounds; round += 1) {
		const start = performance.now();
		// Passes over a tensor are cached by the object.
		const sum = compare(expected, { ...got });
		bestMs = Math.min(bestMs, performance.now() - start);
		if (Number.isNaN(sum)) throw new Error("the comparison gave NaN");
	}
	return (2 * expected.data.length) / 1e6 / bestMs;
}

function ownRows(mebibytes: number): Row[] {
	const elements = mebibytes * 2 ** 18;
	const golden = Float32Array.from({ length: elements }, (_, i) => Math.sin(i * 1.7) * 3);
	const noisy = (size: number): Float32Array =>
		golden.map((value, i) => value * (1 + size * Math.cos(i * 3.1)));
	const expected = tensorOf(golden, "float32");
	const halves = (seed: number): Tensor =>
		tensorOf(
			Uint16Array.from({ length: elements }, (_, i) => 0x3c00 + ((i * 31 + seed * (i % 5)) % 1024)),
			"float16",
		);
	return [
		{
			what: "trtgate, near",
			dtype: "fp32",
			gigabytesPerSecond: speedOf(expected, tensorOf(noisy(1e-5), "float32")),
		},
		{
			what: "trtgate, most elements outside",
			dtype: "fp32",
			gigabytesPerSecond: speedOf(expected, tensorOf(noisy(3e-3), "float32")),
		},
		{
			what: "trtgate, identical",
			dtype: "fp32",
			gigabytesPerSecond: speedOf(expected, tensorOf(golden.slice(), "float32")),
		},
		{ what: "trtgate, near", dtype: "fp16", gigabytesPerSecond: speedOf(halves(0), halves(1)) },
	];
}

const numpyScript = `
import sys, time
import numpy as np
n = int(sys.argv[1]) * 2 ** 18
i = np.arange(n)
g = (np.sin(i * 1.7) * 3).astype(np.float32)
c = (g * (1 + 1e-5 * np.cos(i * 3.1))).astype(np.float32)
def best(run):
    times = []
    for _ in range(${rounds}):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return 2 * g.nbytes / 1e9 / min(times)
def all_three():
    d = np.abs(c - g)
    return np.linalg.norm(d) / np.linalg.norm(g), d.max(), np.mean(d > 1e-5 + 1e-3 * np.abs(g))
close = best(lambda: np.allclose(c, g, rtol=1e-3, atol=1e-5))
three = best(all_three)
g, c = g[: n // 8].astype(np.float16), c[: n // 8].astype(np.float16)
print(np.__version__, close, three, best(lambda: np.allclose(c, g, rtol=1e-3, atol=1e-5)))
`;

function numpyRows(mebibytes: number): Row[] {
	const { status, stdout } = spawnSync("python3", ["-c", numpyScript, String(mebibytes)], {
		encoding: "utf8",
	});
	const [version, close, three, half] = status === 0 ? stdout.trim().split(" ") : [];
	const name = version === undefined ? "numpy (not installed)" : `numpy ${version}`;
	const speed = (text: string | undefined): number | null => (text === undefined ? null : Number(text));
	return [
		{ what: `${name}, allclose alone`, dtype: "fp32", gigabytesPerSecond: speed(close) },
		{ what: `${name}, the same three numbers in binary32`, dtype: "fp32", gigabytesPerSecond: speed(three) },
		{ what: `${name}, allclose alone`, dtype: "fp16", gigabytesPerSecond: speed(half) },
	];
}

/** The best of each row. */
function bestRows(passes: readonly (readonly Row[])[]): Row[] {
	return (passes[0] ?? []).map((row, at) => {
		const speeds = passes.flatMap((pass) => pass[at]?.gigabytesPerSecond ?? []);
		return { ...row, gigabytesPerSecond: speeds.length === 0 ? null : Math.max(...speeds) };
	});
}

function printTable(mebibytes: number): void {
	// Alternating, and the best of each, because the machine is shared unevenly.
	const passes = Array.from({ length: turns }, () => ({
		numpy: numpyRows(mebibytes),
		own: ownRows(mebibytes),
	}));
	const numpy = bestRows(passes.map((pass) => pass.numpy));
	const rows = [...bestRows(passes.map((pass) => pass.own)), ...numpy];
	console.log(
		`\n## Comparing two tensors of ${mebibytes} MiB in fp32\n\ntrtgate gives relative L2, the largest difference and the share outside of the tolerance; numpy's allclose gives one yes or no. GB/s over the bytes of both tensors, best of ${turns} turns of ${rounds} rounds, numpy and trtgate in turn; the ratio is to allclose of the same dtype.\n`,
	);
	console.log("| what | dtype | GB/s | × numpy's allclose |\n|---|---|---|---|");
	for (const { what, dtype, gigabytesPerSecond: speed } of rows) {
		const reference = numpy.find((row) => row.dtype === dtype)?.gigabytesPerSecond ?? null;
		const ratio = speed === null || reference === null ? "–" : (speed / reference).toFixed(1);
		console.log(`| ${what} | ${dtype} | ${speed === null ? "not installed" : speed.toFixed(2)} | ${ratio} |`);
	}
	printLimit(rows, numpy[0]?.gigabytesPerSecond ?? null);
}

/** The slowest of ours in fp32 against numpy's allclose in fp32. */
function printLimit(rows: readonly Row[], allcloseSpeed: number | null): void {
	if (allcloseSpeed === null) return;
	const own = rows.filter(({ what, dtype }) => what.startsWith("trtgate") && dtype === "fp32");
	const least = Math.min(...own.map(({ gigabytesPerSecond }) => (gigabytesPerSecond ?? 0) / allcloseSpeed));
	console.log(
		`fp32, the slowest row: ${least.toFixed(1)} × allclose; limit ${minRatio}: ${least >= minRatio ? "kept" : "BROKEN"}`,
	);
	if (least < minRatio) process.exitCode = 1;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
	const mebibytes = Number(process.argv[2] ?? 64);
	if (!Number.isInteger(mebibytes) || mebibytes < 1)
		throw new Error("Usage: node bench/golden.ts [MiB of each tensor]");
	printTable(mebibytes);
}
