// How often `trtgate diff` names the culprit of a planted change, and how well it knows its cost; and whether it claims anything
// about engines that were only built again. Most changes are made in the layer files of recorded engines of TensorRT 10.6, because
// nobody can know the cost of a real one exactly; the rest are networks that were changed, built and timed.
import { devicePairs, scoreOfPair } from "../test/support/device-engines.ts";
import { type Host, type Planted, plantedChanges, rebuilt } from "../test/support/planted-engines.ts";
import { diffOf, h200Engine, recordedEngine } from "../test/support/recorded-engines.ts";

const rebuiltAgain = (name: string): Host => ({
	...h200Engine(`${name}-base`),
	rebuilt: h200Engine(`${name}-rebuild`).profiles,
});
const hosts: Readonly<Record<string, Host>> = {
	"PP-OCRv4 detection (H200, timed runs)": rebuiltAgain("det"),
	"YOLOv8n (H200, timed runs)": rebuiltAgain("yolo"),
	"PP-OCRv4 detection (one profile)": recordedEngine("det-fp16", { timed: true }),
	"PP-OCRv4 recognition (one profile)": recordedEngine("rec-fp16", { timed: true }),
};
const [turns, rebuilds] = [5, 100];
const leastShare = 0.95;

interface Score {
	named: boolean;
	attributed: boolean;
	covered: boolean;
}

function scoreOf({ base, head, culprit, costMs, enginesMs }: Planted): Score {
	const { rows, account } = diffOf(base, head, {
		gpu: "NVIDIA H200",
		...(enginesMs === null ? {} : { enginesMs }),
	});
	const attributedMs = account?.attributedMs ?? 0;
	return {
		named: rows
			.slice(0, 3)
			.some(({ label, members }) => [label, ...members].some((text) => text.split(" + ").includes(culprit))),
		attributed: attributedMs / costMs >= 0.8,
		covered: Math.abs(attributedMs - costMs) <= (account?.halfWidthMs ?? 0),
	};
}

const percent = (part: number, of: number): string => `${((100 * part) / of).toFixed(1)} %`;
const count = (scores: readonly Score[], which: keyof Score): number =>
	scores.filter((one) => one[which]).length;

const planted = Object.entries(hosts).flatMap(([host, engine]) =>
	plantedChanges({ [host]: engine }, turns).map((one) => ({
		host,
		kind: one.kind,
		name: one.name,
		score: scoreOf(one),
	})),
);
const isVerbose = process.argv.includes("--verbose");
for (const by of ["host", "kind"] as const) {
	for (const group of new Set(planted.map((one) => one[by]))) {
		const scores = planted.filter((one) => one[by] === group).map(({ score }) => score);
		const shares = (["named", "attributed", "covered"] as const).map((which) =>
			percent(count(scores, which), scores.length),
		);
		console.log(
			`${group}: ${scores.length} changes; in the first three rows ${shares[0]}, 80 % attributed ${shares[1]}, interval covers ${shares[2]}`,
		);
	}
}
if (isVerbose)
	for (const { name, score } of planted)
		if (Object.values(score).includes(false)) console.log(name, JSON.stringify(score));
const all = planted.map(({ score }) => score);
const claims = Object.values(hosts).flatMap((host) =>
	Array.from({ length: rebuilds }, (_, seed) => {
		const { base, head } = rebuilt(host, seed + 1);
		return diffOf(base, head).rows.length;
	}),
);
const claiming = claims.filter((some) => some > 0).length;
const shares = (["named", "attributed", "covered"] as const).map((which) => count(all, which) / all.length);
console.log(
	`all: ${all.length} changes; ${shares.map((share) => `${(100 * share).toFixed(1)} %`).join(", ")}; at least ${100 * leastShare} % each`,
);
console.log(`rebuilds with a claim: ${claiming} of ${claims.length}`);

// Engines that TensorRT built from networks with one change each: the cost is the difference of timed runs.
const pairs = devicePairs().map((pair) => ({ ...pair, score: scoreOfPair(pair) }));
const changes = pairs.filter(({ culprits }) => culprits.length > 0);
const measurable = changes.filter(({ enginesMs: { base, head } }) => Math.abs(head - base) > 0.01 * base);
const again = pairs.filter(({ kind }) => kind === "rebuild");
const report = (what: string, of: typeof pairs, holds: (pair: (typeof pairs)[number]) => boolean): number => {
	const failing = of.filter((pair) => !holds(pair)).map(({ name }) => name);
	console.log(
		`built on an H200, ${what}: ${of.length - failing.length} of ${of.length}${failing.length === 0 ? "" : `, but ${failing.join(", ")}`}`,
	);
	return failing.length / of.length;
};

/** The smallest factor of all intervals that covers 95 % of these pairs. */
function factorFor(some: typeof pairs): number {
	const needed = some.map(
		({ score }) =>
			Math.sqrt(Math.max(0, score.errorMs ** 2 - score.timedHalfWidthMs ** 2)) / score.halfWidthMs,
	);
	return needed.sort((a, b) => a - b)[Math.ceil(0.95 * needed.length) - 1] ?? 1;
}

// The allowance of the interval is no better than the networks that set it: each is judged by what the others would have set, and each
// recording by what the other would have set.
function heldOut(by: "base" | "recording"): (pair: (typeof pairs)[number]) => boolean {
	const factors = new Map(
		[...new Set(changes.map((pair) => pair[by]))].map((of) => [
			of,
			factorFor(changes.filter((pair) => pair[by] !== of)),
		]),
	);
	const stated = [...factors.values()].map((factor) => factor.toFixed(2)).join(", ");
	console.log(`intervals as set without each ${by}: ${stated} of what is stated`);
	return ({ score, ...pair }) =>
		score.errorMs <= Math.hypot(score.halfWidthMs * (factors.get(pair[by]) ?? 1), score.timedHalfWidthMs);
}

const failures = [
	report("culprit in the first three rows", changes, ({ score }) => score.named),
	report(
		"80 to 125 % attributed of changes above 1 % of the engine",
		measurable,
		({ score }) => score.share >= 0.8 && score.share <= 1.25,
	),
	report("interval covers the timed change", changes, ({ score }) => score.covered),
	report("interval covers as the other networks would set it", changes, heldOut("base")),
	report("interval covers as the other recording would set it", changes, heldOut("recording")),
	report("rebuilds without a claim but of other kernels", again, ({ score }) => score.unfounded === 0),
	report(
		"nodes of another exporter aligned, at least 95 %",
		pairs.filter(({ kind }) => kind === "another exporter"),
		({ score }) => score.aligned >= 0.95,
	),
];
const isFit = shares.every((share) => share >= leastShare) && claiming === 0;
process.exitCode = isFit && failures.every((share) => share <= 0.25) ? 0 : 1;
