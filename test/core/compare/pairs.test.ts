import fc from "fast-check";
import { expect, test } from "vitest";
import {
	defaultAlpha,
	defaultLooks,
	errorShare,
	firstArms,
	nominalP,
} from "../../../src/core/compare/pairs.ts";

test("each look spends in proportion to the pairs that it adds", () => {
	expect(defaultLooks.map((look) => nominalP(defaultLooks, look, 0.16))).toEqual([0.05, 0.03, 0.04, 0.04]);
});

test("between looks the last look's p holds, before the first there is none", () => {
	const at = (pairs: number) => nominalP(defaultLooks, pairs, defaultAlpha);
	expect([at(0), at(4)]).toEqual([null, null]);
	expect([at(7), at(11), at(15), at(40)]).toEqual([at(5), at(8), at(12), at(16)]);
});

test("all looks at latency and P99 of all workloads together spend alpha", () => {
	const looks = fc.uniqueArray(fc.integer({ min: 2, max: 200 }), { minLength: 1, maxLength: 8 });
	const alphas = fc.double({ min: 1e-4, max: 0.2, noNaN: true });
	fc.assert(
		fc.property(looks, alphas, fc.integer({ min: 1, max: 500 }), (list, alpha, family) => {
			const shares = [errorShare("latency", family), errorShare("p99", family)];
			const ps = shares.flatMap((share) =>
				list.map((look) => nominalP(list, look, alpha * share) ?? Number.NaN),
			);
			const sum = ps.reduce((total, p) => total + p, 0);
			return ps.every((p) => p > 0) && Math.abs(sum * family - alpha) < 1e-12;
		}),
	);
});

test("each two pairs have both orders, so the sides alternate ABBA or BAAB", () => {
	fc.assert(
		fc.property(fc.string(), fc.integer({ min: 0, max: 64 }), (seed, pairs) => {
			const arms = firstArms(seed, pairs);
			return arms.length === pairs && arms.every((arm, index) => index % 2 === 0 || arm !== arms[index - 1]);
		}),
	);
});

test("a seed always gives the same order", () => {
	const arms = firstArms("d4e5f6a:resnet50/fp16/batch 8", 8).map(([letter]) => letter);
	expect(arms.join("")).toBe("bhbhhbbh");
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
