// Facts about the whole job that reports show near the top, and about the parts of a merged one.
import type { Arm, BackendFacts, Part, Result } from "../../../generated/result.ts";
import { cleanName } from "../text/escape.ts";
import { armName, counted } from "../text/labels.ts";
import { formatDuration, formatPercent } from "../text/units.ts";
import { caseVerdicts } from "./golden-format.ts";

/** What ran the record's engine: in a merged result, the backend of its part. */
export function backendOf(result: Result, record: { part?: string | undefined }): BackendFacts {
	if (record.part === undefined || result.parts === undefined) return result.backend;
	return result.parts.find((part) => part.name === record.part)?.backend ?? result.backend;
}

/** The backend that a row or a sentence names: without its caveat where headline and table title already state it for all of them. */
export function backendOfRow(result: Result, record: { part?: string | undefined }): BackendFacts {
	const own = backendOf(result, record);
	const caveats = new Set(
		[result.backend, ...(result.parts ?? []).flatMap(({ backend }) => backend ?? [])].map(
			({ caveat }) => caveat,
		),
	);
	if (caveats.size > 1) return own;
	const { caveat: _, ...plain } = own;
	return plain;
}

/** `3 of 5 merged, 1 missing, 1 refused`. */
export function partsText(parts: readonly Part[]): string {
	const count = (state: Part["state"]): number => parts.filter((part) => part.state === state).length;
	const [merged, missing, refused] = [count("merged"), count("missing"), count("refused")];
	const earlier = parts.filter(({ attempt }) => attempt !== undefined).length;
	const rest = [
		...(missing === 0 ? [] : [`${missing} missing`]),
		...(refused === 0 ? [] : [`${refused} refused`]),
	];
	const old = earlier === 0 ? [] : [`${earlier} from an earlier attempt`];
	return [
		rest.length === 0 ? `all ${merged} merged` : `${merged} of ${parts.length} merged`,
		...rest,
		...old,
	].join(", ");
}

/** The parts that a report shows: a single complete part of this attempt is the result itself. */
export function partsToReport({ parts = [] }: Result): readonly Part[] {
	const [only] = parts;
	const isWhole = only?.state === "merged" && only.partial === undefined && only.attempt === undefined;
	return parts.length === 1 && isWhole ? [] : parts;
}

export interface Fact {
	label: string;
	value: string;
}

interface NoiseBudget {
	/** Half the widest interval of any workload: a smaller change cannot be detected. */
	detectable: number | null;
	runCv: number | null;
}

function largest(values: readonly (number | null)[]): number | null {
	return values.reduce(
		(most, value) => (value === null || (most !== null && most >= value) ? most : value),
		null,
	);
}

function noiseBudget(result: Result): NoiseBudget {
	return {
		detectable: largest(result.workloads.map((workload) => workload.noise.detectable)),
		runCv: largest(result.workloads.map((workload) => workload.noise.runCv)),
	};
}

export function countsText(result: Result): string {
	const parts = [
		...(result.workloads.length === 0 ? [] : [counted(result.workloads.length, "workload")]),
		...(result.golden.length === 0 ? [] : [counted(caseVerdicts(result.golden).length, "golden case")]),
		...((result.probes ?? []).length === 0 ? [] : [counted(result.probes?.length ?? 0, "probe")]),
		...(result.builds.length === 0 ? [] : [counted(result.builds.length, "build")]),
	];
	return parts.join(", ");
}

/** @param change the pull request's own commit, which people know; what is tested is GitHub's merge of it. */
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

/** ` on TensorRT 10.6.0` of both sides, where their versions differ. */
export function versionsOf({ backend, baseBackend = backend }: Result): Record<Arm, string> {
	if (baseBackend.version === backend.version) return { base: "", head: "" };
	const on = ({ name, version }: BackendFacts): string => ` on ${cleanName(name)} ${cleanName(version, 40)}`;
	return { base: on(baseBackend), head: on(backend) };
}

export function jobFacts(result: Result): Fact[] {
	const { backend, environment } = result;
	const { detectable, runCv } = noiseBudget(result);
	const driver = ["driver", "driverBranch"].flatMap((key) =>
		Object.hasOwn(environment, key) ? (environment[key] ?? []) : [],
	)[0];
	const parts = partsToReport(result);
	if (isUnmeasured(result)) return parts.length === 0 ? [] : [{ label: "parts", value: partsText(parts) }];
	return [
		...(parts.length === 0 ? [] : [{ label: "parts", value: partsText(parts) }]),
		{ label: backend.kind === "tensorrt" ? "GPU" : "device", value: cleanName(backend.device) },
		...(driver === undefined ? [] : [{ label: "driver", value: cleanName(driver) }]),
		{ label: cleanName(backend.name), value: cleanName(backend.version, 40) },
		...(runCv === null ? [] : [{ label: "run noise up to", value: formatPercent(runCv) }]),
		...(detectable === null
			? []
			: [{ label: "smallest change this job can detect:", value: formatPercent(detectable) }]),
		{ label: "took", value: formatDuration(result.durationMs) },
	];
}

/** The run could not begin, so a missing base made no difference. */
function isUnmeasured({ errors, builds, golden, workloads, gates }: Result): boolean {
	return errors.length > 0 && [builds, golden, workloads, gates].every((list) => list.length === 0);
}

/** Replaces the comparison where there is no base. */
export function noBaseText(result: Result): string | null {
	if (result.arms.base !== null || isUnmeasured(result)) return null;
	const why = result.arms.noBase === undefined ? "" : ` (${cleanName(result.arms.noBase, 300)})`;
	return `Nothing to compare with${why}: only builds, goldens and absolute limits were checked.`;
}
