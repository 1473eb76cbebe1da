import { beforeAll, expect, it } from "vitest";
import { addCounters, type Counter, findAllocator } from "../../../scripts/wasm/count.ts";
import { parseModule } from "../../../scripts/wasm/module.ts";
import { classes, type OperatorClass } from "../../../scripts/wasm/operators.ts";
import { countedRuntime } from "../../../scripts/wasm/runtime.ts";
import { pinnedWasm } from "../../../src/adapters/onnxruntime/runtime.ts";

declare const WebAssembly: {
	Module: new (bytes: Uint8Array) => object;
	Instance: new (module: object, imports?: object) => { exports: Record<string, unknown> };
};

const source = `
let last: i32 = 0;
export function remember(n: i32): i32 { last += n; return last; }
export function quotients(n: i32): i32 {
	let sum = 0;
	for (let i = 1; i <= n; i++) sum += 1000 / i;
	return sum;
}
export function halves(n: i32): i32 {
	let sum = 0;
	for (let i = 0; i < n; i++) if (i % 4 != 0) sum += 9999 / i;
	return sum;
}
export function fibonacci(n: i32): i32 { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
export function fill(n: i32): i32 { memory.fill(1024, 7, n); return load<u8>(1024 + n - 1); }
export function choose(n: i32): i32 {
	switch (n) { case 0: return 10 / 3; case 1: return 20 / 3 / 2; case 2: return n * 7; default: return -1; }
}
export function lanes(n: i32): f32 {
	let all = f32x4.splat(1);
	for (let i = 0; i < n; i++) all = f32x4.max(f32x4.div(all, f32x4.splat(2)), f32x4.splat(0.5));
	return f32x4.extract_lane(all, 0);
}`;

let plain: Uint8Array;
beforeAll(async () => {
	const asc = await import("assemblyscript/asc");
	const files = new Map<string, Uint8Array | string>();
	const { error, stderr } = await asc.main(
		[
			"main.ts",
			"--outFile",
			"main.wasm",
			"--runtime",
			"stub",
			"--enable",
			"simd,bulk-memory",
			"--initialMemory",
			"1",
		],
		{
			readFile: (name: string) => (name === "main.ts" ? source : null),
			writeFile: (name: string, contents: Uint8Array | string) => void files.set(name, contents),
			listFiles: () => [],
		},
	);
	if (error) throw new Error(String(stderr));
	plain = files.get("main.wasm") as Uint8Array;
});

const byClass: readonly Counter[] = classes.map((name) => ({
	name,
	weights: Object.fromEntries(classes.map((other) => [other, other === name ? 1 : 0])) as Counter["weights"],
}));

interface Running {
	call(name: string, n: number): number;
	count(name: string): number;
}

function run(bytes: Uint8Array): Running {
	const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes), { env: { abort() {} } });
	return {
		call: (name, n) => (exports[name] as (n: number) => number)(n),
		count: (name) => Number((exports[name] as { value: bigint }).value),
	};
}

function countOf(
	call: [string, number],
	uncounted: ReadonlySet<number> = new Set(),
): Record<OperatorClass, number> {
	const counted = run(addCounters(plain, byClass, uncounted));
	expect(counted.call(...call)).toBe(run(plain).call(...call));
	return Object.fromEntries(classes.map((name) => [name, counted.count(name)])) as Record<
		OperatorClass,
		number
	>;
}

it.each([0, 1, 7, 1000])("a loop of %i divisions counts as many", (n) => {
	expect(countOf(["quotients", n]).divide).toBe(n);
});

it("a branch counts only what it runs", () => {
	// One for each remainder, one for each half.
	expect(countOf(["halves", 100]).divide).toBe(100 + 75);
});

it.each([
	[0, 1],
	[1, 2],
	[2, 0],
	[9, 0],
])("a switch on %i counts the operators of its case alone", (n, divisions) => {
	// Divisions of constants are folded, so that only what is left at run time counts.
	expect(countOf(["choose", n]).divide).toBeLessThanOrEqual(divisions);
});

it.each([
	[1, 1],
	[16, 1],
	[17, 2],
	[5000, 313],
])("a bulk operator on %i bytes counts as %i blocks of 16", (bytes, blocks) => {
	expect(countOf(["fill", bytes]).bulk).toBe(blocks);
});

it("vectors count by class", () => {
	const { root, minmax } = countOf(["lanes", 12]);
	expect([root, minmax]).toEqual([12, 12]);
});

it("the count grows by the same with each turn of a loop", () => {
	const total = (n: number) =>
		Object.values(countOf(["quotients", n])).reduce((sum, count) => sum + count, 0);
	expect(total(30) - total(20)).toBe(10 * (total(11) - total(10)));
});

it("each call counts", () => {
	expect(countOf(["fibonacci", 10]).call).toBe(2 * 88);
});

it("functions that are left out add nothing", () => {
	const half = parseModule(plain);
	const every = new Set(half.bodies.map((_, index) => index + half.imports.functions));
	expect(Object.values(countOf(["halves", 100], every)).every((count) => count === 0)).toBe(true);
});

it("a module without the allocator's exports is refused", () => {
	expect(() => findAllocator(plain, { malloc: "malloc", free: "free" })).toThrow("exports no malloc");
	expect(() => findAllocator(plain, { malloc: "halves", free: "fill" })).toThrow(
		"nine functions were not found",
	);
});

it("operators of unknown length are refused: an exception", () => {
	const bytes = Uint8Array.from(plain);
	const [body] = parseModule(plain).bodies;
	bytes[body?.codeFrom ?? 0] = 0x06;
	expect(() => addCounters(bytes, byClass, new Set())).toThrow("is not known here");
});

it("the counted ONNX Runtime comes out of the installed package as pinned", () => {
	expect(countedRuntime("node_modules/onnxruntime-web/dist")).toHaveLength(pinnedWasm.wasm.bytes);
});
