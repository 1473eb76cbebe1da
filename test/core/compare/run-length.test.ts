import { expect, it } from "vitest";
import { chooseRunLength, pacedLength } from "../../../src/core/compare/sweep.ts";
import { splitMix64 } from "../../../src/golden/core/record/generators/encode.ts";

interface Pilot {
	medianMs: number;
	/** Noise of one iteration, as a share. */
	noise?: number;
	/** Noise of the mean of 100 ms, as a share. */
	swing?: number;
	cold?: { share: number; untilMs: number };
}

function pilotOf({ medianMs, noise = 0.003, swing = 0, cold = { share: 0, untilMs: 0 } }: Pilot) {
	const random = splitMix64(7, [medianMs * 1e6]);
	const samples: number[] = [];
	let [at, window, offset] = [0, -1, 0];
	while (at < 1000) {
		if (Math.floor(at / 100) !== window) {
			window = Math.floor(at / 100);
			offset = swing * random.normal();
		}
		const sample = medianMs * (1 + noise * random.normal() + offset + (at < cold.untilMs ? cold.share : 0));
		samples.push(sample);
		at += sample;
	}
	return Float64Array.from(samples);
}

const limits = { warmUpMs: 2000, durationMs: 3000, minimalEffect: 0.02, streams: 1 };
const chosen = (...pilots: Pilot[]) => chooseRunLength(pilots.map(pilotOf), limits);

it.each<[string, Pilot, number]>([
	["a steady net of 1 ms runs 0.5 s after 0.3 s", { medianMs: 1 }, 500],
	["a net of 20 µs writes at most 20,000 iterations", { medianMs: 0.02 }, 400],
	["a net of 5 ms runs 300 times, for the sake of P99", { medianMs: 5, noise: 0.0001 }, 1500],
	["a net of 40 ms stays within the longest run", { medianMs: 40, noise: 0.0001 }, 3000],
])("chooseRunLength %s", (_, pilot, expected) => {
	const { warmUpMs, durationMs } = chosen(pilot);
	expect(warmUpMs).toBe(300);
	expect(durationMs / expected).toBeGreaterThan(0.95);
	expect(durationMs / expected).toBeLessThan(1.05);
});

it("chooseRunLength warms up half as long again as the pilot was slower, or for the longest time", () => {
	const warmUp = (untilMs: number) => chosen({ medianMs: 1, cold: { share: 0.03, untilMs } }).warmUpMs;
	expect([warmUp(300), warmUp(950)]).toEqual([450, 2000]);
});

it("chooseRunLength lengthens runs whose median swings, up to the longest", () => {
	const some = chosen({ medianMs: 1, swing: 0.006 }).durationMs;
	expect(some).toBeGreaterThan(500);
	expect(chosen({ medianMs: 1, swing: 0.05 }).durationMs).toBe(3000);
	expect(some).toBeLessThan(3000);
});

it("chooseRunLength keeps the config's limits if a pilot has no iterations", () => {
	expect(chooseRunLength([new Float64Array()], limits)).toEqual({ warmUpMs: 2000, durationMs: 3000 });
});

it.each([
	["every 10 ms the usual time is enough", 10, 600, 3000],
	["every 100 ms a run has a hundred inferences", 100, 600, 10_000],
	["every 10 s a run stays within half of its limit", 10_000, 600, 300_000],
])("pacedLength: %s", (_, everyMs, timeoutS, durationMs) => {
	const length = pacedLength(everyMs, { warmUpMs: 2000, durationMs: 3000, timeoutMs: 1000 * timeoutS });
	expect(length).toEqual({ warmUpMs: 2000, durationMs });
});
