// Plays a run whose steps take what a table says, and notes the time left that is shown each second.
import type { BuildWork } from "../../src/core/plan/build-time.ts";
import { type Known, modelKey, stepKey } from "../../src/core/plan/estimate.ts";
import { createForecast } from "../../src/core/plan/forecast.ts";
import { makePlan } from "../../src/core/plan/make-plan.ts";
import { loaded } from "../core/config/load.ts";

/** Seconds: builds of base and head, one verification, one pair, and how many pairs until the verdict. */
export interface TimedModel {
	base: number;
	/** What the base's build does, and what its log tells when: second and share. */
	work?: BuildWork & { progress: readonly (readonly [number, number])[] };
	head: number;
	verify: number;
	pair: number;
	pairs: number;
}

export const ms = 1000;

/** Engines are named `model/precision`; others are fp16, or fp32 where their name ends in 32. */
const idOf = (name: string): string => (name.includes("/") ? name : `${name}/fp16`);
const precisionOf = (name: string): string => (name.includes("/") ? (name.split("/", 2)[1] ?? "") : /32$/.test(name) ? "fp32" : "fp16");
const modelOf = (name: string): string => idOf(name).split("/", 1)[0] ?? "";

function modelEntry(model: string, engines: readonly string[]): string {
	const listed = engines.map((name) => `${idOf(name).split("/", 2)[1]}: { precision: ${precisionOf(name)} }`);
	return `  ${model}: { onnx: ${model}.onnx, engines: { ${listed.join(", ")} } }\n`;
}

export function configOf(models: Readonly<Record<string, TimedModel>>) {
	const names = Object.keys(models);
	const entries = [...new Set(names.map(modelOf))].map((model) =>
		modelEntry(
			model,
			names.filter((name) => modelOf(name) === model),
		),
	);
	return loaded(`version: 1\nbackend: tensorrt\nmodels:\n${entries.join("")}`);
}

const unshared = { isShared: false, sharesTimings: true, sha256: { base: "base", head: "head" } };

/** What a first run knows: what the builds have to do. */
function unbuilt(models: Readonly<Record<string, TimedModel>>): Known {
	const engines = Object.entries(models).map(
		([name, { work }]) => [idOf(name), { ...unshared, ...(work && { work: { base: work, head: work } }) }] as const,
	);
	return { times: {}, engines: new Map(engines) };
}

export function planOf(models: Readonly<Record<string, TimedModel>>, known?: Known) {
	const [names, config] = [Object.keys(models), configOf(models)];
	const cases = new Map(names.map((name) => [idOf(name), ["a", "b"]]));
	return makePlan({ config, arms: ["base", "head"], cases, seed: "", known: known ?? unbuilt(models) });
}

/** What an earlier run kept, each time wrong by a factor of its own. */
export function earlier(models: Readonly<Record<string, TimedModel>>, factor = 1, shared: readonly string[] = []): Known {
	const times = Object.entries(models).flatMap(([name, { base, head, verify, pair }]) => [
		[modelKey(idOf(name), "base"), base * ms * factor],
		[stepKey("build", idOf(name)), head * ms * factor],
		[stepKey("verify", idOf(name)), verify * ms * factor],
		[stepKey("measure", `${idOf(name)}/default`), pair * ms * factor],
	]);
	const engines = Object.keys(models).map((name) => {
		const facts = { ...unshared, isShared: shared.includes(name), sha256: { base: "base", head: shared.includes(name) ? "base" : "head" } };
		return [idOf(name), facts] as const;
	});
	return { times: Object.fromEntries(times), engines: new Map(engines) };
}

export interface Moment {
	atS: number;
	leastS: number;
	mostS: number;
	trueS: number;
	during: string;
}

/** A figure within 30 % of the time left or within 5 s; a range that the time left is in. */
export const holds = ({ leastS, mostS, trueS }: Moment): boolean =>
	leastS < mostS ? trueS >= leastS && trueS <= mostS : Math.abs(mostS - trueS) <= Math.max(0.3 * trueS, 5);

/** Plays the run second by second. */
export function play(models: Readonly<Record<string, TimedModel>>, known?: Known, shared: readonly string[] = []): Moment[] {
	const forecast = createForecast(planOf(models, known), "tensorrt");
	const moments: Omit<Moment, "trueS">[] = [];
	let now = 0;
	const pass = (seconds: number, during: string, told: readonly (readonly [number, number])[] = []): void => {
		for (let second = 0; second < seconds; second += 1) {
			const share = told.findLast(([atS]) => atS <= second && atS > second - 1)?.[1];
			if (share !== undefined) forecast.share({ share }, now);
			const { leastMs, mostMs } = forecast.left(now);
			moments.push({ atS: now / ms, leastS: leastMs / ms, mostS: mostMs / ms, during });
			now += Math.min(1, seconds - second) * ms;
		}
	};
	const all = Object.entries(models);
	const changed = all.filter(([name]) => !shared.includes(name));
	forecast.stage("build", 2 * all.length, now);
	for (const arm of ["base", "head"] as const) {
		for (const [name, model] of all) {
			forecast.item(`${idOf(name)} (${arm})`, now);
			const told = arm === "base" ? model.work?.progress : [];
			pass(shared.includes(name) && arm === "head" ? 0 : model[arm], `build ${name} ${arm}`, told);
		}
	}
	forecast.done(now);
	forecast.stage("verify", all.length, now);
	for (const [name, { verify }] of all) {
		for (const batch of ["cases 1 to 1 of 2", "cases 2 to 2 of 2"]) {
			forecast.item(`${idOf(name)} · ${batch}`, now);
			pass(verify / 2, `verify ${name}`);
		}
	}
	forecast.stage("measure", all.length, now);
	for (const [name, { pair, pairs }] of all) {
		forecast.item(`${idOf(name)}/default`, now);
		for (let done = 0; done < pairs && !shared.includes(name); done += 1) {
			const goal = done < 5 ? 5 : 8;
			forecast.share({ share: done / goal, part: 1 / goal }, now);
			pass(pair, `measure ${name}`);
		}
	}
	forecast.stage("explain", changed.length, now);
	for (const [name] of changed) {
		forecast.item(`layers of ${idOf(name)}/default`, now);
		pass(6, "explain");
	}
	forecast.done(now);
	return moments.map((moment) => ({ ...moment, trueS: now / ms - moment.atS }));
}
