// Finds what an upgrade of TensorRT breaks, changes and costs, for engines that ran on both versions.
import type {
	Arm,
	Finding,
	GoldenCheck,
	GoldenVerdict,
	Numeric,
	Part,
	Result,
	WorkloadResult,
} from "../../../generated/result.ts";
import { mismatchState } from "../../golden/core/compare/checks.ts";
import { gatedRows } from "../compare/sweep.ts";
import { findingKey } from "../onnx/preflight.ts";
import { quoted } from "../text/escape.ts";
import { counted } from "../text/labels.ts";
import { formatDuration } from "../text/units.ts";
import {
	errorText,
	type Fact,
	fact,
	isGrown,
	isPortable,
	memoryFacts,
	speedFacts,
	topics,
	typeFacts,
	weights,
} from "./upgrade-facts.ts";

const ownCaches =
	"No version reads another's timing cache, so each chose its kernels from timings of its own: of a change in speed, about 1 % can be that choice, which `measure.rebuilds` averages out.";

export interface Upgrade {
	from: string;
	to: string;
	/** Of parts, which may have run on several. */
	device?: string | undefined;
	decision: string;
	/** There is nothing to fix, to review or to find out first. */
	isClear: boolean;
	facts: readonly Fact[];
	caveat: string;
	plans: string;
}

export function upgradeNotes(ran: Pick<Result, "arms" | "backend" | "baseBackend">): string[] {
	const { arms, backend, baseBackend } = ran;
	if (arms.base === null || baseBackend === undefined) return [];
	if (baseBackend.version === backend.version)
		return [`Both sides run TensorRT ${backend.version}, so this run compares no versions.`];
	if (haveSameFiles(arms)) return [];
	return [
		`Base and head differ in their files as well as in TensorRT (${baseBackend.version} and ${backend.version}), so their effects cannot be told apart and no upgrade is judged. To judge one, run outside a pull request without --base and baseline: both sides then have the same files.`,
	];
}

function haveSameFiles({ base, head }: Result["arms"]) {
	return (
		base !== null && base.commit === head.commit && (head.commit !== undefined || base.label === head.label)
	);
}

/** Within a run whose base ran the same files on another TensorRT; between jobs, from the oldest version to newer ones. */
export function upgradesOf(result: Result): Upgrade[] {
	const parts = result.parts ?? [];
	const runs = [
		{ part: undefined, ...result },
		...parts.map(({ name, ...ran }) => ({ part: parts.length > 1 ? name : undefined, ...ran })),
	];
	const within = runs.flatMap(({ part, backend, baseBackend, partial }) => {
		if (backend === undefined || baseBackend === undefined || baseBackend.version === backend.version)
			return [];
		if (!haveSameFiles(result.arms)) return [];
		const after = factsOf(result, part, "head");
		return upgradeOf({
			from: baseBackend.version,
			to: backend.version,
			device: part && backend.device,
			partials: [partial],
			before: factsOf(result, part, "base"),
			after,
			timed: after.rows,
		});
	});
	return [...within, ...upgradesOfJobs(result, parts)];
}

function upgradesOfJobs(result: Result, parts: readonly Part[]) {
	const versionOf = ({ backend }: Part): string => backend?.version ?? "";
	const ran = parts
		.filter(({ state, backend }) => state === "merged" && backend?.kind === "tensorrt")
		.sort((a, b) => versionOf(a).localeCompare(versionOf(b), "en", { numeric: true }))
		.map((part) => ({ part, device: part.backend?.device, facts: factsOf(result, part.name, "head") }));
	return ran.flatMap(({ part, device, facts: after }) => {
		const oldest = ran.find(
			(other) => other.device === device && [...after.builds.keys()].some((id) => other.facts.builds.has(id)),
		);
		if (oldest === undefined || versionOf(oldest.part) === versionOf(part)) return [];
		return upgradeOf({
			from: versionOf(oldest.part),
			to: versionOf(part),
			device,
			caveat: "The versions ran in two jobs, whose times cannot be compared.",
			partials: [oldest.part.partial, part.partial],
			before: oldest.facts,
			after,
			timed: [],
		});
	});
}

const engineOf = ({ model, engine }: { model?: string; engine?: string }): string => `${model}/${engine}`;

function factsOf(result: Result, part: string | undefined, arm: Arm) {
	const own = <Item extends { part?: string }>(items: readonly Item[]): Item[] =>
		items.filter((item) => item.part === part);
	const builds = own(result.builds).filter((build) => build.arm === arm);
	return {
		builds: new Map(builds.map((build) => [engineOf(build), build])),
		golden: arm === "head" ? own(result.golden) : own(result.golden).map(ofBase),
		rows: gatedRows({ workloads: own(result.workloads), sweeps: own(result.sweeps ?? []) }),
		findings: own(result.findings).filter(
			(finding) => finding.arm !== "base" && !(arm === "base" && finding.isNew === true),
		),
		errors: own(result.errors).filter((error) => error.arm === arm && error.workload === undefined),
	};
}

/** The verdict on the base's errors; its state is `error` if they are unknown. */
function ofBase(verdict: GoldenVerdict): GoldenVerdict {
	const checks = verdict.checks.map(({ base = null, existing, ...check }) => {
		return { ...check, got: base, pass: existing !== true && (base === null || keepsLimit(base, check)) };
	});
	if (verdict.state === "stale") return { ...verdict, checks };
	const isKnown = verdict.state !== "error" && checks.some(({ got }) => got !== null);
	return { ...verdict, checks, state: isKnown ? (mismatchState(checks) ?? "match") : "error" };
}

function keepsLimit(error: Numeric, { allowed, bound }: Pick<GoldenCheck, "allowed" | "bound">) {
	if (typeof error !== "number") return false;
	return allowed === null || (bound === "at-most" ? error <= allowed : error >= allowed);
}

interface Sides extends Pick<Upgrade, "from" | "to" | "device"> {
	/** By default, of what was timed on both. */
	caveat?: string;
	partials: readonly Result["partial"][];
	before: ReturnType<typeof factsOf>;
	after: ReturnType<typeof factsOf>;
	timed: readonly WorkloadResult[];
}

function upgradeOf(sides: Sides) {
	const { from, to, device, partials, before, after } = sides;
	const shared = [...before.builds.keys()].filter((id) => after.builds.has(id));
	if (shared.length === 0) return [];
	const onBoth = (row: WorkloadResult) =>
		[before, after].every(({ builds }) => builds.get(engineOf(row))?.state === "built");
	const timed = sides.timed.filter(onBoth);
	const ofTimes =
		timed.length === 0
			? "No workload was timed on both versions."
			: `Both versions were timed in interleaved pairs on one GPU. ${ownCaches}`;
	const { caveat = ofTimes } = sides;
	const of = (model: string | undefined, facts: readonly Fact[]) =>
		facts.map((one): Fact => ({ ...one, model }));
	const facts: Fact[] = [
		...partials.flatMap((partial) =>
			partial === undefined ? [] : fact("cutShort", `A run ended early, in ${quoted(partial.stage)}.`),
		),
		...shared.flatMap((id) =>
			of(after.builds.get(id)?.model, [...buildFacts(id, sides), ...goldenFacts(id, sides)]),
		),
		...timed.flatMap((row) => of(row.model, [...speedFacts(row), ...memoryFacts(row)])),
		...newFindings(sides, shared),
	];
	const rank = ({ kind }: Fact): number => weights.indexOf(topics[kind][0]);
	facts.sort((a, b) => rank(a) - rank(b));
	const built = shared.flatMap((id) => after.builds.get(id) ?? []).filter(({ state }) => state === "built");
	const tookMs = built.reduce((sum, { durationMs }) => sum + durationMs, 0);
	const took =
		built.length === 0 ? "" : `; ${counted(built.length, "build")} took ${formatDuration(tookMs)} there`;
	const bound = shared.filter((id) => !isPortable(before.builds.get(id), after.builds.get(id)));
	const plans = `${counted(bound.length, "plan")} must be built again, since a plan without \`--versionCompatible\` runs only on the version that built it${took}.`;
	const decided = decisionOf(facts, built.length, { ...sides, timed });
	return [{ ...{ from, to, device, caveat, facts, plans }, ...decided }];
}

function decisionOf(facts: readonly Fact[], engines: number, { after, timed }: Sides) {
	const of = (weight: (typeof weights)[number]): string => {
		const kinds = facts.map(({ kind }) => kind).filter((kind) => topics[kind][0] === weight);
		return [...new Set(kinds)]
			.map((kind) => {
				const [, one, many] = topics[kind];
				return counted(kinds.filter((other) => other === kind).length, one, many);
			})
			.join(", ");
	};
	const open = (decision: string) => ({ decision, isClear: false });
	if (of("stop") !== "") return open(`Do not upgrade yet: ${of("stop")}.`);
	if (of("unknown") !== "") return open(`Not decided: ${of("unknown")}.`);
	if (engines === 0) return open("Not decided: no engine builds on either version.");
	if (of("review") !== "") return open(`Upgrade after a review: ${of("review")}.`);
	const matching = after.golden.filter(({ state }) => state === "match").length;
	const speed =
		timed.length === 0
			? "no workload was compared"
			: `none of ${counted(timed.length, "workload")} became slower`;
	const found = `${counted(engines, "engine")} built, ${counted(matching, "golden case")} matched, ${speed}`;
	return { decision: `Upgrade: ${found}.`, isClear: true };
}

function buildFacts(id: string, { from, to, before, after }: Sides) {
	const [was, is] = [before.builds.get(id), after.builds.get(id)];
	const faulty = [was, is].find((build) => build?.failure?.kind === "runner" || build?.state === "timed-out");
	if (faulty !== undefined) {
		const version = faulty === was ? from : to;
		const why = faulty.failure?.title ?? faulty.state;
		return fact("notBuilt", `${quoted(id)} was not built on ${version}, by a fault of the machine: ${why}`);
	}
	if (is?.state === "built") {
		if (was?.state === "built") return typeFacts(id, was, is);
		const why = was?.failure?.title ?? `the build was ${was?.state}.`;
		return fact("buildsNow", `${quoted(id)} builds now; on ${from}: ${why}`);
	}
	const blocking = blockingOf(id, after);
	const refused = blocking && withFix(blocking);
	const why = is?.failure?.title ?? refused ?? is?.state;
	return was?.state === "built"
		? fact("noLongerBuilds", `${quoted(id)} no longer builds: ${why}`)
		: fact("buildsOnNeither", `${quoted(id)} builds on neither: ${why}`);
}

/** Why the engine was not built; told there, and not once more as a finding. */
const blockingOf = (id: string, { findings }: Sides["after"]) =>
	findings.find((finding) => finding.severity === "error" && engineOf(finding) === id);

const withFix = ({ message, fix }: Finding): string => (fix === undefined ? message : `${message} ${fix}`);

type Verdicts = ReadonlyMap<string, GoldenVerdict>;

function goldenFacts(id: string, { before, after }: Sides) {
	const own = (golden: readonly GoldenVerdict[]) => golden.filter((verdict) => engineOf(verdict) === id);
	const was: Verdicts = new Map(own(before.golden).map((verdict) => [verdict.case, verdict]));
	const is = own(after.golden);
	if (after.builds.get(id)?.state !== "built") return [];
	if (is.some(({ state }) => state !== "match")) return wrongFact(id, is, was);
	const error = after.errors.find((one) => engineOf(one) === id);
	if (error !== undefined) return fact("notJudged", `${quoted(id)} was not judged on both: ${error.message}`);
	if (is.length === 0)
		return fact("noGolden", `${quoted(id)} has no golden that says whether its outputs drift.`);
	for (const verdict of is) {
		const other = was.get(verdict.case);
		const check = verdict.checks.find((one) => isGrown(one, other));
		if (check !== undefined)
			return fact("grown", `${quoted(id)} still matches, with larger errors: ${errorText(check, other)}.`);
	}
	return [];
}

const isJudged = (verdict: GoldenVerdict | undefined): boolean =>
	verdict !== undefined && verdict.state !== "error" && verdict.state !== "stale";

function wrongFact(id: string, is: readonly GoldenVerdict[], was: Verdicts) {
	const wrong = is.filter(({ state }) => state !== "match");
	const drifted = wrong.filter((verdict) => isJudged(verdict) && was.get(verdict.case)?.state === "match");
	const unknown = wrong.filter((verdict) => !isJudged(verdict) || !isJudged(was.get(verdict.case)));
	const some = drifted[0] ?? wrong[0];
	const failing = some?.checks.find(({ pass, severity }) => !pass && severity === "fail");
	const such = failing === undefined ? "" : `, such as ${errorText(failing, was.get(some?.case ?? ""))}`;
	const all = counted(is.length, "golden case");
	if (drifted.length > 0)
		return fact("drifts", `${quoted(id)} drifts in ${drifted.length} of ${all}${such}.`);
	return unknown.length > 0
		? fact("notJudged", `${quoted(id)} was not judged on both in ${unknown.length} of ${all}.`)
		: fact("matchesOnNeither", `${quoted(id)} matches its golden on neither${such}.`);
}

function newFindings({ before, after }: Sides, shared: readonly string[]) {
	const known = new Set(before.findings.map(findingKey));
	const fresh = after.findings.filter(
		(finding) =>
			finding.severity !== "note" &&
			!known.has(findingKey(finding)) &&
			finding !== blockingOf(engineOf(finding), after) &&
			(finding.engine === undefined || shared.includes(engineOf(finding))),
	);
	return fresh.flatMap((finding) => {
		const { model } = finding;
		const whose = model === undefined ? "" : `${quoted(model)}: `;
		return fact("finding", `${whose}${withFix(finding)}`).map((one) => ({ ...one, model }));
	});
}
