import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import type { Preprocess } from "../../../generated/golden.ts";
import { imageShape, preprocessImage } from "../../../src/formats/image/preprocess.ts";

interface Oracle {
	pixels: number[];
	tensors: { how: Preprocess; shape: number[]; values: number[] }[];
}
const { pictures }: { pictures: Oracle } = JSON.parse(
	readFileSync("test/oracles/golden-inputs.json", "utf8"),
);

it.each(pictures.tensors)("preprocessImage makes $shape by $how", ({ how, shape, values }) => {
	const pixels = { width: 5, height: 3, rgb: Uint8Array.from(pictures.pixels) };
	const file = { path: "a.png", sha256: "", dtype: "float32" as const, shape, preprocess: how };
	const { data } = preprocessImage(pixels, file);
	const got = new Float32Array(data.slice().buffer);
	expect(got).toHaveLength(values.length);
	for (const [at, value] of values.entries()) expect(got[at]).toBeCloseTo(value, 4);
});

it.each<[Preprocess["resize"], string]>([
	[undefined, "1,3,100,301"],
	[[48, null], "1,3,48,144"],
	[[null, 48], "1,3,16,48"],
	[[null, null], "1,3,100,301"],
	[[48, 320], "1,3,48,320"],
	[50, "1,3,50,150"],
])("imageShape of a picture of 100 by 301 with resize %j is %s", (resize, shape) => {
	const how: Preprocess = { layout: "nchw", ...(resize !== undefined && { resize }) };
	expect(imageShape({ height: 100, width: 301 }, how).join()).toBe(shape);
});
