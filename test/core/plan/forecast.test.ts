// The time left, on runs whose steps take what a table says.
import { expect, it } from "vitest";
import { createForecast } from "../../../src/core/plan/forecast.ts";
import { estimateSteps } from "../../../src/core/plan/make-plan.ts";
import { configOf, earlier, holds, type Moment, ms, planOf, play, type TimedModel } from "../../support/play-run.ts";

/** Off by more than 30 % of the time left, by more than a tenth of the time passed, and by more than a few seconds. */
const isWrong = (moment: Moment): boolean => !holds(moment) && Math.abs(moment.mostS - moment.trueS) > 0.1 * moment.atS;

const three: Record<string, TimedModel> = {
	encoder: { base: 47, head: 6, verify: 4, pair: 2.4, pairs: 5 },
	classifier: { base: 29, head: 9, verify: 4, pair: 2.2, pairs: 5 },
	segmenter: { base: 10, head: 5, verify: 6, pair: 2.4, pairs: 8 },
};

it.each([0.8, 1, 1.25])("the time left holds from the first second where earlier runs took %d times as long", (factor) => {
	const moments = play(three, earlier(three, factor));
	expect(moments.filter(isWrong)).toEqual([]);
	expect(moments.filter(({ leastS, mostS }) => leastS < mostS)).toEqual([]);
});

it("the time left holds after the first model on a machine that is half as fast as it was", () => {
	const first = 47 + 6;
	expect(play(three, earlier(three, 0.5)).filter((moment) => moment.atS > first && isWrong(moment))).toEqual([]);
});

it("the time left holds while one build runs for seven minutes that did so before", () => {
	const long = { detector: { base: 440, head: 20, verify: 4, pair: 2.6, pairs: 5 } };
	const during = play(long, earlier(long, 1.05)).filter(({ during }) => during === "build detector base");
	expect(during).toHaveLength(440);
	expect(during.filter(isWrong)).toEqual([]);
});

it("the time left counts neither builds nor timing of models that the change does not touch", () => {
	const shared = ["encoder", "classifier"];
	expect(play(three, earlier(three, 1, shared), shared).filter(isWrong)).toEqual([]);
});

it("the time left learns from the first model and its pairs where nothing is known", () => {
	const alike = Object.fromEntries(["a", "b", "c", "d"].map((name) => [name, { base: 20, head: 4, verify: 5, pair: 6, pairs: 5 }]));
	const moments = play(alike);
	expect(moments[0]!.mostS / moments[0]!.leastS).toBeGreaterThan(2);
	const afterPairs = moments.findIndex(({ during }) => during === "measure a") + 6;
	expect(moments.slice(afterPairs).filter(isWrong)).toEqual([]);
});

it("a model that builds slowly for one precision is expected to do so for another, more than other models", () => {
	const model = { base: 60, head: 7, verify: 4, pair: 2.4, pairs: 5 };
	const leftAfterFirst = (others: readonly string[]): number => {
		const forecast = createForecast(planOf(Object.fromEntries(["a/fp32", ...others].map((name) => [name, model]))), "tensorrt");
		forecast.stage("build", 4, 0);
		forecast.item("a/fp32 (base)", 0);
		forecast.item(`${others[0]} (base)`, 60 * ms);
		return forecast.left(60 * ms).mostMs;
	};
	expect(leftAfterFirst(["a/fp16"])).toBeGreaterThan(leftAfterFirst(["b/fp16"]) + 10 * ms);
});

const unlike: Record<string, TimedModel> = {
	"plain/fp32": { base: 11, head: 6, verify: 4, pair: 2.4, pairs: 5, work: { convolutions: 20, groupedConvolutions: 0, progress: [] } },
	"depthwise/fp32": {
		base: 133,
		head: 9,
		verify: 4,
		pair: 2.4,
		pairs: 5,
		work: { convolutions: 50, groupedConvolutions: 14, progress: [] },
	},
};

it("the time left of a first run knows from the graphs which build takes long", () => {
	const first = play(unlike)[0]!;
	expect(first.leastS).toBeLessThan(first.trueS);
	expect(first.mostS).toBeGreaterThan(first.trueS);
	const blind = play(Object.fromEntries(Object.entries(unlike).map(([name, { work: _, ...model }]) => [name, model])))[0]!;
	expect(blind.mostS).toBeLessThan(blind.trueS);
});

it("the time left during a build narrows with what its log tells", () => {
	const { work, ...depthwise } = unlike["depthwise/fp32"]!;
	const progress = Array.from({ length: 60 }, (_, at): [number, number] => [6 + 2 * at, at / 60]);
	const halfWay = (log: typeof progress): Moment => play({ "net/fp32": { ...depthwise, work: { ...work!, progress: log } } })[66]!;
	const [silent, told] = [halfWay([]), halfWay(progress)];
	expect(holds(told)).toBe(true);
	expect(told.mostS - told.leastS).toBeLessThan(silent.mostS - silent.leastS);
});

it("the time left stays a few times what has passed where a build outlasts its estimate in silence", () => {
	const depthwise = unlike["depthwise/fp32"]!;
	for (const { atS, mostS, during } of play({ "net/fp32": { ...depthwise, base: 600 } })) {
		if (during === "build net/fp32 base") expect(mostS).toBeLessThan(300 + 3 * atS);
	}
});

it("a build that was over at once says nothing of the builds after it", () => {
	const leftAfter = (tookMs: number): number => {
		const forecast = createForecast(planOf(unlike), "tensorrt");
		forecast.stage("build", 4, 0);
		forecast.item("plain/fp32 (base)", 0);
		forecast.item("depthwise/fp32 (base)", tookMs);
		return forecast.left(tookMs).mostMs;
	};
	expect(leftAfter(1)).toBeGreaterThan(0.5 * leftAfter(11 * ms));
});

it("the time left is a number where an engine is built that was to be shared", () => {
	const forecast = createForecast(planOf(three, earlier(three, 1, ["encoder"])), "tensorrt");
	forecast.stage("build", 6, 0);
	forecast.item("encoder/fp16 (head)", 0);
	for (const share of [0, 0.5, 1]) {
		forecast.share({ share }, 5 * ms);
		expect(forecast.left(6 * ms).mostMs).toBeGreaterThan(0);
	}
});

it("the time left never says that an item which outlasts its estimate is over", () => {
	const late = { net: { base: 300, head: 5, verify: 2, pair: 2, pairs: 5 } };
	const known = earlier({ net: { ...late.net, base: 30 } });
	for (const { atS, leastS } of play(late, known).slice(30, 300)) expect(leastS).toBeGreaterThan(0.05 * atS);
});

it.each<[string, number, number, number]>([
	// Pairs are expected to take 2 s, five of them, in two workloads.
	["as expected at its start", 0, 0, 20],
	["as expected within its time", 0, 1, 19],
	["of five pairs as slow as the first one is already", 0, 200, 5 * 210 - 200 + 5 * 210],
	["of pairs as slow as the third one is already", 2, 100, 3 * 105 - 100 + 4 + 3 * 105],
	["at the pace of the pairs before it", 2, 1, 5 + 10],
])("the time left during a pair is that %s", (_, pair, sinceS, leftS) => {
	const forecast = createForecast(
		planOf({ a: three.encoder!, b: three.encoder! }, earlier({ a: { ...three.encoder!, pair: 2 }, b: { ...three.encoder!, pair: 2 } })),
		"tensorrt",
	);
	forecast.stage("explain", 0, 0);
	forecast.stage("measure", 2, 0);
	forecast.item("a/fp16/default", 0);
	for (let done = 0; done <= pair; done += 1) forecast.share({ share: done / 5, part: 1 / 5 }, done * 2 * ms);
	expect(forecast.left((pair * 2 + sinceS) * ms).mostMs / ms).toBeCloseTo(leftS);
});

it("the time left includes the load that each engine is kept under", () => {
	const leftMs = (soakS: number): number => createForecast(planOf(three, earlier(three)), "tensorrt", soakS * ms).left(0).mostMs;
	expect(leftMs(60) - leftMs(0)).toBe(3 * 60 * ms);
});

it("the time left of a first run is a range that narrows to a figure once the builds are over", () => {
	const mixed: Record<string, TimedModel> = {
		small: { base: 7, head: 5, verify: 4, pair: 2.4, pairs: 5 },
		dynamic: { base: 439, head: 9, verify: 4, pair: 2.4, pairs: 5 },
		recogniser: { base: 40, head: 6, verify: 4, pair: 2.4, pairs: 5 },
	};
	const moments = play(mixed);
	const during = (step: string) => moments.filter((moment) => moment.during === step);
	expect(during("build dynamic base").filter(({ leastS, mostS }) => mostS > 1.3 * leastS).length / 439).toBeGreaterThan(0.9);
	expect(during("build dynamic base").filter(holds).length / 439).toBeGreaterThan(0.4);
	for (const { leastS, mostS } of during("measure recogniser")) expect(mostS).toBe(leastS);
	expect(during("measure recogniser").filter(isWrong)).toEqual([]);
});

it("the time left is a figure once earlier runs tell what a plan's builds take, and of engines that both revisions share", () => {
	const { arms, steps } = planOf(three);
	const config = configOf(three);
	const known = earlier(three, 1, ["encoder"]);
	const forecast = createForecast(estimateSteps(steps, { config, arms, known }), "tensorrt");
	expect(forecast.left(0).leastMs).toBe(createForecast(planOf(three, known), "tensorrt").left(0).mostMs);
});
