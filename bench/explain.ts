// How often `trtgate diff` names the culprit of a planted change, and how well it knows its cost; and whether it claims anything
// about engines that were only built again. The engines are recorded ones of TensorRT 10.6; the changes are made in their layer
// files, because nobody can know the cost of a real one exactly. test/core/engine/h200.test.ts has real changes.
import { type Host, type Planted, plantedChanges, rebuilt } from "../test/support/planted-engines.ts";
import { diffOf, h200Engine, recordedEngine } from "../test/support/recorded-engines.ts";

const again = (name: string): Host => ({ ...h200Engine(`${name}-base`), rebuilt: h200Engine(`${name}-rebuild`).profiles });
const hosts: Readonly<Record<string, Host>> = {
	"PP-OCRv4 detection (H200, timed runs)": again("det"),
	"YOLOv8n (H200, timed runs)": again("yolo"),
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
	const { rows, account } = diffOf(base, head, { gpu: "NVIDIA H200", ...(enginesMs === null ? {} : { enginesMs }) });
	const attributedMs = account?.attributedMs ?? 0;
	return {
		named: rows.slice(0, 3).some(({ label, members }) => [label, ...members].some((text) => text.split(" + ").includes(culprit))),
		attributed: attributedMs / costMs >= 0.8,
		covered: Math.abs(attributedMs - costMs) <= (account?.halfWidthMs ?? 0),
	};
}

const percent = (part: number, of: number): string => `${((100 * part) / of).toFixed(1)} %`;
const count = (scores: readonly Score[], which: keyof Score): number => scores.filter((one) => one[which]).length;

const planted = Object.entries(hosts).flatMap(([host, engine]) =>
	plantedChanges({ [host]: engine }, turns).map((one) => ({ host, kind: one.kind, name: one.name, score: scoreOf(one) })),
);
const isVerbose = process.argv.includes("--verbose");
for (const by of ["host", "kind"] as const) {
	for (const group of new Set(planted.map((one) => one[by]))) {
		const scores = planted.filter((one) => one[by] === group).map(({ score }) => score);
		const shares = (["named", "attributed", "covered"] as const).map((which) => percent(count(scores, which), scores.length));
		console.log(
			`${group}: ${scores.length} changes; in the first three rows ${shares[0]}, 80 % attributed ${shares[1]}, interval covers ${shares[2]}`,
		);
	}
}
if (isVerbose) for (const { name, score } of planted) if (Object.values(score).includes(false)) console.log(name, JSON.stringify(score));
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
process.exitCode = shares.every((share) => share >= leastShare) && claiming === 0 ? 0 : 1;
