// From the result of a run to the records that the history keeps of it: one, or one for each part of a merged result.
import type { EngineFacts, HistoryRecord, HistoryRow, LogRatio } from "../../../generated/history.ts";
import type {
	Arm,
	BuildRecord,
	Comparison,
	GoldenCheck,
	Result,
	WorkloadResult,
} from "../../../generated/result.ts";
import { shownMs } from "../stats/summary.ts";

/** What a result does not know of itself. */
export interface RunIdentity {
	run: string;
	url?: string;
	/** Tells machines of one fingerprint apart: host, gpuUuid. */
	machine?: Readonly<Record<string, string>>;
}

/** What a record is made from; known before a run is concluded. */
export type RecordedFacts = Pick<
	Result,
	| "tool"
	| "startedAt"
	| "durationMs"
	| "childMs"
	| "arms"
	| "environment"
	| "builds"
	| "golden"
	| "workloads"
	| "parts"
>;

export type HashText = (text: string) => string;

const wordChars = 300;
const hashDigits = 12;

/** Only what was measured gets a record: a run that ended before its first build has none. */
export function recordsOf(result: RecordedFacts, identity: RunIdentity, hash: HashText): HistoryRecord[] {
	const parts = result.parts?.filter(({ state }) => state === "merged") ?? [];
	if (parts.length === 0) return [recordOf(result, { identity, hash })].filter(({ rows }) => rows.length > 0);
	return parts
		.map(({ name, startedAt, environment }) => {
			const own = <Item extends { part?: string }>(items: readonly Item[]) =>
				items.filter(({ part }) => part === name);
			const { workloads, builds, golden } = result;
			const of = { ...result, workloads: own(workloads), builds: own(builds), golden: own(golden) };
			const there = {
				startedAt: startedAt ?? result.startedAt,
				environment: environment ?? result.environment,
			};
			return recordOf(
				{ ...of, ...there },
				{ identity: { ...identity, run: `${identity.run} ${name}` }, hash },
			);
		})
		.filter(({ rows }) => rows.length > 0);
}

interface Context {
	identity: RunIdentity;
	hash: HashText;
}

function recordOf(result: RecordedFacts, { identity, hash }: Context): HistoryRecord {
	const { arms, environment, workloads, tool } = result;
	const { timing, ...fingerprint } = environment;
	const { commit } = arms.head;
	return {
		schemaVersion: 1,
		at: result.startedAt,
		source: hash(
			JSON.stringify([result.startedAt, result.durationMs, result.childMs, workloads[0]?.part]),
		).slice(0, hashDigits),
		run: identity.run.slice(0, 200),
		url: identity.url,
		label: arms.head.label.slice(0, wordChars),
		commit,
		...(arms.base === null ? {} : { reference: referenceOf(arms.base) }),
		machine: words({ ...fingerprint, ...identity.machine }),
		method: words({
			trtgate: tool.version,
			...(timing === undefined ? {} : { timing }),
			...(workloads[0]?.work === undefined ? {} : { figure: "work" }),
		}),
		rows: workloads.map((workload) => rowOf(workload, result, hash)),
	};
}

function referenceOf({
	label,
	commit,
}: {
	label: string;
	commit?: string;
}): NonNullable<HistoryRecord["reference"]> {
	return { label: label.slice(0, wordChars), commit };
}

function words(of: Readonly<Record<string, string>>): Record<string, string> {
	return Object.fromEntries(Object.entries(of).map(([key, value]) => [key, value.slice(0, wordChars)]));
}

function rowOf(workload: WorkloadResult, { builds, golden }: RecordedFacts, hash: HashText): HistoryRow {
	const own = <Item extends { model: string; engine: string }>(items: readonly Item[]) =>
		items.filter(({ model, engine }) => model === workload.model && engine === workload.engine);
	const ratio = ratioOf(workload);
	// A count that is repeated is the same.
	const fresh =
		workload.work !== undefined ? ratio : workload.fresh === undefined ? null : logRatioOf(workload.fresh);
	const errors = errorsOf(own(golden).flatMap(({ checks }) => checks));
	const facts = (arm: Arm) =>
		factsOf(
			workload,
			own(builds).find((build) => build.arm === arm),
			{ arm, hash },
		);
	return {
		series: workload.id,
		kind: "engine",
		...(ratio === null ? {} : { ratio }),
		...(fresh === null ? {} : { fresh }),
		base: facts("base"),
		head: facts("head"),
		...(Object.keys(errors).length === 0 ? {} : { errors }),
	};
}

function ratioOf({ latency, noise, work }: WorkloadResult): LogRatio | null {
	if (work !== undefined)
		return work.estimate === null
			? null
			: { ppm: millionths(Math.log1p(work.estimate)), halfPpm: 0, pairs: 1 };
	const ratio = logRatioOf(latency);
	// The difference of two runs has twice the variance of one.
	return ratio === null || noise.runCv === null
		? ratio
		: { ...ratio, sdPpm: millionths(noise.runCv * Math.SQRT2) };
}

/** Of what was timed only: engines that are one and the same were not. */
export function logRatioOf({ estimate, interval, pairs, setAside = 0 }: Comparison): LogRatio | null {
	if (estimate === null || interval === null || pairs === 0) return null;
	const half = (Math.log1p(interval[1]) - Math.log1p(interval[0])) / 2;
	return { ppm: millionths(Math.log1p(estimate)), halfPpm: millionths(half), pairs: pairs - setAside };
}

function millionths(value: number): number {
	return Math.round(value * 1e6);
}

function factsOf(
	workload: WorkloadResult,
	build: BuildRecord | undefined,
	{ arm, hash }: { arm: Arm; hash: HashText },
): EngineFacts {
	const recipe =
		build?.recipe === undefined
			? undefined
			: Object.entries(build.recipe).sort(([left], [right]) => (left < right ? -1 : 1));
	const ms = shownMs(workload, arm);
	const [power, perSecond] = [workload.gpu?.[arm]?.powerW, workload[arm]?.throughputPerSecond];
	const fingerprint = workload.layers?.[arm]?.fingerprint;
	const text: Partial<Record<keyof EngineFacts, string | undefined>> = {
		model: build?.modelSha256,
		recipe: recipe === undefined ? undefined : hash(JSON.stringify(recipe)),
		plan: build?.engineSha256,
		structure:
			fingerprint === undefined ? undefined : hash(`${fingerprint.structure} ${fingerprint.tactics}`),
	};
	const numbers: Partial<Record<keyof EngineFacts, number | null | undefined>> = {
		ns: ms === undefined ? undefined : ms * 1e6,
		bytes: build?.engineBytes,
		memoryBytes: workload[arm]?.peakMemoryBytes,
		buildMs:
			build === undefined || build.fromCache === true || build.sharedWithBase === true
				? undefined
				: build.durationMs,
		microjoules: power == null || perSecond == null ? undefined : (power / perSecond) * 1e6,
	};
	return Object.fromEntries([
		...Object.entries(text).flatMap(([key, value]) =>
			value === undefined ? [] : [[key, value.slice(0, hashDigits)]],
		),
		...Object.entries(numbers).flatMap(([key, value]) => (value == null ? [] : [[key, Math.round(value)]])),
	]);
}

/** The worst of all cases, by output and metric. A similarity is kept as its distance from 1, so that smaller is better. */
function errorsOf(checks: readonly GoldenCheck[]): Record<string, number> {
	const worst: Record<string, number> = {};
	for (const { output, metric, bound, got, allowed } of checks) {
		if (typeof got !== "number" || allowed === null || (bound === "at-least" && got > 1)) continue;
		const name = bound === "at-least" ? `${output} 1 − ${metric}` : `${output} ${metric}`;
		const error = Number((bound === "at-least" ? 1 - got : got).toPrecision(4));
		worst[name] = Math.max(worst[name] ?? 0, error);
	}
	return worst;
}
