// Whether the interval of a layer's change holds on recorded profiles that did not set it: of the groups that no change touched, every
// second one sets the noise, and the others are judged as if they had changed, where the true change is 0. Then the profiler's own time
// a layer, from the files of each engine alone.
import { componentsOf } from "../src/engine/core/components.ts";
import { factsOf } from "../src/engine/core/facts.ts";
import { engineModel, meanOf } from "../src/engine/core/model.ts";
import { judgeDeltas } from "../src/engine/core/noise.ts";
import { diffOf, h200Engine, type RecordedEngine, recordedArm } from "../test/support/recorded-engines.ts";

interface Pair {
	name: string;
	base: RecordedEngine;
	head: RecordedEngine;
}

const h200: Pair[] = ["det", "yolo"].flatMap((model) =>
	["block", "consumer", "island", "rebuild"].map((change) => ({
		name: `${model}, ${change}`,
		base: h200Engine(`${model}-base`),
		head: h200Engine(`${model}-${change}`),
	})),
);
const small: Pair[] = ["same-model", "wrong-head", "slower-head"].map((name) => ({
	name,
	base: recordedArm(name, "base"),
	head: recordedArm(name, "head"),
}));
const leastCovered = 0.95;

/** Groups with the same structure and kernels in both engines. */
function unchangedGroups({ base, head }: Pair) {
	const engines = {
		base: engineModel({ ...base, graph: null }),
		head: engineModel({ ...head, graph: null }),
	};
	const groups = componentsOf(engines).map((component) => ({
		base: factsOf(component.base, engines.base.profiles, 0),
		head: factsOf(component.head, engines.head.profiles, 0),
	}));
	const isSame = (of: "structure" | "tactics" | "layouts") => (group: (typeof groups)[number]) =>
		group.base[of] === group.head[of];
	const same = groups.filter(
		(one) => isSame("structure")(one) && isSame("tactics")(one) && isSame("layouts")(one),
	);
	return same.filter((one) => one.base.time.ms > 0 && one.head.time.ms > 0);
}

function judged(pair: Pair, turn: 0 | 1): { of: number; covered: number; claimed: number } {
	const groups = unchangedGroups(pair);
	const changes = groups.map(({ base, head }, at) => ({
		base: base.time,
		head: head.time,
		isUnchanged: at % 2 === turn,
	}));
	const { deltas } = judgeDeltas(changes);
	const others = deltas.filter((_, at) => at % 2 !== turn);
	return {
		of: others.length,
		covered: others.filter(({ ms, halfWidthMs }) => Math.abs(ms) <= halfWidthMs).length,
		claimed: others.filter(({ isSignificant }) => isSignificant).length,
	};
}

const percent = (part: number, of: number): string => `${((100 * part) / of).toFixed(1)} %`;
let failed = false;
for (const [about, pairs] of Object.entries({
	"H200, eight profiles a side": h200,
	"small nets, one profile a side": small,
})) {
	let [all, covered] = [0, 0];
	for (const pair of pairs) {
		const found = ([0, 1] as const).map((turn) => judged(pair, turn));
		const sum = (of: "of" | "covered" | "claimed") => found.reduce((total, one) => total + one[of], 0);
		all += sum("of");
		covered += sum("covered");
		console.log(
			`${pair.name}: ${sum("of")} groups held back, interval covers ${percent(sum("covered"), sum("of"))}, ${sum("claimed")} beyond it`,
		);
	}
	failed ||= covered < leastCovered * all;
	console.log(`${about}: ${percent(covered, all)} of ${all} covered`);
}
for (const model of ["det", "yolo"]) {
	for (const change of ["base", "block", "consumer", "island", "rebuild"]) {
		const engine = h200Engine(`${model}-${change}`);
		const { layers } = engineModel({ ...engine, graph: null });
		const times = layers.map(({ timesMs }) => meanOf(timesMs)).filter((ms) => ms > 0);
		const apart = times.reduce((sum, ms) => sum + ms, 0) - engine.medianMs;
		console.log(
			`${model}-${change}: the profiler adds ${((1000 * apart) / times.length).toFixed(2)} µs to each of ${times.length} layers`,
		);
	}
}
const { account } = diffOf(recordedArm("slower-head", "base"), recordedArm("slower-head", "head"), {
	enginesMs: { base: 0.0279, head: 0.02903 },
});
if (account !== null) {
	const [explained, width, measured, overhead] = [
		account.attributedMs,
		account.halfWidthMs,
		account.measuredMs,
		account.overheadMs,
	].map((ms) => (1000 * ms).toFixed(2));
	console.log(`slower-head: explains +${explained} ± ${width} of +${measured} µs; ${overhead} µs a layer`);
}
process.exitCode = failed ? 1 : 0;
