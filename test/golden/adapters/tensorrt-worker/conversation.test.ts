import fc from "fast-check";
import { expect, it } from "vitest";
import { fitInput } from "../../../../src/golden/adapters/tensorrt-worker/conversation.ts";
import { float32, int64 } from "../../../support/tensorrt-worker.ts";

it("fitInput keeps inputs that need no change, and those that it may not change", () => {
	for (const dtype of ["float32", "float16", "int64"]) {
		const tensor = float32([2], [1, 2]);
		expect(fitInput(tensor, dtype)).toBe(tensor);
	}
});

it("fitInput narrows int64 to int32 without changing values, and refuses those that do not fit", () => {
	fc.assert(
		fc.property(fc.array(fc.bigInt({ min: -(2n ** 33n), max: 2n ** 33n }), { maxLength: 20 }), (values) => {
			const tensor = {
				...int64([values.length], []),
				data: new Uint8Array(BigInt64Array.from(values).buffer),
			};
			const fits = values.every((value) => value >= -(2n ** 31n) && value < 2n ** 31n);
			const fitted = fitInput(tensor, "int32");
			if (!fits) expect(fitted).toContain("which the engine's int32 does not hold");
			else
				expect(fitted).toEqual({
					dtype: "int32",
					shape: [values.length],
					data: new Uint8Array(Int32Array.from(values, Number).buffer),
				});
		}),
	);
});
