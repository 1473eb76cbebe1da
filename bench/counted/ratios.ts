// How far the ratio of counts follows the ratio of times: variants of models, in WebAssembly as it ships upstream and in native ONNX Runtime.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { type Counter, halfInstructions } from "../../scripts/wasm/count.ts";
import { classes } from "../../scripts/wasm/operators.ts";
import { withCounters } from "../../scripts/wasm/runtime.ts";
import { fillInput } from "../../src/core/timed-inputs.ts";
import { runTool } from "../zoo/fetch.ts";
import { open, python, type Subject, scratch, scriptOf, zooModels } from "./setup.ts";

export interface Ratio {
	model: string;
	variant: string;
	wasmMs: number;
	nativeMs: number;
	/** Operators of one inference, by class. */
	counts: number[];
}

const upstream = resolve(import.meta.dirname, "../../node_modules/onnxruntime-web/dist");
const quickstart = ["classifier", "detector", "segmenter", "superres"].map((name): Subject => {
	return { name, path: resolve(import.meta.dirname, `../../examples/quickstart/base/models/${name}.onnx`) };
});

/** Writes the times and counts of all variants to a file, from which `fitTable` makes the tables. */
export async function benchRatios(names: readonly string[], out: string): Promise<void> {
	const counted = join(scratch, "classes");
	mkdirSync(counted, { recursive: true });
	const counters = classes.map((name): Counter => {
		return {
			name: `count-${name}`,
			weights: Object.fromEntries(classes.map((one) => [one, one === name ? 1 : 0])) as Counter["weights"],
		};
	});
	writeFileSync(join(counted, "ort-wasm-simd-threaded.wasm"), withCounters(upstream, counters));
	writeFileSync(
		join(counted, "ort-wasm-simd-threaded.mjs"),
		readFileSync(join(upstream, "ort-wasm-simd-threaded.mjs")),
	);
	const lines = [["model", "variant", "WebAssembly ms", "native ms", ...classes].join("\t")];
	for (const subject of [...quickstart, ...zooModels(names)].filter(({ name }) => names.includes(name))) {
		const folder = join(scratch, `vary-${subject.name}`);
		for (const variant of ["base", ...scriptOf<string[]>("vary", subject.path, folder)]) {
			const path = join(folder, `${variant}.onnx`);
			const feeds = await writeFeeds({ ...subject, path });
			const counts = runTool(process.execPath, [driver, "count", counted, path, feeds]);
			const wasmMs = runTool(process.execPath, [driver, "time", upstream, path, feeds]);
			const nativeMs = runTool(python, [
				join(import.meta.dirname, "models.py"),
				"native",
				path,
				feeds,
				"0.6",
			]);
			lines.push(
				[
					subject.name,
					variant,
					Number(wasmMs).toFixed(4),
					Number(nativeMs).toFixed(4),
					...JSON.parse(counts),
				].join("\t"),
			);
			console.log(lines.at(-1));
		}
		writeFileSync(out, `${lines.join("\n")}\n`);
	}
}

const driver = join(import.meta.dirname, "drive.mjs");

async function writeFeeds(subject: Subject): Promise<string> {
	const { inputs } = await open(subject, "head");
	const feeds = inputs.map((input, index) => {
		const path = join(scratch, `feed-${index}`);
		writeFileSync(path, fillInput(input, 1, index));
		return { name: input.name, dtype: input.dtype, shape: input.shape, path };
	});
	return JSON.stringify(feeds);
}

export function readRatios(path: string): Ratio[] {
	const [, ...lines] = readFileSync(path, "utf8").trim().split("\n");
	return lines.map((line) => {
		const [model = "", variant = "", wasmMs, nativeMs, ...counts] = line.split("\t");
		return { model, variant, wasmMs: Number(wasmMs), nativeMs: Number(nativeMs), counts: counts.map(Number) };
	});
}

type Weigh = (ratio: Ratio) => number;

const shipped: Weigh = ({ counts }) =>
	classes.reduce((sum, name, at) => sum + (counts[at] ?? 0) * halfInstructions[name], 0);
const unweighted: Weigh = ({ counts }) => counts.reduce((sum, count) => sum + count, 0);

/** Of these the report says that counts follow their time poorly. */
const doubtful = new Set(["softmax", "div", "erf", "sigmoid", "tanh", "int8"]);

/** Ratios of each variant to its own model, and how far they lie apart. */
export function ratioTable(ratios: readonly Ratio[]): string {
	const pairs = ratios.flatMap((head) => {
		const base = ratios.find(({ model, variant }) => model === head.model && variant === "base");
		return base === undefined || base === head ? [] : [{ head, base }];
	});
	const ratio = (of: Weigh) => pairs.map(({ head, base }) => of(head) / of(base));
	const [work, plain, wasm, native] = [
		ratio(shipped),
		ratio(unweighted),
		ratio(({ wasmMs }) => wasmMs),
		ratio(({ nativeMs }) => nativeMs),
	];
	const rows = pairs.map(({ head }, at) => {
		const cells = [work, wasm, native].map((values) => (values[at] ?? 0).toFixed(3));
		return `| ${[head.model, head.variant, ...cells].join(" | ")} |`;
	});
	const isSure = pairs.map(({ head }) => !doubtful.has(head.variant));
	const apart = (
		left: readonly number[],
		right: readonly number[],
		counts = isSure.map(() => true),
	): string => {
		const all = left.map((value, at) => Math.abs(Math.log(value / (right[at] ?? 1))));
		const off = all.filter((_, at) => counts[at]).sort((a, b) => a - b);
		return [0.5, 0.9, 1]
			.map((share) => `${(100 * Math.expm1(off[Math.ceil(share * off.length) - 1] ?? 0)).toFixed(1)} %`)
			.join(" | ");
	};
	return [
		"| ratios of | median | 90 % | largest |",
		"|---|--:|--:|--:|",
		`| work and WebAssembly time | ${apart(work, wasm)} |`,
		`| the same, of changes without misjudged nodes | ${apart(work, wasm, isSure)} |`,
		`| unweighted counts and WebAssembly time | ${apart(plain, wasm)} |`,
		`| work and native time | ${apart(work, native)} |`,
		`| the same, of changes without misjudged nodes | ${apart(work, native, isSure)} |`,
		`| WebAssembly time and native time | ${apart(wasm, native)} |`,
		"",
		"| model | variant | work | WebAssembly time | native time |",
		"|---|---|--:|--:|--:|",
		...rows,
	].join("\n");
}

export function resultPath(name: string): string {
	return join(import.meta.dirname, name);
}
