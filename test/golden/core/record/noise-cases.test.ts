// Cases whose outputs are noise are found, and only those.
import { expect, it } from "vitest";
import type { RunOutputs } from "../../../../src/golden/core/record/noise-floor.ts";
import { findNoiseCases } from "../../../../src/golden/core/record/sensitivity.ts";
import type { Tensor } from "../../../../src/golden/core/tensor/tensor.ts";
import { float32, int64 } from "../../../support/golden-tensors.ts";

const values = (scale: number, noise: number) =>
	Array.from({ length: 50 }, (_, at) => scale * Math.sin(1 + at) + noise * Math.cos(3 * at));
const ids = int64([1n, 2n, 3n]);

type Scales = Readonly<Record<string, number>>;

function outputsOf(scales: readonly Scales[], noise: number, other: Record<string, Tensor> = {}): RunOutputs {
	return scales.map((named) => {
		const tensors = Object.entries(named).map(([name, scale]) => [
			name,
			float32(values(scale, noise), [1, 50]),
		]);
		return { ...Object.fromEntries(tensors), ...other };
	});
}

it.each<[string, readonly Scales[], number, Record<string, Tensor>, number[]]>([
	[
		"shows nothing beside one that does",
		[{ y: 1e-8 }, { y: 1 }, { y: 0 }, { y: 1e-12 }],
		1e-9,
		{},
		[0, 2, 3],
	],
	["differs between runs by more than 1 %", [{ y: 1 }, { y: 0.9 }], 0.05, {}, [0, 1]],
	[
		"has signal in another output",
		[
			{ y: 1e-9, z: 1 },
			{ y: 1, z: 1e-9 },
		],
		1e-12,
		{},
		[],
	],
	["has an integer output", [{ y: 1e-9 }, { y: 1 }], 1e-12, { ids }, []],
])("findNoiseCases judges a case that %s", (_, scales, noise, other, found) => {
	const runs = [{ label: "other", outputs: outputsOf(scales, noise, other) }];
	expect([...findNoiseCases(outputsOf(scales, 0, other), runs, {}).keys()]).toEqual(found);
});
