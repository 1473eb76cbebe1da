// Labels, symbols and the order of outcomes, the same in every report.
import type {
	ArmSource,
	BackendFacts,
	BuildRecord,
	GateStatus,
	GoldenState,
	InterfaceRow,
	InterfaceValue,
	Outcome,
	VerdictKind,
	WorkloadResult,
} from "../../../generated/result.ts";
import { cleanName } from "./escape.ts";
import { formatCount } from "./units.ts";

export type Tone = "bad" | "warn" | "ok" | "open" | "plain";

/** Worst first. A failure beats an error, because a retry would not fix it. */
export const precedence: readonly Outcome[] = ["fail", "error", "inconclusive", "warn", "pass"];

/** Returns error if there are none. */
export function worstOutcome(outcomes: Iterable<Outcome>): Outcome {
	const all = new Set(outcomes);
	return precedence.find((outcome) => all.has(outcome)) ?? "error";
}

export const outcomeLabels: Readonly<Record<Outcome, string>> = {
	pass: "passed",
	warn: "passed with warnings",
	fail: "failed",
	inconclusive: "inconclusive",
	error: "could not decide",
};

export const outcomeSymbols = {
	pass: "✅",
	warn: "⚠️",
	fail: "❌",
	inconclusive: "❔",
	error: "🛑",
	note: "ℹ️",
};

/** For figures that a fork's code could forge. */
export const unverifiedText = "Reported by the fork's own job; not verified";

export const statusTones = {
	...{ pass: "ok", warn: "warn", fail: "bad", inconclusive: "open", error: "bad", note: "plain" },
} as const satisfies Readonly<Record<GateStatus | "note", Tone>>;

const verdictLabels = {
	regressed: "slower",
	improved: "faster",
	unchanged: "unchanged",
	inconclusive: "inconclusive",
	"not-comparable": "not comparable",
	missing: "not compared",
};

const buildLabels = {
	built: "built",
	refused: "refused",
	"timed-out": "timed out",
	missing: "not in this version",
	skipped: "skipped by preflight",
};

/** A fault of the machine is not a refusal. */
export function buildLabel(build: BuildRecord): string {
	if (build.state === "missing" && build.failure !== undefined) return "unusable";
	return build.state === "refused" && build.failure?.kind === "runner" ? "failed" : buildLabels[build.state];
}

export const goldenLabels: Readonly<Record<GoldenState, string>> = {
	match: "match",
	mismatch: "mismatch",
	existing: "mismatch in the base too",
	stale: "stale",
	error: "not judged",
};

export function withCaveat(label: string, backend: BackendFacts): string {
	if (backend.caveat === undefined) return label;
	const caveat = cleanName(backend.caveat);
	return label.endsWith(")") ? `${label.slice(0, -1)}; ${caveat})` : `${label} (${caveat})`;
}

const workLabels: Partial<Record<VerdictKind, string>> = { regressed: "more work", improved: "less work" };

export function speedLabel(
	{ verdict, work }: Pick<WorkloadResult, "verdict" | "work">,
	backend: BackendFacts,
): string {
	return withCaveat((work && workLabels[verdict]) ?? verdictLabels[verdict], backend);
}

export function gateTitle(backend: BackendFacts): string {
	return withCaveat(
		backend.kind === "tensorrt" ? "TensorRT gate" : `Gate on ${cleanName(backend.name)}`,
		backend,
	);
}

export function capitalize(text: string): string {
	return text.charAt(0).toUpperCase() + text.slice(1);
}

export function present(texts: readonly (string | number | null | undefined | false)[]): string[] {
	return texts.filter((text) => typeof text === "string" && text !== "") as string[];
}

export function counted(count: number, singular: string, plural = `${singular}s`): string {
	return `${formatCount(count)} ${count === 1 ? singular : plural}`;
}

export interface Subject {
	model?: string;
	engine?: string;
	workload?: string;
	case?: string;
	part?: string | undefined;
}

export function subjectOf({ model, engine, workload, case: id, part }: Subject): Subject {
	const names = { model, engine, workload, case: id, part };
	return Object.fromEntries(Object.entries(names).filter(([, name]) => name !== undefined));
}

export const subjectLevels = ["model", "engine", "workload", "case"] as const;

export function commonSubject([first, ...others]: readonly Subject[]): Subject {
	const same = (key: keyof Subject) => others.every((other) => other[key] === first?.[key]);
	const depth = subjectLevels.findIndex((level) => !same(level));
	const shared = depth === -1 ? subjectLevels : subjectLevels.slice(0, depth);
	const keys = [...shared, ...(same("part") ? (["part"] as const) : [])];
	return Object.fromEntries(keys.flatMap((key) => (first?.[key] === undefined ? [] : [[key, first[key]]])));
}

/** `classifier · fp16 · batch 8 (part)`; "" for the whole run. */
export function subjectName(subject: Subject): string {
	const { model, engine, workload, case: id, part } = subject;
	const pieces = [model, engine, workload, id].flatMap((piece) => piece ?? []);
	const name = pieces.map((piece) => cleanName(piece)).join(" · ");
	if (part === undefined) return name;
	return name === "" ? cleanName(part, 60) : `${name} (${cleanName(part, 60)})`;
}

export function armName(arm: ArmSource): string {
	return arm.commit === undefined ? cleanName(arm.label) : cleanName(arm.commit).slice(0, 7);
}

/** `output y float32 [batch, 4] was removed`. */
export function interfaceText({ side, base, head }: InterfaceRow): string {
	if (side === "size" && base !== null && head !== null)
		return `${base.name} takes ${head.shape}; in the base ${base.shape}`;
	if (side === "workload" && base !== null)
		return `workload ${base.name} of the base no longer runs: ${base.shape}`;
	if (base === null) return head === null ? side : `${side} ${interfaceValueText(head)} is new`;
	if (head === null) return `${side} ${interfaceValueText(base)} was removed`;
	return `${side} ${interfaceValueText(base)} → ${interfaceValueText(head)}`;
}

function interfaceValueText({ name, dtype, shape }: InterfaceValue) {
	return `${name} ${dtype} ${shape}`;
}

export function shapesText(shapes: Readonly<Record<string, readonly number[]>>): string[] {
	return Object.entries(shapes)
		.slice(0, 12)
		.map(([name, shape]) => `${cleanName(name, 40)} ${shape.slice(0, 12).join("×")}`);
}

export function listNames(names: readonly string[], most = 5): string {
	return `${names.slice(0, most).join(", ")}${names.length > most ? ` and ${names.length - most} more` : ""}`;
}
