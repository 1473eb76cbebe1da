// Facts about the whole job and its parts.
import type { BackendFacts, GateName, Part, Result } from "../../../generated/result.ts";
import { formatDetectable } from "../compare/sentence.ts";
import { resultLabels, speedNames } from "../config/gate-records.ts";
import { cleanName } from "../text/escape.ts";
import { armName, present, withCaveat } from "../text/labels.ts";
import { formatDuration, formatPercent } from "../text/units.ts";

/** The backend that ran the record's engine: in a merged result, that of its part. */
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

const gateLabels: Readonly<Record<GateName, string>> = {
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
	if (isUnmeasured(result)) return `head ${name}, not measured`;
	const on = versionsOf(result);
	return base === null ? `head ${name}, no base` : `base ${armName(base)}${on.base} → head ${name}${on.head}`;
}

function versionsOf({ backend, baseBackend = backend }: Result) {
	if (baseBackend.version === backend.version) return { base: "", head: "" };
	const on = ({ name, version }: BackendFacts) => ` on ${cleanName(name)} ${cleanName(version, 40)}`;
	return { base: on(baseBackend), head: on(backend) };
}

type Fact = readonly [label: string, value: string];

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

export function jobFacts(result: Result): Fact[] {
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
		["smallest change this job can detect:", largest("detectable", formatDetectable)],
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
