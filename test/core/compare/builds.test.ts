import { expect, it } from "vitest";
import { type Random, seededRandom } from "../../../bench/run-model.ts";
import { buildError, type Pair, undisturbed } from "../../../src/core/compare/pairs.ts";
import { renderVerdict } from "../../../src/core/compare/sentence.ts";
import { judgePairs } from "../../../src/core/compare/verdict.ts";
import recorded from "../../fixtures/rebuilds/medians.json" with { type: "json" };

/** Milliseconds by net, build and run: TensorRT 10.6 on an H200. */
const { "encoder-fp16": encoder, "resnet50-fp16": resnet } = recorded.own;

function recordedPairs(builds: readonly number[][], pairs: number, shift = 0): Pair[] {
	return Array.from({ length: pairs }, (_, pair) => {
		const [base, head] = [pair % builds.length, (pair + shift) % builds.length];
		const run = Math.floor(pair / builds.length);
		return { base: builds[base]?.[run] ?? 0, head: builds[head]?.[run + 7] ?? 0, builds: { base, head } };
	});
}

it.each([
	// By numpy: variance of the builds' mean logarithms, less what the runs within builds explain.
	["the encoder", encoder, 0.00486],
	["ResNet-50", resnet, 0.00442],
])("builds of %s with timing caches of their own differ as numpy finds", (_, builds, sd) => {
	const found = buildError(recordedPairs(builds, 21));
	expect(found?.df).toBe(4);
	expect(found?.spread.count).toBe(3);
	expect(found?.spread.sd).toBeCloseTo(sd, 5);
});

it("a recorded rebuild is slower for sure with one build of each side, and inconclusive with three", () => {
	const [first = [], , third = []] = encoder;
	const alone = first.slice(0, 14).map((base, run) => ({ base, head: third[run] ?? 0 }));
	expect(judgePairs(alone, { minimalEffect: 0.005 }).verdict).toBe("regressed");
	const got = judgePairs(recordedPairs(encoder, 15, 1), { minimalEffect: 0.005 });
	expect(got).toMatchObject({ verdict: "inconclusive", builds: { count: 3 } });
	expect(renderVerdict(got)).toMatch(
		/Builds of the same model differ by ±0\.5 % \(3 builds each of base and head\), so a change of \S+ % may be variation between builds/,
	);
});

it("a change beyond build-to-build variation is found", () => {
	const slower = recordedPairs(encoder, 12).map((pair) => ({ ...pair, head: pair.head * 1.06 }));
	expect(judgePairs(slower, { minimalEffect: 0.02 }).verdict).toBe("regressed");
});

it("a slow build is not a disturbance", () => {
	const pairs = recordedPairs(resnet, 12).map((pair) =>
		pair.builds?.base === 0 ? { ...pair, base: pair.base * 1.1, head: pair.head * 1.1 } : pair,
	);
	expect(undisturbed(pairs)).toHaveLength(12);
	expect(undisturbed(pairs.map(({ base, head }) => ({ base, head })))).toHaveLength(8);
});

function unchangedPairs(random: Random, builds: number, isKnown: boolean): Pair[] {
	const draw = () => Array.from({ length: builds }, () => 0.005 * random.normal());
	const factors = { base: draw(), head: draw() };
	return Array.from({ length: 16 }, (_, pair) => {
		const build = pair % builds;
		const ms = (arm: "base" | "head") => Math.exp((factors[arm][build] ?? 0) + 0.001 * random.normal());
		const known = isKnown ? { builds: { base: build, head: build } } : {};
		return { base: ms("base"), head: ms("head"), ...known };
	});
}

it.each([2, 3, 5])(
	"%i builds of each side keep the false alarms within the job's error, which one build does not",
	(builds) => {
		const random = seededRandom(5);
		const isFalse = (pairs: Pair[]) =>
			["regressed", "improved"].includes(judgePairs(pairs, { minimalEffect: 0.003, looks: [16] }).verdict);
		const share = (make: () => Pair[]) => Array.from({ length: 1000 }, make).filter(isFalse).length / 1000;
		// Three standard errors above 1 %.
		expect(share(() => unchangedPairs(random, builds, true))).toBeLessThanOrEqual(0.02);
		expect(share(() => unchangedPairs(random, 1, false))).toBeGreaterThan(0.5);
	},
);
