// The difference of long runs of binary32 by WebAssembly's vector instructions; it reports what it cannot compute exactly.
import { module } from "./module.ts";

/** The part of WebAssembly's interface that is used here; every host has it, and no type library without the web's. */
declare const WebAssembly: {
	Module: new (bytes: Uint8Array) => object;
	Instance: new (module: object) => { exports: unknown };
};

interface Kernel {
	memory: { buffer: ArrayBuffer };
	difference(expected: number, got: number, count: number, rtol: number, atol: number, out: number): void;
}

export interface BlockDifference {
	sumSquaredDifference: number;
	sumSquaredExpected: number;
	/** The largest difference, rounded to binary32. */
	largest: number;
	/** Elements outside of the closeness; null where some lie too near its edge for binary32 to decide. */
	outside: number | null;
}

/** Elements of one block: both sides and the result fit in 192 KiB, the kernel's memory, and in the second-level cache. */
export const blockElements = 16_384;
/** The kernel takes so many elements a turn. */
export const stepElements = 32;

const outAt = 1024;
const expectedAt = 4096;
const gotAt = expectedAt + 4 * blockElements + 4096;

interface Loaded {
	run: Kernel["difference"];
	expected: Float32Array;
	got: Float32Array;
	out: DataView;
}

let loaded: Loaded | undefined;

function load(): Loaded {
	const bytes = Uint8Array.from(atob(module), (letter) => letter.charCodeAt(0));
	const { memory, difference } = new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports as Kernel;
	return {
		run: difference,
		expected: new Float32Array(memory.buffer, expectedAt, blockElements),
		got: new Float32Array(memory.buffer, gotAt, blockElements),
		out: new DataView(memory.buffer, outAt, 32),
	};
}

/** Squares below binary32's normal numbers lose their digits, so smaller values are for the exact pass. */
const smallest = 1e-14;
const smallestLimit = 1e-30;

/** Whether the kernel supports this closeness: binary32 must hold its limits accurately. */
export function isSupported({ rtol, atol }: { rtol: number; atol: number }): boolean {
	const fits = (limit: number): boolean => limit === 0 || limit >= smallestLimit;
	return fits(rtol) && fits(atol) && rtol <= 1e6;
}

/**
 * Sums are within a relative 6e-7 of the exact ones.
 * @param block at most blockElements elements a side, a multiple of stepElements.
 * @returns null where binary32 cannot hold what the block needs: NaN, infinities, squares too large or too small.
 */
export function blockDifference(
	block: { expected: Float32Array; got: Float32Array },
	{ rtol, atol }: { rtol: number; atol: number },
): BlockDifference | null {
	loaded ??= load();
	const { run, expected, got, out } = loaded;
	expected.set(block.expected);
	got.set(block.got);
	run(expectedAt, gotAt, block.expected.length, rtol, atol, outAt);
	const sumSquaredDifference = out.getFloat64(0, true);
	const sumSquaredExpected = out.getFloat64(8, true);
	const largest = out.getFloat32(16, true);
	if (!Number.isFinite(sumSquaredDifference + sumSquaredExpected)) return null;
	if ((largest > 0 && largest < smallest) || sumSquaredExpected < smallest * smallest) return null;
	const certain = out.getInt32(20, true);
	return { sumSquaredDifference, sumSquaredExpected, largest, outside: certain === out.getInt32(24, true) ? certain : null };
}
