// The build gate: the engines of base and head side by side, why an engine was not built, and how each was built.
import type { Arm, BuildRecord, Result } from "../../../../generated/result.ts";
import { buildTimesApart } from "../../build-faults.ts";
import { groupBy } from "../../group.ts";
import { cleanName, quoted } from "../../text/escape.ts";
import { buildLabel, counted, listNames, subjectName, type Tone } from "../../text/labels.ts";
import { formatBytes, formatDuration } from "../../text/units.ts";
import { cleanMessage, codeSentences, dash } from "../comparison-format.ts";
import { excerptLines, type Highlight, type HighlightSeverity } from "../highlight.ts";
import { type Column, nameOf } from "../html/markup.ts";
import { engineKey, type GateIndex, gateKey } from "../index-gates.ts";
import { type Block, details, type ReportSection, sentence, table } from "../section.ts";

type BuildPair = Pick<BuildRecord, "part" | "model" | "engine"> & Record<Arm, BuildRecord | null>;

/** The builds of each engine, base and head side by side, in the order of the result. */
function buildPairs(result: Result): BuildPair[] {
	return [...groupBy(result.builds, engineKey).values()].flatMap((builds) => {
		const of = (arm: Arm) => builds.findLast((build) => build.arm === arm) ?? null;
		const [first] = builds;
		return first === undefined ? [] : [{ ...first, base: of("base"), head: of("head") }];
	});
}

function toneOf({ arm, state, failure }: BuildRecord): Tone {
	if (state === "built") return "ok";
	return arm === "base" || (state === "missing" && failure === undefined) ? "open" : "bad";
}

/** A cached engine's time is that of the run that built it. */
function timeText(build: BuildRecord | null): string {
	if (build === null) return dash;
	if (build.sharedWithBase === true) return "same engine";
	if (build.state !== "built") return buildLabel(build);
	return `${formatDuration(build.durationMs)}${build.fromCache === true ? " (cached)" : ""}`;
}

/** Warnings by class, and the notes on the builds; a note on both appears once. */
function remarksOf({ base, head }: BuildPair): string {
	const warnings = (head?.warnings ?? []).map(
		(warning) => `${warning.count} ${cleanName(warning.class, 40)}`,
	);
	const noted = [base, head].flatMap((build) =>
		(build?.notes ?? []).map((note) => [note, build?.arm ?? ""] as const),
	);
	const notes = [...groupBy(noted, ([note]) => note)].map(
		([note, sides]) => `${sides.length > 1 ? "both" : sides[0]?.[1]}: ${cleanName(note, 200)}`,
	);
	const texts = [listNames(warnings, 4), buildTimesApart({ base, head }) ?? "", ...notes.slice(0, 6)];
	return texts.filter((text) => text !== "").join(" · ") || "none";
}

const timeColumn = (arm: Arm): Column<BuildPair> => ({
	title: `build time ${arm}`,
	numeric: true,
	text: (pair) => timeText(pair[arm]),
	tone: ({ [arm]: build }) =>
		build === null || build.state === "built" || build.sharedWithBase === true ? null : toneOf(build),
	sortBy: (pair) => pair[arm]?.durationMs ?? null,
});

const sizeColumn = (arm: Arm): Column<BuildPair> => ({
	title: `size ${arm}`,
	numeric: true,
	text: ({ [arm]: build }) =>
		build?.engineBytes === undefined || build.state !== "built" ? dash : formatBytes(build.engineBytes),
	sortBy: (pair) => pair[arm]?.engineBytes ?? null,
});

const columns: readonly Column<BuildPair>[] = [
	{
		title: "Engine",
		heading: true,
		text: ({ model, engine, part }) => subjectName({ model, engine, part }),
		cell: ({ model, engine, part }) => nameOf(model, [engine], part),
	},
	{
		title: "head",
		text: ({ head }) => (head === null ? dash : buildLabel(head)),
		tone: ({ head }) => head && toneOf(head),
	},
	timeColumn("base"),
	timeColumn("head"),
	sizeColumn("base"),
	sizeColumn("head"),
	{ title: "warnings", wraps: true, text: remarksOf },
];

function recipesOf(result: Result): Block[] {
	const items = result.builds
		.filter(({ recipe = {} }) => Object.keys(recipe).length > 0)
		.slice(0, 100)
		.map((build) => {
			const settings = Object.entries(build.recipe ?? {}).slice(0, 40);
			const shown = settings.map(([key, value]) =>
				quoted(`${cleanName(key, 60)} = ${cleanName(value, 120)}`, 200),
			);
			return `${subjectName(build)}, ${build.arm}: ${shown.join(" ")}`;
		});
	return items.length === 0 ? [] : details("How each engine was built", [{ kind: "list", items }]);
}

/** A build that preflight forbade is explained by the preflight gate. */
function hasFailed({ state, failure }: BuildRecord): boolean {
	return (state === "missing" && failure !== undefined) || state === "refused" || state === "timed-out";
}

/** A base that does not build is not the change's fault. */
function severityOf(head: BuildRecord | undefined, gates: GateIndex): HighlightSeverity {
	if (head === undefined) return "note";
	const status = gates.status("build", head);
	return status === undefined || status === "pass" ? "fail" : status;
}

/** @param builds of one engine that failed in the same way. */
function buildHighlight(builds: readonly BuildRecord[], gates: GateIndex): Highlight[] {
	const head = builds.find(({ arm }) => arm === "head");
	const build = head ?? builds[0];
	if (build === undefined) return [];
	const { failure, log } = build;
	const label = buildLabel(build);
	const isUnusable = label === "unusable";
	const was = label === "failed" || label === "timed out" ? label : `was ${label}`;
	const arms = builds.map(({ arm }) => arm).join(" and ");
	const why = failure === undefined ? label : cleanMessage(failure.title, 300);
	return [
		{
			severity: severityOf(head, gates),
			topic: isUnusable ? ["unusable model", "unusable models"] : [`build ${label}`, `builds ${label}`],
			title: `${subjectName(build)} ${isUnusable ? "was not built" : "does not build"} (${arms}): ${why}`,
			sentences: [
				...(isUnusable ? [] : [`The build ${was} after ${formatDuration(build.durationMs)}.`]),
				...codeSentences("Cause", failure?.code),
				...codeSentences("Full log", log),
			],
			fix: failure && cleanMessage(failure.fix),
			excerpt: failure && excerptLines(failure.excerpt),
			explains: gateKey("build", build),
		},
	];
}

export const buildSection: ReportSection = {
	id: "builds",
	formats: ["markdown", "html"],
	show({ result }, { format, detail }) {
		const pairs = buildPairs(result);
		if (pairs.length === 0) return null;
		const built = pairs.filter(({ head }) => head?.state === "built").length;
		const shown = pairs.filter(({ head }) => detail.builtEngines || head?.state !== "built");
		return {
			title: `Build gate: ${built} of ${counted(pairs.length, "engine")} built`,
			blocks: [
				shown.length === 0
					? sentence("Times and sizes are in `report.html`.")
					: table("build gate", columns, shown, { noun: "engine" }),
				...(format === "html" ? recipesOf(result) : []),
			],
		};
	},
	highlights(result, gates) {
		const groups = groupBy(result.builds.filter(hasFailed), (build) =>
			JSON.stringify([engineKey(build), build.state, build.failure?.title]),
		);
		return [...groups.values()].flatMap((builds) => buildHighlight(builds, gates));
	},
};
