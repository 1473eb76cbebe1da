// Values at the edges of what an input may hold, one kind for each case.
import type { DType } from "../../../schema/golden.ts";

export interface BoundaryFill {
	name: string;
	valueAt(index: number): number;
}

const constant = (name: string, value: number): BoundaryFill => ({ name, valueAt: () => value });
const alternating = (name: string, value: number): BoundaryFill => ({ name, valueAt: (index) => (index % 2 === 0 ? value : -value) });

/** The largest binary16, which every float engine must bear; a denormal of binary32 that GPUs may flush to zero. */
const floats: readonly BoundaryFill[] = [
	constant("zeros", 0),
	constant("ones", 1),
	alternating("signs", 1),
	constant("denormals", 1e-40),
	alternating("half-max", 65_504),
	alternating("max", 3.4028234663852886e38),
];

const largest: Partial<Record<DType, number>> = { int8: 127, uint8: 255, int16: 32_767, uint16: 65_535 };

/** Integers stay within the range where one is given: an index beyond it is a fault of the input, not of the engine. */
export function boundaryFills(dtype: DType, range: readonly [number, number] | undefined): readonly BoundaryFill[] {
	if (dtype === "float16")
		return floats.map((fill) => ({ ...fill, valueAt: (index) => Math.max(-65_504, Math.min(65_504, fill.valueAt(index))) }));
	if (dtype.includes("float")) return floats;
	const [low, high] = dtype === "bool" ? [0, 1] : (range ?? [0, largest[dtype] ?? 1]);
	return [constant("lowest", low), constant("highest", high), { name: "ends", valueAt: (index) => (index % 2 === 0 ? low : high) }];
}
