import { expect, it } from "vitest";
import type { PerfRun, WorkloadResult } from "../../../generated/result.ts";
import { judgePairs } from "../../../src/core/compare/verdict.ts";
import { noiseFindings } from "../../../src/core/telemetry/noise.ts";
import recorded from "../../fixtures/rebuilds/medians.json" with { type: "json" };

type Change = (run: PerfRun, index: number) => Partial<PerfRun>;

const steady: Change = () => ({});

/** One engine against itself, as the runs of an H200 were, with more noise. */
function rowOf(
	ratios: readonly number[],
	change: Change = steady,
	more: Partial<WorkloadResult> = {},
): WorkloadResult {
	const pairs = ratios.map((ratio) => ({ base: 1, head: ratio }));
	const latency = judgePairs(pairs, { minimalEffect: 0.02 });
	const runs = pairs.flatMap((pair, at) =>
		(["base", "head"] as const).map((arm, place): PerfRun => {
			const order = 2 * at + place;
			const run: PerfRun = { arm, pair: at, order, state: "ok", wallMs: 5000, medianMs: pair[arm] };
			return { ...run, gpu: windowAt(1980, []), ...change(run, order) };
		}),
	);
	return { latency, runs, noise: { runCv: null, detectable: null }, replaced: 0, ...more } as WorkloadResult;
}

function windowAt(
	clock: number,
	throttleReasons: string[],
	powerCapShare?: number,
): NonNullable<PerfRun["gpu"]> {
	const smClockMhz = { min: clock, mean: clock, max: clock };
	return {
		...{ samples: 20, smClockMhz, memoryClockMhz: null, powerW: null, temperatureC: null },
		...{ memoryUsedBytes: null, throttleReasons, ...(powerCapShare === undefined ? {} : { powerCapShare }) },
	} as NonNullable<PerfRun["gpu"]>;
}

const quiet = [1.001, 0.999, 1.0005, 0.9992, 1.0003];
const loud = [1.05, 0.94, 1.08, 0.97, 1.02];

const statuses = (row: WorkloadResult) =>
	noiseFindings(row).map(({ name, ok, status }) => `${ok ? "ok" : "no"} ${name}: ${status}`);

it("noiseFindings gives half the interval as what the runner resolves", () => {
	const row = rowOf(quiet);
	const [low, high] = row.latency.interval ?? [0, 0];
	const half = ((100 * (high - low)) / 2).toFixed(1);
	expect(statuses(row)).toEqual([
		expect.stringContaining(`ok noise: this runner resolves ± ${half} % in 5 pairs`),
		"ok clocks: 1980 MHz in all runs",
		"ok telemetry: clocks, power and processes were seen beside 10 of 10 runs",
	]);
});

it("noiseFindings says where the usual limit stays undecided, and where the engine differs from itself", () => {
	const [noisy] = noiseFindings(rowOf(loud));
	expect(noisy).toMatchObject({ ok: false, fix: expect.stringContaining("A limit of 2 %") });
	const [drift] = noiseFindings(rowOf(quiet.map((ratio) => ratio * 1.03)));
	expect(drift).toMatchObject({ ok: false, fix: expect.stringContaining("differs from itself") });
});

it.each([
	[
		"another clock",
		({ arm }: PerfRun) => ({ gpu: windowAt(arm === "base" ? 1980 : 1900, []) }),
		/^no clocks: 1900 to 1980 MHz/,
	],
	["heat", () => ({ gpu: windowAt(1980, ["sw-thermal"]) }), /^no throttling: .*sw-thermal$/],
	[
		"the power limit",
		() => ({ gpu: windowAt(1980, ["sw-power-cap"], 0.8) }),
		/^no throttling: .*sw-power-cap, the power limit for 80 %/,
	],
	["launches", () => ({ enqueueBound: true }), /^no launches: /],
	[
		"a neighbour",
		(run: PerfRun) =>
			run.order === 3
				? { state: "unusable" as const, reason: "another process used the GPU: python (process 7)" }
				: {},
		/^no disturbed runs: 1 run of 10 repeated: another process used the GPU: python/,
	],
	["no telemetry", () => ({ gpu: undefined as never }), /^no telemetry: .* 0 of 10/],
])("noiseFindings names %s, with a remedy", (_, change, says) => {
	const row = rowOf(quiet, change as Change);
	expect(statuses(row)).toContainEqual(expect.stringMatching(says));
	for (const finding of noiseFindings(row)) if (!finding.ok) expect(finding.fix, finding.name).toMatch(/\S/);
});

it("noiseFindings keeps a brief power limit to itself, and says only why where nothing was measured", () => {
	expect(statuses(rowOf(quiet, () => ({ gpu: windowAt(1980, ["sw-power-cap"], 0.02) })))).toHaveLength(3);
	const none = rowOf([]);
	expect(noiseFindings(none)).toEqual([
		{ name: "noise", ok: false, status: "not measured: There is no pair of runs to compare." },
	]);
});

it.each(Object.entries(recorded.own))(
	"noiseFindings resolves what recorded runs of one %s allow: little more than one percent",
	(_, builds) => {
		for (const times of builds) {
			const ratios = [0, 1, 2, 3, 4].map((at) => (times[2 * at + 1] ?? NaN) / (times[2 * at] ?? NaN));
			const [low, high] = rowOf(ratios).latency.interval ?? [NaN, NaN];
			expect((high - low) / 2).toBeLessThan(0.012);
			expect(noiseFindings(rowOf(ratios))[0]).toMatchObject({ ok: true });
		}
	},
);
