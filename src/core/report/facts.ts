// Facts about the whole job and its parts; and the rows of every report's main table, from verdicts and gates.
import type {
	Arm,
	ArmStats,
	BackendFacts,
	GateName,
	GateStatus,
	Part,
	Result,
	WorkloadResult,
} from "../../../generated/result.ts";
import { changeText, dash, formatDetectable, intervalText } from "../compare/sentence.ts";
import { absoluteGates, resultLabels, speedNames } from "../config/gate-records.ts";
import { groupBy } from "../group.ts";
import { comparedOf, shownMs } from "../stats/summary.ts";
import { cleanName } from "../text/escape.ts";
import { armName, present, speedLabel, statusTones, type Tone, withCaveat } from "../text/labels.ts";
import { formatBytes, formatDuration, formatMs, formatPercent, formatWork } from "../text/units.ts";
import { engineKey, GateIndex } from "./highlight.ts";

export function backendOf({ backend, parts = [] }: Result, { part }: { part?: string }): BackendFacts {
	return (part === undefined ? undefined : parts.find(({ name }) => name === part)?.backend) ?? backend;
}

/** Without its caveat if headline and table title already state it for all backends. */
export function backendOfRow(result: Result, record: { part?: string }): BackendFacts {
	const own = backendOf(result, record);
	const backends = [result.backend, ...(result.parts ?? []).flatMap(({ backend = [] }) => backend)];
	const caveats = new Set(backends.map(({ caveat }) => caveat));
	return caveats.size > 1 ? own : { ...own, caveat: undefined };
}

const gateLabels = {
	...resultLabels,
	preflight: "preflight",
	build: "build",
	golden: "golden",
	run: "timed runs",
	accept: "accepted change",
	probe: "probe, no reference",
	trend: "trend",
};

const speedGates: ReadonlySet<string> = new Set([...speedNames, "run"]);

export function gateLabel(gate: GateName, backend: BackendFacts): string {
	return speedGates.has(gate) ? withCaveat(gateLabels[gate], backend) : gateLabels[gate];
}

export function partsText(parts: readonly Part[]): string {
	const count = (state: Part["state"]) => parts.filter((part) => part.state === state).length;
	const merged = count("merged");
	const earlier = parts.filter(({ attempt }) => attempt !== undefined).length;
	return present([
		merged === parts.length ? `all ${merged} merged` : `${merged} of ${parts.length} merged`,
		...(["missing", "refused"] as const).map((state) => count(state) > 0 && `${count(state)} ${state}`),
		earlier > 0 && `${earlier} from an earlier attempt`,
	]).join(", ");
}

/** A single complete part of this attempt is the result itself. */
export function partsToReport({ parts = [] }: Result): readonly Part[] {
	const [only] = parts;
	const isWhole = only?.state === "merged" && only.partial === undefined && only.attempt === undefined;
	return parts.length === 1 && isWhole ? [] : parts;
}

/** @param change the pull request's own commit, of which GitHub's merge is tested. */
export function armsText(result: Result, change?: string): string {
	const { base, head } = result.arms;
	const isMerge =
		change !== undefined &&
		head.commit !== undefined &&
		head.commit !== change &&
		/\/merge$/.test(head.ref ?? "");
	const name = isMerge ? `${cleanName(change).slice(0, 7)} (merged as ${armName(head)})` : armName(head);
	if (isUnmeasured(result)) {
		const known = head.commit === undefined && change !== undefined ? cleanName(change).slice(0, 7) : name;
		return known === "head" ? "head, not measured" : `head ${known}, not measured`;
	}
	const on = versionsOf(result);
	return base === null ? `head ${name}, no base` : `base ${armName(base)}${on.base} → head ${name}${on.head}`;
}

function versionsOf({ backend, baseBackend = backend }: Result) {
	if (baseBackend.version === backend.version) return { base: "", head: "" };
	const on = ({ name, version }: BackendFacts) => ` on ${cleanName(name)} ${cleanName(version, 40)}`;
	return { base: on(baseBackend), head: on(backend) };
}

/** Where and on what it ran, as far as `armsText` does not tell. */
export function placeTexts(result: Result): string[] {
	const { backend, baseBackend = backend } = result;
	const parts = partsToReport(result);
	const isOneVersion = baseBackend.version === backend.version;
	const software = `${cleanName(backend.name)} ${cleanName(backend.version, 40)}`;
	return present([
		parts.length > 0 && partsText(parts),
		...(isUnmeasured(result) ? [] : [cleanName(backend.device), isOneVersion && software]),
	]);
}

export function jobFacts(result: Result): (readonly [label: string, value: string])[] {
	const { backend, environment, workloads, durationMs } = result;
	const largest = (of: "runCv" | "detectable", format: (share: number) => string) => {
		const values = workloads.flatMap(({ noise }) => noise[of] ?? []);
		return values.length === 0 ? undefined : format(Math.max(...values));
	};
	const driver = environment["driver"] ?? environment["driverBranch"];
	const parts = partsToReport(result);
	const measured: [string, string | undefined][] = [
		[backend.kind === "tensorrt" ? "GPU" : "device", cleanName(backend.device)],
		["driver", driver && cleanName(driver)],
		[cleanName(backend.name), cleanName(backend.version, 40)],
		["run noise up to", largest("runCv", formatPercent)],
		["smallest detectable change", largest("detectable", formatDetectable)],
		["took", formatDuration(durationMs)],
	];
	return [
		...(parts.length === 0 ? [] : [["parts", partsText(parts)] as const]),
		...(isUnmeasured(result) ? [] : measured).filter(
			(fact): fact is [string, string] => fact[1] !== undefined,
		),
	];
}

/** The run could not start, so a missing base made no difference. */
function isUnmeasured({ errors, builds, golden, workloads, gates }: Result) {
	return errors.length > 0 && [builds, golden, workloads, gates].every((list) => list.length === 0);
}

export function noBaseText(result: Result): string | null {
	const { base, noBase } = result.arms;
	if (base !== null || isUnmeasured(result)) return null;
	const why = noBase === undefined ? "" : ` (${cleanName(noBase, 300)})`;
	return `Nothing to compare with${why}: only builds, goldens and absolute limits were checked.`;
}

export interface WorkloadRow {
	workload: WorkloadResult;
	verdict: string;
	tone: Tone;
	isUnchanged: boolean;
	isSpeedUnchanged: boolean;
	golden: { match: number; total: number; tone: Tone } | null;
	texts: ReturnType<typeof textsOf>;
}

const rowGates: readonly GateName[] = [
	...(["latency", "work", "p99", "memory", "throughput", "vanished", "run"] as const),
	...absoluteGates.flatMap(({ level, name }) => (level === "workload" ? [name] : [])),
];

function verdictTone({ verdict }: WorkloadResult, gate: GateStatus | undefined, hasBase: boolean) {
	if (verdict === "regressed") return gate === undefined || gate === "pass" ? "warn" : statusTones[gate];
	if (verdict === "inconclusive") return gate === "fail" ? "bad" : "open";
	if (verdict === "not-comparable") return hasBase ? "open" : "plain";
	return verdict === "missing" ? "plain" : "ok";
}

function goldenTallies({ golden }: Result) {
	return new Map(
		[...groupBy(golden, engineKey)].map(([key, verdicts]) => {
			const cases = verdicts.filter(({ scope }) => scope !== "set");
			const match = cases.filter(({ state }) => state === "match").length;
			const isBad = verdicts.some(({ state }) => state === "mismatch");
			const tone = isBad ? "bad" : verdicts.every(({ state }) => state === "match") ? "ok" : "open";
			return [key, { match, total: cases.length, tone }] as const;
		}),
	);
}

export function workloadRows(result: Result): WorkloadRow[] {
	const gates = new GateIndex(result);
	const tallies = goldenTallies(result);
	const hasBase = result.arms.base !== null;
	return result.workloads.map((workload) => {
		const tone = verdictTone(workload, gates.status(speedGate(workload), workload), hasBase);
		const golden = tallies.get(engineKey(workload)) ?? null;
		const isChanged = workload.verdict === "improved" || (workload.verdict === "missing" && hasBase);
		const isSpeedUnchanged =
			(tone === "ok" || tone === "plain") &&
			!isChanged &&
			rowGates.every((gate) => (gates.status(gate, workload) ?? "pass") === "pass");
		const isUnchanged = isSpeedUnchanged && (golden === null || golden.tone === "ok");
		const verdict =
			!hasBase && tone === "plain" ? "no base" : speedLabel(workload, backendOfRow(result, workload));
		const texts = textsOf(workload, golden);
		return { workload, verdict, tone, isUnchanged, isSpeedUnchanged, golden, texts };
	});
}

export function speedGate({ work }: Pick<WorkloadResult, "work">): GateName {
	return work === undefined ? "latency" : "work";
}

export function isCounted(rows: readonly WorkloadRow[]): boolean {
	return rows.length > 0 && rows.every(({ workload }) => workload.work !== undefined);
}

export function armTitle(arm: Arm | "time", rows: readonly WorkloadRow[]): string {
	if (isCounted(rows)) return `${arm}, instructions`;
	const isMixed = rows.some(({ workload }) => workload.work !== undefined);
	return `${arm}, ${isMixed ? "median or instructions" : "median"}`;
}

function levelText(workload: WorkloadResult, arm: Arm) {
	const level = comparedOf(workload)[arm] ?? shownMs(workload, arm);
	if (level === undefined) return dash;
	return workload.work === undefined ? formatMs(level) : formatWork(level);
}

export function memoryText(base: ArmStats | null, head: ArmStats | null): string {
	const [from = dash, to] = [base, head].flatMap((arm) =>
		arm === null ? [] : [arm.peakMemoryBytes === null ? dash : formatBytes(arm.peakMemoryBytes)],
	);
	if (to === undefined || (from === dash && to === dash)) return from;
	const unit = to.slice(to.indexOf(" "));
	return `${from.endsWith(unit) ? from.slice(0, -unit.length) : from} → ${to}`;
}

function textsOf(workload: WorkloadResult, golden: WorkloadRow["golden"]) {
	const { base, head, work, p99 } = workload;
	const compared = comparedOf(workload);
	const isOneEngine = compared.pairs === 0 && compared.estimate === 0 && compared.base === undefined;
	const isExact = work?.interval != null && work.interval[0] === work.interval[1];
	const tail = p99.estimate === null && head !== null ? `${formatMs(head.p99Ms)} (head)` : changeText(p99);
	return {
		base: levelText(workload, "base"),
		head: levelText(workload, "head"),
		change: isOneEngine ? "same engine" : changeText(compared),
		interval: isOneEngine || isExact || compared.interval === null ? "" : intervalText(compared),
		p99: isOneEngine ? dash : tail,
		memory: memoryText(base, head),
		golden: golden === null ? dash : `${golden.match} / ${golden.total}`,
	};
}
