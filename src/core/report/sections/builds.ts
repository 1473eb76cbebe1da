// Errors, findings of preflight, and builds.
import type { Arm, BuildRecord, ErrorRecord, Finding, Result } from "../../../../generated/result.ts";
import { buildTimesApart } from "../../build-faults.ts";
import { codeSentences, dash } from "../../compare/sentence.ts";
import { type Group, groupBy } from "../../group.ts";
import { cleanMessage, cleanName } from "../../text/escape.ts";
import { buildLabel, counted, listNames, present, subjectName, subjectOf } from "../../text/labels.ts";
import { formatBytes, formatDuration } from "../../text/units.ts";
import { engineKey, type GateIndex, gateKey, type Highlight } from "../highlight.ts";
import { nameOf } from "../html/markup.ts";
import {
	type Column,
	code,
	heading,
	long,
	numbers,
	numeric,
	plain,
	type ReportSection,
	sentence,
	table,
} from "../section.ts";

const faultOf = {
	configuration: "the configuration",
	runner: "the runner; a retry may help",
	github: "GitHub's side; it does not change the outcome",
	internal: "trtgate itself",
};

function errorHighlight(error: ErrorRecord): Highlight {
	const { kind, code, message, fix, excerpt = [], log, model } = error;
	return {
		severity: kind === "github" ? "warn" : "error",
		topic: kind === "github" ? ["GitHub fault", "GitHub faults"] : ["error", "errors"],
		title: present([subjectName(error), cleanMessage(message, 400)]).join(": "),
		sentences: [
			`Code \`${cleanMessage(code, 80).replaceAll("`", "'")}\`, a fault of ${faultOf[kind]}.`,
			...codeSentences("Full log", log),
		],
		fix: fix && cleanMessage(fix),
		excerpt,
		explains: model === undefined ? [] : [gateKey("run", { ...error, model })],
	};
}

export const errorSection: ReportSection = {
	id: "errors",
	show: () => null,
	highlights: ({ errors }) => errors.map(errorHighlight),
};

const severityTones = { error: "bad", warning: "warn", note: "plain" } as const;

const findingColumns: readonly Column<Finding>[] = [
	heading("Where", (one) => `${subjectName(one) || dash}${one.arm === undefined ? "" : ` (${one.arm})`}`),
	plain("severity", ({ severity }) => severity, { tone: ({ severity }) => severityTones[severity] }),
	code("code", (finding) => cleanName(finding.code, 60)),
	long("what", ({ message, node }) => {
		return `${cleanMessage(message, 400)}${node === undefined ? "" : ` (node ${cleanName(node, 120)})`}`;
	}),
	long("what to do", ({ fix = dash }) => cleanMessage(fix, 300)),
];

export const findingSection: ReportSection = {
	id: "findings",
	formats: ["markdown", "html"],
	show({ result: { findings } }) {
		if (findings.length === 0) return null;
		return {
			title: `Preflight: ${counted(findings.length, "finding")}`,
			blocks: [table("findings", findingColumns, findings, { noun: "finding" })],
		};
	},
};

type BuildPair = Pick<BuildRecord, "part" | "model" | "engine"> & Record<Arm, BuildRecord | null>;

export function buildPairs({ builds }: Result) {
	return [...groupBy(builds, engineKey).values()].map((own) => {
		const of = (arm: Arm) => own.findLast((build) => build.arm === arm) ?? null;
		return { ...own[0], base: of("base"), head: of("head") };
	});
}

function warningsText({ head }: BuildPair) {
	const warnings = head?.warnings?.map((one) => `${one.count} ${cleanName(one.class, 40)}`) ?? [];
	return listNames(warnings, 4) || "none";
}

function notesText({ base, head }: BuildPair) {
	const noted = [base, head].flatMap((build) =>
		(build?.notes ?? []).map((note) => [note, build?.arm ?? ""] as const),
	);
	const notes = [...groupBy(noted, ([note]) => note)].map(
		([note, sides]) => `${sides.length > 1 ? "both" : sides[0]?.[1]}: ${cleanName(note, 200)}`,
	);
	return present([buildTimesApart({ base, head }), ...notes.slice(0, 6)]).join(" · ");
}

function toneOf({ arm, state, failure }: BuildRecord) {
	if (state === "built") return "ok";
	return arm === "base" || (state === "missing" && failure === undefined) ? "open" : "bad";
}

function timeText(build: BuildRecord | null) {
	if (build === null) return dash;
	if (build.sharedWithBase === true) return "same engine";
	if (build.state !== "built") return buildLabel(build);
	return `${formatDuration(build.durationMs)}${build.fromCache === true ? " (cached)" : ""}`;
}

const timeColumn = (arm: Arm): Column<BuildPair> =>
	numeric(`build time ${arm}`, (pair) => timeText(pair[arm]), {
		tone: ({ [arm]: build }) =>
			build === null || build.state === "built" || build.sharedWithBase === true ? null : toneOf(build),
		sortBy: (pair) => pair[arm]?.durationMs ?? null,
	});

const sizeColumn = (arm: Arm): Column<BuildPair> =>
	numbers(
		`size ${arm}`,
		({ [arm]: build }) => (build?.state === "built" ? build.engineBytes : null),
		formatBytes,
	);

const buildColumns: readonly Column<BuildPair>[] = [
	heading("Engine", ({ model, engine, part }) => subjectName({ model, engine, part }), {
		cell: ({ model, engine, part }) => nameOf(model, [engine], part),
	}),
	plain("head", ({ head }) => (head === null ? dash : buildLabel(head)), {
		tone: ({ head }) => head && toneOf(head),
	}),
	timeColumn("base"),
	timeColumn("head"),
	sizeColumn("base"),
	sizeColumn("head"),
	long("warnings", warningsText),
	long("notes", notesText, { formats: ["html"] }),
];

/** A build that preflight forbade is explained by the preflight gate. */
function hasFailed({ state, failure }: BuildRecord) {
	return (state === "missing" && failure !== undefined) || state === "refused" || state === "timed-out";
}

function buildHighlight(builds: Group<BuildRecord>, gates: GateIndex): Highlight {
	const head = builds.find(({ arm }) => arm === "head");
	const build = head ?? builds[0];
	const { failure, log } = build;
	const label = buildLabel(build);
	const isUnusable = label === "unusable";
	const was = label === "failed" || label === "timed out" ? label : `was ${label}`;
	const arms = builds.map(({ arm }) => arm).join(" and ");
	const why = failure === undefined ? label : cleanMessage(failure.title, 300);
	return {
		...gates.explain("build", build, "fail"),
		// A base that does not build is not the change's fault.
		...(head === undefined && { severity: "note" }),
		about: subjectOf(build),
		topic: isUnusable ? ["engine not built", "engines not built"] : [`build ${label}`, `builds ${label}`],
		title: `${subjectName(build)} ${isUnusable ? "was not built" : "does not build"} (${arms}): ${why}`,
		sentences: present([
			!isUnusable && build.durationMs > 0 && `The build ${was} after ${formatDuration(build.durationMs)}.`,
			...codeSentences("Cause", failure?.code),
			...codeSentences("Full log", log),
		]),
		fix: failure && cleanMessage(failure.fix),
		excerpt: failure?.excerpt,
	};
}

export const buildSection: ReportSection = {
	id: "builds",
	formats: ["markdown", "html"],
	show({ result }, { detail }) {
		const pairs = buildPairs(result);
		if (pairs.length === 0) return null;
		const built = pairs.filter(({ head }) => head?.state === "built").length;
		const shown = pairs.filter(({ head }) => detail.quietRows || head?.state !== "built");
		const block =
			shown.length === 0
				? sentence("Times and sizes are in `report.html`.")
				: table("build gate", buildColumns, shown, { noun: "engine" });
		return { title: `Build gate: ${built} of ${counted(pairs.length, "engine")} built`, blocks: [block] };
	},
	highlights(result, gates) {
		const groups = groupBy(result.builds.filter(hasFailed), (build) =>
			JSON.stringify([engineKey(build), build.state, build.failure?.title]),
		);
		return [...groups.values()].map((builds) => buildHighlight(builds, gates));
	},
};
