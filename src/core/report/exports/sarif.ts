// Findings about models and faults of the config as SARIF 2.1.0, for code scanning and editors.
import type { ErrorRecord, Finding, Location, Result } from "../../../../generated/result.ts";
import { cleanText, shorten } from "../../text/escape.ts";
import { subjectName } from "../../text/labels.ts";
import { cleanMessage } from "../comparison-format.ts";

type SarifLevel = "error" | "warning" | "note";

interface Problem {
	code: string;
	level: SarifLevel;
	/** Which page of the documentation has a heading for the code. */
	page: "errors" | "findings";
	message: string;
	fix?: string;
	/** `model · engine`. */
	subject?: string;
	node?: string;
	location?: Location;
}

/** A result may come from an untrusted source; our own codes are less than half as long. */
const longestCode = 100;

export function renderSarif(result: Result): string {
	const problems = [...result.errors.flatMap(ofError), ...result.findings.map(ofFinding)];
	const codes = [...new Set(problems.map(({ code }) => code))];
	const log = {
		$schema: "https://json.schemastore.org/sarif-2.1.0.json",
		version: "2.1.0",
		runs: [
			{
				tool: { driver: driverOf(result, codes, problems) },
				invocations: [invocationOf(result)],
				columnKind: "utf16CodeUnits",
				results: problems.map((problem) => resultOf(problem, { codes, configPath: result.config.path })),
			},
		],
	};
	return `${JSON.stringify(log, null, "\t")}\n`;
}

/** Only the user's own input: a broken runner or GitHub is no finding about the repository. */
function ofError(error: ErrorRecord): Problem[] {
	if (error.kind !== "configuration") return [];
	const { message, fix, location, model } = error;
	const code = cleanMessage(error.code, longestCode);
	const subject = model === undefined ? {} : { subject: subjectName(error) };
	return [{ code, level: "error", page: "errors", message, ...subject, ...optional({ fix, location }) }];
}

function ofFinding(finding: Finding): Problem {
	const { severity, message, fix, location, node, model } = finding;
	const code = cleanMessage(finding.code, longestCode);
	const subject = model === undefined ? {} : { subject: subjectName(finding) };
	return {
		code,
		level: severity,
		page: "findings",
		message,
		...subject,
		...optional({ fix, location, node }),
	};
}

/** Without the fields that are undefined. */
function optional<Fields extends object>(
	fields: Fields,
): { [Key in keyof Fields]?: Exclude<Fields[Key], undefined> } {
	return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;
}

function driverOf({ tool }: Result, codes: readonly string[], problems: readonly Problem[]): object {
	const rules = codes.map((code) => {
		const page = problems.find((problem) => problem.code === code)?.page ?? "errors";
		return { id: code, shortDescription: { text: code.replaceAll("-", " ") }, helpUri: helpUri(code, page) };
	});
	return { name: tool.name, semanticVersion: tool.version, informationUri: helpUri(null, "errors"), rules };
}

/** Distinguishes a run that found nothing from one that could not look. */
function invocationOf(result: Result): object {
	const notifications = result.errors
		.filter((error) => error.kind !== "configuration" && error.kind !== "github")
		.map((error) => ({
			level: "error",
			descriptor: { id: cleanMessage(error.code, longestCode) },
			message: { text: cleanMessage(error.message, 2000) },
		}));
	return {
		executionSuccessful: result.outcome !== "error",
		startTimeUtc: result.startedAt,
		...(notifications.length === 0 ? {} : { toolExecutionNotifications: notifications }),
	};
}

function resultOf(
	problem: Problem,
	{ codes, configPath }: { codes: readonly string[]; configPath: string },
): object {
	const { code, level, message, fix, subject, node, location } = problem;
	const text = [
		subject === undefined ? "" : `${subject}: `,
		cleanMessage(message, 2000),
		fix === undefined ? "" : ` ${cleanMessage(fix, 1000)}`,
	].join("");
	const logical = [
		...(subject === undefined ? [] : [{ fullyQualifiedName: subject, kind: "module" }]),
		...(node === undefined ? [] : [{ fullyQualifiedName: cleanMessage(node, 200), kind: "element" }]),
	];
	return {
		ruleId: code,
		ruleIndex: codes.indexOf(code),
		level,
		message: { text },
		// GitHub's code scanning refuses a result without a place: the config is where a model is named.
		locations: [
			{
				physicalLocation: placeOf(location ?? { path: configPath }),
				...(logical.length === 0 ? {} : { logicalLocations: logical }),
			},
		],
		// What stays when lines move.
		partialFingerprints: {
			"trtgateSubject/v1": [code, subject ?? "", node === undefined ? "" : cleanMessage(node, 200)].join("/"),
		},
	};
}

function placeOf({ path, line, column }: Location): object {
	const region =
		line === undefined || line < 1
			? undefined
			: { startLine: line, ...(column === undefined || column < 1 ? {} : { startColumn: column }) };
	return { artifactLocation: { uri: fileUri(path) }, region };
}

/** A relative path stays relative, so that viewers find it in the repository; what a URI cannot hold is escaped. */
function fileUri(path: string): string {
	const clean = cleanText(shorten(path, 2000)).replaceAll("\\", "/");
	const escaped = clean.split("/").map(encodeURIComponent).join("/");
	return clean.startsWith("/") ? `file://${escaped}` : escaped;
}

const documentation = "https://github.com/trtgate/trtgate/blob/main/docs";
const pages = { errors: "troubleshooting.md", findings: "troubleshooting/preflight.md" } as const;

/** Every code has a heading, whose anchor is the code; null is the page itself. */
export function helpUri(code: string | null, page: keyof typeof pages): string {
	const anchor = code === null ? "" : `#${encodeURIComponent(code)}`;
	return `${documentation}/${pages[page]}${anchor}`;
}
