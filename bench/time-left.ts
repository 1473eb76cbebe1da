// How well the time left holds: first runs of public models whose cold builds took what was recorded on H200s with TensorRT 10.6, in random
// orders, and second runs, which know what each step took. Each second after the first engine's build counts. build-times.tsv: builds that
// were not alone on their GPU ran with up to three others; what they took after the start is divided by 2.1, which is what that cost
// eight of them that ran alone too. node bench/time-left.ts
import { readFileSync } from "node:fs";
import { median } from "../src/core/stats/quantile.ts";
import { earlier, holds, type Moment, play, type TimedModel } from "../test/support/play-run.ts";
import { seededRandom } from "./run-model.ts";

const builds = readFileSync(new URL("build-times.tsv", import.meta.url), "utf8")
	.trim()
	.split("\n")
	.slice(1)
	.map((line) => {
		const [model = "", precision = "", convolutions, grouped, , seconds, told = ""] = line.split("\t");
		const progress = told.split(" ").flatMap((moment): [number, number][] => {
			const [second, share] = moment.split(":").map(Number);
			return second === undefined || share === undefined ? [] : [[second, share]];
		});
		const work = { convolutions: Number(convolutions), groupedConvolutions: Number(grouped), progress };
		return { model, precision, seconds: Number(seconds), work };
	});
const recorded = [...new Set(builds.map(({ model }) => model))];
/** Of heads, with the base's kernel timings. */
const secondBuilds = [4.9, 9.2, 5.8];
const trials = 100;
/** Shares of the moments. */
const limits = { first: 0.8, second: 0.95 };

const random = seededRandom(7);
const shuffled = <Item>(items: readonly Item[]): Item[] =>
	items
		.map((item) => ({ item, key: random.uniform() }))
		.sort((a, b) => a.key - b.key)
		.map(({ item }) => item);

function draw(count: number): Record<string, TimedModel> {
	const some = shuffled(recorded).slice(0, count);
	const engines = some.flatMap((model) => builds.filter((build) => build.model === model));
	return Object.fromEntries(
		engines.map(({ model, precision, seconds, work }, at) => [
			`${model}/${precision}`,
			{ base: seconds, head: secondBuilds[at % 3] ?? 6, work, verify: 4, pair: 2.4, pairs: at % 4 === 3 ? 8 : 5 },
		]),
	);
}

function afterFirst(models: Record<string, TimedModel>, moments: readonly Moment[]): Moment[] {
	const [first] = Object.values(models);
	return moments.filter(({ atS }) => atS >= (first?.base ?? 0));
}

const row = (...cells: readonly string[]) => console.log(`| ${cells.join(" | ")} |`);
row(
	"run",
	"models",
	"holds",
	"as one figure",
	"right of those",
	"as a range",
	"right of those",
	"median of most ÷ least",
	"longer than shown",
);
row(...Array.from({ length: 9 }, () => "---"));
for (const kind of ["first", "second"] as const) {
	for (const count of [2, 4, 8, 16]) {
		const moments = Array.from({ length: trials }, () => {
			const models = draw(count);
			return afterFirst(models, play(models, kind === "first" ? undefined : earlier(models, 0.9 + 0.2 * random.uniform())));
		}).flat();
		const [ranges, figures] = [true, false].map((isRange) => moments.filter(({ leastS, mostS }) => mostS > leastS === isRange));
		const share = (some: readonly Moment[] = [], of: readonly Moment[] = []) =>
			of.length === 0 ? "–" : `${((100 * some.length) / of.length).toFixed(0)} %`;
		const right = (some: readonly Moment[] = []) => share(some.filter(holds), some);
		const held = moments.filter(holds).length / moments.length;
		if (held < limits[kind]) process.exitCode = 1;
		row(
			kind,
			String(count),
			`${right(moments)}${held < limits[kind] ? " MISSED" : ""}`,
			share(figures, moments),
			right(figures),
			share(ranges, moments),
			right(ranges),
			ranges?.length ? median(ranges.map(({ leastS, mostS }) => mostS / leastS)).toFixed(1) : "–",
			share(
				moments.filter((moment) => !holds(moment) && moment.trueS > moment.mostS),
				moments,
			),
		);
	}
}
