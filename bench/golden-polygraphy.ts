// Prints how fast Polygraphy's results are read, compared with JSON.parse of the same bytes in the same run.
// node bench/golden-polygraphy.ts [MiB of the file]
import { parseRunResults } from "../src/formats/polygraphy/run-results.ts";

const rounds = 5;
/** Of our speed to that of JSON.parse, which reaches 500 MB/s and more on an idle core. */
const minRatio = 0.1;

/** A header of .npy is a multiple of 64 bytes. */
function npy(values: Float32Array): Uint8Array {
	const dictionary = `{'descr': '<f4', 'fortran_order': False, 'shape': (${values.length},), }`;
	const text = `${dictionary.padEnd(117)}\n`;
	const bytes = new Uint8Array(10 + text.length + 4 * values.length);
	bytes.set([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, text.length & 0xff, text.length >> 8]);
	bytes.set(new TextEncoder().encode(text), 10);
	bytes.set(new Uint8Array(values.buffer), 10 + text.length);
	return bytes;
}

interface Kind {
	what: string;
	elements: number;
	/** Before base64, arrays were written as the characters of Latin-1. */
	encoding: "base64" | "latin1";
}

const kinds: readonly Kind[] = [
	{ what: "arrays of 1,000,000 values", elements: 1_000_000, encoding: "base64" },
	{ what: "arrays of 1,000 values", elements: 1000, encoding: "base64" },
	{ what: "arrays of 10 values", elements: 10, encoding: "base64" },
	{ what: "arrays of 1,000,000 values, Latin-1", elements: 1_000_000, encoding: "latin1" },
];

/** Iterations of four outputs, as `polygraphy run --save-outputs` writes them. */
function resultsOf({ elements, encoding }: Kind, mebibytes: number): Uint8Array {
	const values = Float32Array.from({ length: elements }, (_, at) => Math.sin(at * 1.7) * 3);
	const array = { array: Buffer.from(npy(values)).toString(encoding), polygraphy_class: "ndarray" };
	const outputs = Object.fromEntries(
		["a", "b", "c", "d"].map((name) => [name, { values: array, polygraphy_class: "LazyArray" }]),
	);
	const iteration = { outputs, runtime: 0.01, runner_name: "r", polygraphy_class: "IterationResult" };
	const count = Math.max(1, Math.round((mebibytes * 2 ** 20) / JSON.stringify(iteration).length));
	const iterations = Array.from({ length: count }, () => iteration);
	return new TextEncoder().encode(
		JSON.stringify({ lst: [["r", iterations]], polygraphy_class: "RunResults" }),
	);
}

/** Best of the rounds, because the machine is shared. */
function speedOf(bytes: Uint8Array, read: () => unknown): number {
	let bestMs = Number.POSITIVE_INFINITY;
	for (let round = 0; round < rounds; round += 1) {
		const start = performance.now();
		if (read() === undefined) throw new Error("nothing was read");
		bestMs = Math.min(bestMs, performance.now() - start);
	}
	return bytes.length / 1000 / bestMs;
}

function printTable(mebibytes: number): void {
	console.log(
		`\n## Reading Polygraphy's results of ${mebibytes} MiB to tensors, MB/s, best of ${rounds} rounds\n`,
	);
	console.log("| what | trtgate | TextDecoder and JSON.parse alone | ratio |\n|---|---|---|---|");
	const ratios = kinds.map((kind) => {
		const bytes = resultsOf(kind, mebibytes);
		const peer = speedOf(bytes, () => JSON.parse(new TextDecoder().decode(bytes)));
		const own = speedOf(bytes, () => parseRunResults(bytes, "results.json"));
		console.log(`| ${kind.what} | ${own.toFixed(0)} | ${peer.toFixed(0)} | ${(own / peer).toFixed(2)} |`);
		return own / peer;
	});
	const least = Math.min(...ratios);
	console.log(
		`lowest ratio ${least.toFixed(2)}; limit ${minRatio}: ${least >= minRatio ? "kept" : "BROKEN"}`,
	);
	if (least < minRatio) process.exitCode = 1;
}

const mebibytes = Number(process.argv[2] ?? 32);
if (!Number.isInteger(mebibytes) || mebibytes < 1)
	throw new Error("Usage: node bench/golden-polygraphy.ts [MiB of the file]");
printTable(mebibytes);
