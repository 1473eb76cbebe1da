// The bytes of a file become the numbers that magika's rule makes of them.
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import type { BytesPreprocess } from "../../../generated/golden.ts";
import { tensorOfBytes } from "../../../src/formats/tensor/decode.ts";

const { files }: { files: { file: string; how: BytesPreprocess; values: number[] }[] } = JSON.parse(
	readFileSync("test/oracles/golden-inputs.json", "utf8"),
);
const shapeOf = (elements: number) => [1, elements];

it.each(files)("the reader of raw bytes takes $how of $file", ({ file, how, values }) => {
	const { data, shape } = tensorOfBytes(
		Buffer.from(file, "base64"),
		{ dtype: "int32", length: null, shapeOf },
		how,
	);
	expect(shape).toEqual([1, values.length]);
	expect([...new Int32Array(data.slice().buffer)]).toEqual(values);
});

it("raw bytes fill the input's size where it is known, and are read whole otherwise", () => {
	const bytes = Uint8Array.of(9, 8, 7);
	const made = (length: number | null) => [
		...tensorOfBytes(bytes, { dtype: "uint8", length, shapeOf }, { kind: "bytes", padding: 5 }).data,
	];
	expect([made(2), made(5), made(null)]).toEqual([
		[9, 8],
		[9, 8, 7, 5, 5],
		[9, 8, 7],
	]);
});
