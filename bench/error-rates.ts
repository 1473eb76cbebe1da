// Simulates whole jobs and prints how often their verdicts are right and wrong, each figure next to its limit; fails if one is exceeded.
// It is compared with an independent simulation of the same model and rules: error-rates.py wrote error-rates.json.
// node bench/error-rates.ts [part of the replicates, 1 by default]
import { readFileSync } from "node:fs";
import { type Rates, realisedRates, strong, type Truth, usual } from "./run-model.ts";

const minimalEffect = 0.02;
const part = Number(process.argv[2] ?? 1);
if (!(part > 0 && part <= 10)) throw new Error("Usage: node bench/error-rates.ts [part of the replicates]");
const replicatesOf = (count: number) => Math.ceil(count * part);

interface Independent {
	runCv: number;
	effect: number;
	disturbance: "usual" | "strong";
	regressed: number;
	unchanged: number;
	inconclusive: number;
	meanPairs: number;
}
const independent = JSON.parse(
	readFileSync(new URL("error-rates.json", import.meta.url), "utf8"),
) as Independent[];

const percent = (share: number) => (share * 100).toFixed(2);
const row = (...cells: readonly string[]) => console.log(`| ${cells.join(" | ")} |`);

/** Prints a table of every cell that the independent simulation has. */
function printVerdicts(): Map<string, Rates> {
	console.log(
		"One workload: verdicts on latency at a minimal effect of 2 %, % regressed/unchanged/inconclusive (mean pairs)\n",
	);
	row("disturbed runs", "run CV", "true change", "trtgate", "independent");
	row("---", "---", "---", "---", "---");
	const found = new Map<string, Rates>();
	for (const [index, other] of independent.entries()) {
		const { runCv, effect, disturbance } = other;
		const truth: Truth = { runCv, effect, disturbance: disturbance === "strong" ? strong : usual };
		const rates = realisedRates(truth, {
			minimalEffect,
			replicates: replicatesOf(effect === 0 ? 20_000 : 4000),
			seed: 1000 + index,
		});
		found.set(`${disturbance} ${runCv} ${effect}`, rates);
		const cell = ({ regressed, unchanged, inconclusive }: Rates["shares"] | Independent, pairs: number) =>
			`${percent(regressed)}/${percent(unchanged)}/${percent(inconclusive)} (${pairs.toFixed(2)})`;
		const kind = disturbance === "strong" ? "5 % × 1.3" : "2 % by 2 to 10 %";
		const shown = [cell(rates.shares, rates.meanPairs), cell(other, other.meanPairs)];
		row(kind, `${runCv * 100} %`, `+${effect * 100} %`, ...shown);
	}
	return found;
}

interface Bar {
	what: string;
	got: number;
	least?: number;
	most?: number;
}

/** Verdicts of whole jobs without a change: latency and P99 of all their workloads share one error. */
function jobBars(what: string, { slowerJobs, changedJobs }: Rates): Bar[] {
	return [
		{ what: `${what}: jobs with a false slower, %`, got: 100 * slowerJobs, most: 0.5 },
		{ what: `${what}: jobs with a false slower or faster, %`, got: 100 * changedJobs, most: 1 },
	];
}

function barsOf(found: ReadonlyMap<string, Rates>): Bar[] {
	const at = (key: string) => {
		const rates = found.get(key);
		if (rates === undefined) throw new Error(`error-rates.json has no cell ${key}.`);
		return rates;
	};
	const alone = [...found].filter(([key]) => key.endsWith(" 0"));
	const power = (key: string, least: number): Bar => ({
		what: `${key}: found, %`,
		got: 100 * at(key).shares.regressed,
		least,
	});
	const ofTen = [0.01, 0.03].map((runCv, index) => {
		const rates = realisedRates(
			{ runCv, effect: 0 },
			{ minimalEffect, family: 10, replicates: replicatesOf(3000), seed: 77 + index },
		);
		return jobBars(`10 workloads, usual ${runCv} 0`, rates);
	});
	return [
		...alone.flatMap(([key, rates]) => jobBars(key, rates)),
		...ofTen.flat(),
		power("strong 0.01 0.03", 95),
		power("strong 0.002 0.03", 95),
		...[0.002, 0.005, 0.01].map((runCv) => power(`usual ${runCv} 0.03`, 98)),
		...[0.002, 0.005, 0.01, 0.02].map((runCv) => power(`usual ${runCv} 0.05`, 98)),
		...[0.002, 0.005, 0.01, 0.02, 0.03].map((runCv): Bar => {
			const key = `usual ${runCv} 0.02`;
			return { what: `${key}: called unchanged, %`, got: 100 * at(key).shares.unchanged, most: 1 };
		}),
		// A trimmed mean, which cannot cut at the first look, took 5.7 and 8.0 pairs; half a pair more is the most that robustness may cost.
		{ what: "usual 0.002 0: mean pairs", got: at("usual 0.002 0").meanPairs, most: 6.2 },
		{ what: "usual 0.005 0: mean pairs", got: at("usual 0.005 0").meanPairs, most: 8.5 },
	];
}

const bars = barsOf(printVerdicts());
console.log("\nLimits (disturbance, run CV, true change)\n");
row("figure", "got", "limit", "");
row("---", "---", "---", "---");
for (const { what, got, least, most } of bars) {
	const holds = got >= (least ?? Number.NEGATIVE_INFINITY) && got <= (most ?? Number.POSITIVE_INFINITY);
	row(what, got.toFixed(2), least === undefined ? `≤ ${most}` : `≥ ${least}`, holds ? "ok" : "MISSED");
	if (!holds) process.exitCode = 1;
}
