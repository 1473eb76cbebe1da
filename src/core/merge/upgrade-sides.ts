import type {
	Arm,
	BuildRecord,
	Finding,
	GoldenCheck,
	GoldenVerdict,
	Interval,
	Numeric,
	Part,
	Result,
	WorkloadResult,
} from "../../../generated/result.ts";
import { mismatchState } from "../../golden/core/compare/checks.ts";
import { comparedOf } from "../stats/summary.ts";

const paired = "Both versions were timed in interleaved pairs on one GPU.";
const apart = "The versions ran in two jobs, whose times cannot be compared.";

export function upgradeNotes({
	arms,
	backend,
	baseBackend,
}: Pick<Result, "arms" | "backend" | "baseBackend">): string[] {
	if (arms.base === null || baseBackend === undefined) return [];
	if (baseBackend.version === backend.version)
		return [`Both sides run TensorRT ${backend.version}, so this run compares no versions.`];
	if (haveSameFiles(arms)) return [];
	return [
		`Base and head differ in their files as well as in TensorRT (${baseBackend.version} and ${backend.version}), so their effects cannot be told apart and no upgrade is judged. To judge one, run outside a pull request without --base and baseline: both sides then have the same files.`,
	];
}

function haveSameFiles({ base, head }: Result["arms"]): boolean {
	return (
		base !== null && base.commit === head.commit && (head.commit !== undefined || base.label === head.label)
	);
}

/** Within a run whose base ran the same files on another TensorRT; between jobs, from the oldest version to newer ones. */
export function sidesOf(result: Result): Sides[] {
	const parts = result.parts ?? [];
	const runs = [
		{ part: undefined, ...result },
		...parts.map(({ name, ...ran }) => ({ part: parts.length > 1 ? name : undefined, ...ran })),
	];
	const within = runs.flatMap(({ part, backend, baseBackend, partial }) => {
		if (backend === undefined || baseBackend === undefined || baseBackend.version === backend.version)
			return [];
		if (!haveSameFiles(result.arms)) return [];
		const before = factsOf(result, part, "base");
		const after = factsOf(result, part, "head");
		const speeds = comparedSpeeds(after.rows);
		const versions = { from: baseBackend.version, to: backend.version };
		return sides({ ...versions, caveat: paired, cutShort: endsOf(partial), before, after, speeds });
	});
	return [...within, ...sidesOfJobs(result, parts)];
}

function sidesOfJobs(result: Result, parts: readonly Part[]): Sides[] {
	const ran = parts.filter(({ state, backend }) => state === "merged" && backend?.kind === "tensorrt");
	const [oldest, ...newer] = ran.sort((a, b) =>
		versionOf(a).localeCompare(versionOf(b), "en", { numeric: true }),
	);
	if (oldest === undefined) return [];
	const later = newer.filter(
		(part) => versionOf(part) !== versionOf(oldest) && part.backend?.device === oldest.backend?.device,
	);
	return later.flatMap((part) => {
		const before = factsOf(result, oldest.name, "head");
		const after = factsOf(result, part.name, "head");
		return sides({
			from: versionOf(oldest),
			to: versionOf(part),
			caveat: apart,
			cutShort: [...endsOf(oldest.partial), ...endsOf(part.partial)],
			before,
			after,
			speeds: [],
		});
	});
}

const endsOf = (partial: Result["partial"]): string[] => (partial === undefined ? [] : [partial.stage]);

const versionOf = ({ backend }: Part): string => backend?.version ?? "";

interface ArmFacts {
	builds: ReadonlyMap<string, BuildRecord>;
	golden: readonly GoldenVerdict[];
	rows: readonly WorkloadResult[];
	findings: readonly Finding[];
}

export const engineOf = ({ model, engine }: { model?: string; engine?: string }): string =>
	`${model}/${engine}`;

function factsOf(result: Result, part: string | undefined, arm: Arm): ArmFacts {
	const own = <Item extends { part?: string }>(items: readonly Item[]): Item[] =>
		items.filter((item) => item.part === part);
	const builds = own(result.builds).filter((build) => build.arm === arm);
	return {
		builds: new Map(builds.map((build) => [engineOf(build), build])),
		golden: arm === "head" ? own(result.golden) : own(result.golden).map(ofBase),
		rows: own(result.workloads),
		findings: own(result.findings).filter(
			(finding) => finding.arm !== "base" && !(arm === "base" && finding.isNew === true),
		),
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

function keepsLimit(error: Numeric, { allowed, bound }: Pick<GoldenCheck, "allowed" | "bound">): boolean {
	if (typeof error !== "number") return false;
	return allowed === null || (bound === "at-most" ? error <= allowed : error >= allowed);
}

interface Speed {
	id: string;
	change: number;
	verdict: "slower" | "faster" | "alike" | "unclear";
	interval: Interval | null;
}

function comparedSpeeds(rows: readonly WorkloadResult[]): Speed[] {
	const verdicts = {
		regressed: "slower",
		improved: "faster",
		unchanged: "alike",
		inconclusive: "unclear",
	} as const;
	return rows.flatMap((row) => {
		const { verdict, estimate, interval } = comparedOf(row);
		if (estimate === null || verdict === "missing" || verdict === "not-comparable") return [];
		return [{ id: row.id, change: estimate, verdict: verdicts[verdict], interval }];
	});
}

export interface Sides {
	caveat: string;
	cutShort: readonly string[];
	from: string;
	to: string;
	before: ArmFacts;
	after: ArmFacts;
	speeds: readonly Speed[];
	shared: readonly string[];
}

function sides(found: Omit<Sides, "shared">): Sides[] {
	const shared = [...found.before.builds.keys()].filter((id) => found.after.builds.has(id));
	return shared.length === 0 ? [] : [{ ...found, shared }];
}
