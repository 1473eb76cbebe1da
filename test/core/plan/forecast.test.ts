// The time left, on runs whose steps take what a table says.
import { expect, it } from "vitest";
import { type Known, modelKey, stepKey } from "../../../src/core/plan/estimate.ts";
import { createForecast } from "../../../src/core/plan/forecast.ts";
import { makePlan } from "../../../src/core/plan/make-plan.ts";
import { loaded } from "../config/load.ts";

/** Seconds: builds of base and head, one verification, one pair, and how many pairs until the verdict. */
interface Model {
	base: number;
	head: number;
	verify: number;
	pair: number;
	pairs: number;
}

const ms = 1000;
const entry = (name: string) =>
	`  ${name}: { onnx: ${name}.onnx, engines: { fp16: { precision: ${/32$/.test(name) ? "fp32" : "fp16"} } } }\n`;

function planOf(models: Readonly<Record<string, Model>>, known?: Known) {
	const names = Object.keys(models);
	const config = loaded(`version: 1\nbackend: tensorrt\nmodels:\n${names.map(entry).join("")}`);
	const cases = new Map(names.map((name) => [`${name}/fp16`, ["a", "b"]]));
	return makePlan({ config, arms: ["base", "head"], cases, seed: "", ...(known === undefined ? {} : { known }) });
}

/** What an earlier run kept, each time wrong by a factor of its own. */
function earlier(models: Readonly<Record<string, Model>>, factor = 1, shared: readonly string[] = []): Known {
	const times = Object.entries(models).flatMap(([name, { base, head, verify, pair }]) => [
		[modelKey(`${name}/fp16`, "base"), base * ms * factor],
		[stepKey("build", `${name}/fp16`), head * ms * factor],
		[stepKey("verify", `${name}/fp16`), verify * ms * factor],
		[stepKey("measure", `${name}/fp16/default`), pair * ms * factor],
	]);
	const engines = Object.keys(models).map((name) => {
		const facts = { isShared: shared.includes(name), sha256: { base: "base", head: shared.includes(name) ? "base" : "head" } };
		return [`${name}/fp16`, facts] as const;
	});
	return { times: Object.fromEntries(times), engines: new Map(engines) };
}

interface Moment {
	atS: number;
	saysS: number;
	trueS: number;
	during: string;
}

/** Plays the run second by second. */
function play(models: Readonly<Record<string, Model>>, known?: Known, shared: readonly string[] = []): Moment[] {
	const forecast = createForecast(planOf(models, known), "tensorrt");
	const moments: Omit<Moment, "trueS">[] = [];
	let now = 0;
	const pass = (seconds: number, during: string): void => {
		for (let second = 0; second < seconds; second += 1) {
			moments.push({ atS: now / ms, saysS: forecast.leftMs(now) / ms, during });
			now += Math.min(1, seconds - second) * ms;
		}
	};
	const all = Object.entries(models);
	const changed = all.filter(([name]) => !shared.includes(name));
	forecast.stage("build", 2 * all.length, now);
	for (const [name, model] of all) {
		for (const arm of ["base", "head"] as const) {
			forecast.item(`${name}/fp16 (${arm})`, now);
			pass(shared.includes(name) && arm === "head" ? 0 : model[arm], `build ${name} ${arm}`);
		}
	}
	forecast.done(now);
	forecast.stage("verify", all.length, now);
	for (const [name, { verify }] of all) {
		for (const batch of ["cases 1 to 1 of 2", "cases 2 to 2 of 2"]) {
			forecast.item(`${name}/fp16 · ${batch}`, now);
			pass(verify / 2, `verify ${name}`);
		}
	}
	forecast.stage("measure", all.length, now);
	for (const [name, { pair, pairs }] of all) {
		forecast.item(`${name}/fp16/default`, now);
		for (let done = 0; done < pairs && !shared.includes(name); done += 1) {
			const goal = done < 5 ? 5 : 8;
			forecast.share({ share: done / goal, part: 1 / goal }, now);
			pass(pair, `measure ${name}`);
		}
	}
	forecast.stage("explain", changed.length, now);
	for (const [name] of changed) {
		forecast.item(`layers of ${name}/fp16/default`, now);
		pass(6, "explain");
	}
	forecast.done(now);
	expect(forecast.leftMs(now)).toBe(0);
	return moments.map((moment) => ({ ...moment, trueS: now / ms - moment.atS }));
}

/** Off by more than 30 % of the time left, by more than a tenth of the time passed, and by more than a few seconds. */
const isWrong = ({ atS, saysS, trueS }: Moment): boolean => Math.abs(saysS - trueS) > Math.max(0.3 * trueS, 0.1 * atS, 5);

const three: Record<string, Model> = {
	encoder: { base: 47, head: 6, verify: 4, pair: 2.4, pairs: 5 },
	classifier: { base: 29, head: 9, verify: 4, pair: 2.2, pairs: 5 },
	segmenter: { base: 10, head: 5, verify: 6, pair: 2.4, pairs: 8 },
};

it.each([0.8, 1, 1.25])("the time left holds from the first second where earlier runs took %d times as long", (factor) => {
	expect(play(three, earlier(three, factor)).filter(isWrong)).toEqual([]);
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
	expect(moments[0]!.saysS / moments[0]!.trueS).toBeGreaterThan(1.3);
	const afterPairs = moments.findIndex(({ during }) => during === "measure a") + 6;
	expect(moments.slice(afterPairs).filter(isWrong)).toEqual([]);
});

it("the time left of a first run holds after the first engine, whose precision builds faster than the next one's", () => {
	// Recorded on an H200, each built for fp32 and fp16.
	const seconds = { detector32: 53, detector16: 109, segmenter32: 53, segmenter16: 107 };
	const models = Object.fromEntries(
		Object.entries(seconds).map(([name, base]) => [name, { base, head: base / 5, verify: 4, pair: 2.4, pairs: 5 }]),
	);
	const builds = play(models).filter(({ atS, during }) => atS > 53 && during.startsWith("build"));
	expect(builds.filter(({ saysS, trueS }) => Math.abs(saysS / trueS - 1) > 0.2)).toEqual([]);
});

it("the time left never says that an item which outlasts its estimate is over", () => {
	const late = { net: { base: 300, head: 5, verify: 2, pair: 2, pairs: 5 } };
	const known = earlier({ net: { ...late.net, base: 30 } });
	for (const { atS, saysS } of play(late, known).slice(30, 300)) expect(saysS).toBeGreaterThan(0.05 * atS);
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
	expect(forecast.leftMs((pair * 2 + sinceS) * ms) / ms).toBeCloseTo(leftS);
});

it("the time left includes the load that each engine is kept under", () => {
	const forecast = createForecast(planOf(three), "tensorrt", 60 * ms);
	expect(forecast.leftMs(0) - createForecast(planOf(three), "tensorrt").leftMs(0)).toBe(3 * 60 * ms);
	forecast.stage("soak", 3, 0);
	forecast.item("encoder/fp16/default", 0);
	const before = forecast.leftMs(0);
	forecast.item("classifier/fp16/default", 60 * ms);
	expect(before - forecast.leftMs(60 * ms)).toBe(60 * ms);
});
