// Finds what an upgrade of TensorRT breaks, changes and costs, for engines that ran on both versions.
import type { GoldenVerdict, Result } from "../../../generated/result.ts";
import { findingKey } from "../onnx/preflight.ts";
import { quoted } from "../text/escape.ts";
import { counted } from "../text/labels.ts";
import { formatDuration, formatPercent, formatValue } from "../text/units.ts";
import { engineOf, type Sides, sidesOf } from "./upgrade-sides.ts";

/** stop: blocks the upgrade. unknown: could not be measured. review: needs a reviewer. note: for information. */
type Weight = "stop" | "unknown" | "review" | "note";

export interface UpgradeFact {
	weight: Weight;
	topic: readonly [one: string, many: string];
	says: string;
}

export interface Upgrade {
	from: string;
	to: string;
	decision: string;
	facts: readonly UpgradeFact[];
	caveat: string;
	plans: string;
}

const topics = {
	cutShort: ["unknown", "run that was cut short", "runs that were cut short"],
	buildsNow: ["note", "engine that builds now", "engines that build now"],
	buildsOnNeither: ["note", "engine that builds on neither", "engines that build on neither"],
	notBuilt: [
		"unknown",
		"engine that its machine could not build",
		"engines that their machine could not build",
	],
	noLongerBuilds: ["stop", "engine that no longer builds", "engines that no longer build"],
	noGolden: ["review", "engine without a golden", "engines without a golden"],
	grown: ["review", "engine whose errors grow", "engines whose errors grow"],
	drifts: ["stop", "engine that drifts", "engines that drift"],
	notJudged: ["unknown", "engine that was not judged on both", "engines that were not judged on both"],
	matchesOnNeither: ["review", "engine that matches on neither", "engines that match on neither"],
	slower: ["review", "workload that slows down", "workloads that slow down"],
	faster: ["note", "workload that speeds up", "workloads that speed up"],
	unclear: ["review", "inconclusive workload", "inconclusive workloads"],
	finding: ["review", "new finding of preflight", "new findings of preflight"],
} as const satisfies Readonly<Record<string, readonly [Weight, one: string, many: string]>>;

function fact(kind: keyof typeof topics, says: string): UpgradeFact {
	const [weight, one, many] = topics[kind];
	return { weight, topic: [one, many], says };
}

/** An error that grew by this factor, beyond this share of its limit, will soon be a failure. */
const growth = 2;

export function upgradesOf(result: Result): Upgrade[] {
	return sidesOf(result).map(upgradeOf);
}

function upgradeOf(sides: Sides): Upgrade {
	const facts = [
		...sides.cutShort.map((stage) => fact("cutShort", `A run ended early, in ${quoted(stage)}.`)),
		...sides.shared.flatMap((id) => [...buildFacts(id, sides), ...goldenFacts(id, sides)]),
		...speedFacts(sides),
		...newFindings(sides),
	];
	const order: readonly Weight[] = ["stop", "unknown", "review", "note"];
	const sorted = facts.sort((a, b) => order.indexOf(a.weight) - order.indexOf(b.weight));
	const built = sides.shared
		.flatMap((id) => sides.after.builds.get(id) ?? [])
		.filter(({ state }) => state === "built");
	const tookMs = built.reduce((sum, { durationMs }) => sum + durationMs, 0);
	const took =
		built.length === 0 ? "" : `; ${counted(built.length, "build")} took ${formatDuration(tookMs)} there`;
	const plans = `${counted(sides.shared.length, "plan")} must be built again, since a plan runs only on the version that built it${took}.`;
	return {
		from: sides.from,
		to: sides.to,
		caveat: sides.caveat,
		facts: sorted,
		decision: decisionOf(sorted, sides),
		plans,
	};
}

function decisionOf(facts: readonly UpgradeFact[], { shared, after, speeds }: Sides): string {
	const of = (weight: Weight): string => {
		const own = facts.filter((fact) => fact.weight === weight);
		const topics = new Map(own.map(({ topic }) => [topic[0], topic]));
		return [...topics.values()]
			.map((topic) => counted(own.filter((fact) => fact.topic[0] === topic[0]).length, ...topic))
			.join(", ");
	};
	if (of("stop") !== "") return `Do not upgrade yet: ${of("stop")}.`;
	if (of("unknown") !== "") return `Not decided: ${of("unknown")}.`;
	if (of("review") !== "") return `Upgrade after a review: ${of("review")}.`;
	const matching = after.golden.filter(({ state }) => state === "match").length;
	const speed =
		speeds.length === 0
			? "no workload was compared"
			: `none of ${counted(speeds.length, "workload")} became slower`;
	return `Upgrade: ${counted(shared.length, "engine")} built, ${counted(matching, "golden case")} matched, ${speed}.`;
}

function buildFacts(id: string, { before, after }: Sides): UpgradeFact[] {
	const was = before.builds.get(id);
	const is = after.builds.get(id);
	if (is?.state === "built")
		return was?.state === "built" ? [] : [fact("buildsNow", `${quoted(id)} builds now.`)];
	const blocking = after.findings.find((finding) => finding.severity === "error" && engineOf(finding) === id);
	const why = is?.failure?.title ?? blocking?.message ?? is?.state;
	if (was?.state !== "built") return [fact("buildsOnNeither", `${quoted(id)} builds on neither: ${why}`)];
	const isMachine = is?.failure?.kind === "runner" || is?.state === "timed-out";
	return isMachine
		? [fact("notBuilt", `${quoted(id)} was not built, by a fault of the machine: ${why}`)]
		: [fact("noLongerBuilds", `${quoted(id)} no longer builds: ${why}`)];
}

function goldenFacts(id: string, { before, after }: Sides): UpgradeFact[] {
	const own = (golden: readonly GoldenVerdict[]) => golden.filter((verdict) => engineOf(verdict) === id);
	const was = new Map(own(before.golden).map((verdict) => [verdict.case, verdict]));
	const is = own(after.golden);
	if (after.builds.get(id)?.state !== "built") return [];
	if (is.length === 0)
		return [fact("noGolden", `${quoted(id)} has no golden that says whether its outputs drift.`)];
	const wrong = is.filter(({ state }) => state !== "match");
	if (wrong.length > 0) return [wrongFact(id, wrong, was, is.length)];
	for (const verdict of is) {
		const other = was.get(verdict.case);
		const check = verdict.checks.find((one) => isGrown(one, other));
		const text = errorText(check, other);
		if (check !== undefined)
			return [fact("grown", `${quoted(id)} still matches, with larger errors: ${text}.`)];
	}
	return [];
}

const isJudged = (verdict: GoldenVerdict | undefined): boolean =>
	verdict !== undefined && verdict.state !== "error" && verdict.state !== "stale";

function wrongFact(
	id: string,
	wrong: readonly GoldenVerdict[],
	was: ReadonlyMap<string, GoldenVerdict>,
	cases: number,
): UpgradeFact {
	const drifted = wrong.filter((verdict) => isJudged(verdict) && was.get(verdict.case)?.state === "match");
	const unknown = wrong.filter((verdict) => !isJudged(verdict) || !isJudged(was.get(verdict.case)));
	const some = drifted[0] ?? wrong[0];
	const failing = some?.checks.find(({ pass, severity }) => !pass && severity === "fail");
	const text = errorText(failing, was.get(some?.case ?? ""));
	const such = text === "" ? "" : `, such as ${text}`;
	const all = counted(cases, "golden case");
	if (drifted.length > 0)
		return fact("drifts", `${quoted(id)} drifts: ${drifted.length} of ${all} no longer match${such}.`);
	return unknown.length > 0
		? fact("notJudged", `${quoted(id)} was not judged on both in ${unknown.length} of ${all}.`)
		: fact("matchesOnNeither", `${quoted(id)} matches its golden on neither${such}.`);
}

type Check = GoldenVerdict["checks"][number];

const sameCheck = (check: Check, was: GoldenVerdict | undefined): Check | undefined =>
	was?.checks.find(
		({ output, metric, slice }) =>
			output === check.output &&
			metric === check.metric &&
			JSON.stringify(slice) === JSON.stringify(check.slice),
	);

function isGrown(check: Check, was: GoldenVerdict | undefined): boolean {
	const before = sameCheck(check, was)?.got;
	const { got, allowed, bound } = check;
	return (
		bound === "at-most" &&
		typeof got === "number" &&
		typeof before === "number" &&
		allowed !== null &&
		got > growth * before &&
		got > allowed / growth
	);
}

function errorText(check: Check | undefined, was: GoldenVerdict | undefined): string {
	if (check === undefined) return "";
	const before = sameCheck(check, was)?.got ?? null;
	const limit = check.allowed === null ? "" : ` (allowed: ${formatValue(check.allowed)})`;
	return `${quoted(check.output)} ${check.metric} ${formatValue(before)} → ${formatValue(check.got)}${limit}`;
}

function speedFacts({ speeds }: Sides): UpgradeFact[] {
	return speeds.flatMap(({ id, change, verdict, interval }): UpgradeFact[] => {
		const percent = (share: number): string => formatPercent(share, { sign: true });
		const range = interval === null ? "" : ` (${interval.map(percent).join(" … ")})`;
		const says = `${quoted(id)}: ${percent(change)} time${range}.`;
		if (verdict === "alike") return [];
		return [fact(verdict, verdict === "unclear" ? `Inconclusive: ${says}` : says)];
	});
}

function newFindings({ before, after, shared }: Sides): UpgradeFact[] {
	const known = new Set(before.findings.map(findingKey));
	const fresh = after.findings.filter(
		(finding) =>
			finding.severity !== "note" &&
			!known.has(findingKey(finding)) &&
			(finding.engine === undefined || shared.includes(engineOf(finding))),
	);
	return fresh.map(({ model, message, fix }) => {
		const whose = model === undefined ? "" : `${quoted(model)}: `;
		return fact("finding", `${whose}${message}${fix === undefined ? "" : ` ${fix}`}`);
	});
}
