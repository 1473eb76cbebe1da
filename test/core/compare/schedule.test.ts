// The order of the sides is balanced, seeded and the same everywhere.
import fc from "fast-check";
import { expect, test } from "vitest";
import { firstArms } from "../../../src/core/compare/pairs.ts";

test("each block of two pairs has both orders, so the sides alternate ABBA or BAAB", () => {
	fc.assert(
		fc.property(fc.string(), fc.integer({ min: 0, max: 64 }), (seed, pairs) => {
			const arms = firstArms(seed, pairs);
			return arms.length === pairs && arms.every((arm, index) => index % 2 === 0 || arm !== arms[index - 1]);
		}),
	);
});

test("a seed always gives the same order", () => {
	expect(firstArms("d4e5f6a:resnet50/fp16/batch 8", 8)).toMatchInlineSnapshot(`
		[
		  "base",
		  "head",
		  "base",
		  "head",
		  "head",
		  "base",
		  "base",
		  "head",
		]
	`);
});

test("the coin is fair over seeds and over blocks", () => {
	let heads = 0;
	let changes = 0;
	for (let seed = 0; seed < 2000; seed += 1) {
		const arms = firstArms(`seed ${seed}`, 8);
		const blocks = [0, 2, 4, 6].map((pair) => arms[pair] === "head");
		heads += blocks.filter(Boolean).length;
		changes += blocks.filter((block, index) => index > 0 && block !== blocks[index - 1]).length;
	}
	expect(Math.abs(heads / 8000 - 0.5)).toBeLessThan(0.02);
	expect(Math.abs(changes / 6000 - 0.5)).toBeLessThan(0.02);
});
