// Two parts of one result that ran the same engines on two versions of TensorRT: what an upgrade breaks, changes and costs.
import type { BuildRecord, Finding, GoldenVerdict, Part, Result } from "../schema/result.ts";
import { quoted } from "../text/escape.ts";
import { counted } from "../text/labels.ts";
import { formatDuration, formatPercent, formatValue } from "../text/units.ts";

/** stop: blocks the upgrade. unknown: could not be measured. review: needs a reviewer. note: for information. */
type Weight = "stop" | "unknown" | "review" | "note";

export interface UpgradeFact {
	weight: Weight;
	/** A kind of fact, for the decision: `engine that no longer builds`. */
	topic: readonly [one: string, many: string];
	/** Backticks mark names. */
	says: string;
}

export interface Upgrade {
	from: string;
	to: string;
	decision: string;
	facts: readonly UpgradeFact[];
	/** Of the new version. */
	plans: string;
}

/** Two jobs meet other clocks and neighbours: less than this between them says nothing. */
const leastChange = 0.05;
/** An error that doubled, and is beyond half of what is allowed, will be a failure soon. */
const growth = 2;

/** From the oldest version to each newer one that ran on the same kind of device. */
export function upgradesOf(result: Result): Upgrade[] {
	const ran = (result.parts ?? []).filter(({ state, backend }) => state === "merged" && backend?.kind === "tensorrt");
	const [oldest, ...newer] = ran.sort((a, b) => versionOf(a).localeCompare(versionOf(b), "en", { numeric: true }));
	if (oldest === undefined) return [];
	const later = newer.filter((part) => versionOf(part) !== versionOf(oldest) && part.backend?.device === oldest.backend?.device);
	return later.flatMap((part) => {
		const [before, after] = [factsOf(result, oldest.name), factsOf(result, part.name)];
		const shared = [...before.builds.keys()].filter((id) => after.builds.has(id));
		return shared.length === 0 ? [] : [upgradeOf({ before, after, shared }, [versionOf(oldest), versionOf(part)])];
	});
}

const versionOf = ({ backend }: Part): string => backend?.version ?? "";

interface PartFacts {
	/** Of the head, by `model/engine`. */
	builds: ReadonlyMap<string, BuildRecord>;
	golden: readonly GoldenVerdict[];
	medians: ReadonlyMap<string, number>;
	findings: readonly Finding[];
}

const engineOf = ({ model, engine }: { model?: string; engine?: string }): string => `${model}/${engine}`;

function factsOf(result: Result, part: string): PartFacts {
	const own = <Item extends { part?: string }>(items: readonly Item[]): Item[] => items.filter((item) => item.part === part);
	const heads = own(result.builds).filter(({ arm }) => arm === "head");
	const timed = own(result.workloads).flatMap(({ id, head }) => (head === null ? [] : [[id, head.medianMs] as const]));
	return {
		builds: new Map(heads.map((build) => [engineOf(build), build])),
		golden: own(result.golden),
		medians: new Map(timed),
		findings: own(result.findings).filter(({ arm }) => arm !== "base"),
	};
}

interface Sides {
	before: PartFacts;
	after: PartFacts;
	/** Engines of both. */
	shared: readonly string[];
}

function upgradeOf(sides: Sides, [from, to]: readonly [string, string]): Upgrade {
	const facts = [
		...sides.shared.flatMap((id) => [...buildFacts(id, sides), ...goldenFacts(id, sides)]),
		...speedFacts(sides),
		...newFindings(sides),
	];
	const order: readonly Weight[] = ["stop", "unknown", "review", "note"];
	const sorted = facts.sort((a, b) => order.indexOf(a.weight) - order.indexOf(b.weight));
	const built = sides.shared.flatMap((id) => sides.after.builds.get(id) ?? []).filter(({ state }) => state === "built");
	const tookMs = built.reduce((sum, { durationMs }) => sum + durationMs, 0);
	const took = built.length === 0 ? "" : `; ${counted(built.length, "build")} took ${formatDuration(tookMs)} there`;
	return {
		from,
		to,
		facts: sorted,
		decision: decisionOf(sorted, sides),
		plans: `${counted(sides.shared.length, "plan")} must be built again, since a plan runs only on the version that built it${took}.`,
	};
}

function decisionOf(facts: readonly UpgradeFact[], { shared, before, after }: Sides): string {
	const of = (weight: Weight): string => {
		const own = facts.filter((fact) => fact.weight === weight);
		const topics = new Map(own.map(({ topic }) => [topic[0], topic]));
		return [...topics.values()].map((topic) => counted(own.filter((fact) => fact.topic[0] === topic[0]).length, ...topic)).join(", ");
	};
	if (of("stop") !== "") return `Do not upgrade yet: ${of("stop")}.`;
	if (of("unknown") !== "") return `Not decided: ${of("unknown")}.`;
	if (of("review") !== "") return `Upgrade after a review: ${of("review")}.`;
	const matching = after.golden.filter(({ state }) => state === "match").length;
	const timed = [...after.medians.keys()].filter((id) => before.medians.has(id)).length;
	const speed =
		timed === 0
			? "no workload was timed on both"
			: `none of ${counted(timed, "workload")} became slower by ${formatPercent(leastChange, { digits: 0 })} or more`;
	return `Upgrade: ${counted(shared.length, "engine")} built, ${counted(matching, "golden case")} matched, ${speed}.`;
}

const fact = (weight: Weight, topic: UpgradeFact["topic"], says: string): UpgradeFact => ({ weight, topic, says });

function buildFacts(id: string, { before, after }: Sides): UpgradeFact[] {
	const [was, is] = [before.builds.get(id), after.builds.get(id)];
	if (is?.state === "built") {
		if (was?.state === "built") return [];
		return [fact("note", ["engine that builds now", "engines that build now"], `${quoted(id)} builds now.`)];
	}
	const blocking = after.findings.find((finding) => finding.severity === "error" && engineOf(finding) === id);
	const why = is?.failure?.title ?? blocking?.message ?? is?.state;
	if (was?.state !== "built")
		return [fact("note", ["engine that builds on neither", "engines that build on neither"], `${quoted(id)} builds on neither: ${why}`)];
	const isMachine = is?.failure?.kind === "runner" || is?.state === "timed-out";
	return isMachine
		? [
				fact(
					"unknown",
					["engine that its machine could not build", "engines that their machine could not build"],
					`${quoted(id)} was not built, by a fault of the machine: ${why}`,
				),
			]
		: [fact("stop", ["engine that no longer builds", "engines that no longer build"], `${quoted(id)} no longer builds: ${why}`)];
}

function goldenFacts(id: string, { before, after }: Sides): UpgradeFact[] {
	const own = (golden: readonly GoldenVerdict[]) => golden.filter((verdict) => engineOf(verdict) === id);
	const [was, is] = [new Map(own(before.golden).map((verdict) => [verdict.case, verdict])), own(after.golden)];
	if (after.builds.get(id)?.state !== "built") return [];
	if (is.length === 0)
		return [
			fact(
				"review",
				["engine without a golden", "engines without a golden"],
				`${quoted(id)} has no golden that says whether its outputs drift.`,
			),
		];
	const wrong = is.filter(({ state }) => state !== "match");
	const drifted = wrong.filter((verdict) => was.get(verdict.case)?.state === "match");
	const some = drifted[0] ?? wrong[0];
	if (some !== undefined) {
		const text = errorText(
			some.checks.find(({ pass }) => !pass),
			was.get(some.case),
		);
		const such = text === "" ? "" : `, such as ${text}`;
		return drifted.length > 0
			? [
					fact(
						"stop",
						["engine that drifts", "engines that drift"],
						`${quoted(id)} drifts: ${drifted.length} of ${counted(is.length, "golden case")} no longer match${such}.`,
					),
				]
			: [
					fact(
						"review",
						["engine that matches on neither", "engines that match on neither"],
						`${quoted(id)} matches its golden on neither${such}.`,
					),
				];
	}
	const grown = is.flatMap((verdict) =>
		verdict.checks.filter((check) => isGrown(check, was.get(verdict.case))).map((check) => ({ check, verdict })),
	);
	const [first] = grown;
	return first === undefined
		? []
		: [
				fact(
					"review",
					["engine whose errors grow", "engines whose errors grow"],
					`${quoted(id)} still matches, with larger errors: ${errorText(first.check, was.get(first.verdict.case))}.`,
				),
			];
}

type Check = GoldenVerdict["checks"][number];

const sameCheck = (check: Check, was: GoldenVerdict | undefined): Check | undefined =>
	was?.checks.find(
		({ output, metric, slice }) =>
			output === check.output && metric === check.metric && JSON.stringify(slice) === JSON.stringify(check.slice),
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

function speedFacts({ before, after }: Sides): UpgradeFact[] {
	return [...after.medians].flatMap(([id, ms]): UpgradeFact[] => {
		const was = before.medians.get(id);
		if (was === undefined || !(was > 0) || Math.abs(ms / was - 1) < leastChange) return [];
		const change = `${quoted(id)}: ${formatPercent(ms / was - 1, { sign: true })} time.`;
		return ms > was
			? [fact("review", ["workload that slows down", "workloads that slow down"], change)]
			: [fact("note", ["workload that speeds up", "workloads that speed up"], change)];
	});
}

/** Flags, operators and types that the new version does not take as the old one did. */
function newFindings({ before, after, shared }: Sides): UpgradeFact[] {
	const key = ({ code, model, engine, node }: Finding): string => JSON.stringify([code, model, engine, node]);
	const known = new Set(before.findings.map(key));
	const fresh = after.findings.filter(
		(finding) =>
			finding.severity !== "note" && !known.has(key(finding)) && (finding.engine === undefined || shared.includes(engineOf(finding))),
	);
	return fresh.map(({ model, message, fix }) => {
		const whose = model === undefined ? "" : `${quoted(model)}: `;
		return fact(
			"review",
			["new finding of preflight", "new findings of preflight"],
			`${whose}${message}${fix === undefined ? "" : ` ${fix}`}`,
		);
	});
}
