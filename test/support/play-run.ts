// Plays a run whose steps take what a table says, and notes the time left that is shown each second.
import { type Known, modelKey, stepKey } from "../../src/core/plan/estimate.ts";
import { createForecast } from "../../src/core/plan/forecast.ts";
import { makePlan } from "../../src/core/plan/make-plan.ts";
import { loaded } from "../core/config/load.ts";

/** Seconds: builds of base and head, one verification, one pair, and how many pairs until the verdict. */
export interface TimedModel {
	base: number;
	head: number;
	verify: number;
	pair: number;
	pairs: number;
}

export const ms = 1000;
const entry = (name: string) =>
	`  ${name}: { onnx: ${name}.onnx, engines: { fp16: { precision: ${/32$/.test(name) ? "fp32" : "fp16"} } } }\n`;

export function configOf(models: Readonly<Record<string, TimedModel>>) {
	return loaded(`version: 1\nbackend: tensorrt\nmodels:\n${Object.keys(models).map(entry).join("")}`);
}

export function planOf(models: Readonly<Record<string, TimedModel>>, known?: Known) {
	const [names, config] = [Object.keys(models), configOf(models)];
	const cases = new Map(names.map((name) => [`${name}/fp16`, ["a", "b"]]));
	return makePlan({ config, arms: ["base", "head"], cases, seed: "", ...(known === undefined ? {} : { known }) });
}

/** What an earlier run kept, each time wrong by a factor of its own. */
export function earlier(models: Readonly<Record<string, TimedModel>>, factor = 1, shared: readonly string[] = []): Known {
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
	const pass = (seconds: number, during: string): void => {
		for (let second = 0; second < seconds; second += 1) {
			const { leastMs, mostMs } = forecast.left(now);
			moments.push({ atS: now / ms, leastS: leastMs / ms, mostS: mostMs / ms, during });
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
	return moments.map((moment) => ({ ...moment, trueS: now / ms - moment.atS }));
}
