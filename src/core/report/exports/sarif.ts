// Findings about models and the config as SARIF 2.1.0, for code scanning and editors.
import type { Finding, Location, Result } from "../../../../generated/result.ts";
import { cleanMessage, cleanText, jsonText, shorten } from "../../text/escape.ts";
import { subjectName } from "../../text/labels.ts";

type Page = keyof typeof pages;

type Problem = Omit<Finding, "model"> & { model?: string; page: Page };

export function renderSarif(result: Result): string {
	const { tool } = result;
	const problems = problemsOf(result);
	const rules = new Map(problems.toReversed().map(({ code, page }) => [codeOf(code), page]));
	const codes = [...new Set(problems.map(({ code }) => codeOf(code)))];
	const driver = {
		name: tool.name,
		semanticVersion: tool.version,
		informationUri: helpUri(null, "errors"),
		rules: codes.map((code) => ({
			id: code,
			shortDescription: { text: code.replaceAll("-", " ") },
			helpUri: helpUri(code, rules.get(code) ?? "errors"),
		})),
	};
	const run = {
		tool: { driver },
		invocations: [invocationOf(result)],
		columnKind: "utf16CodeUnits",
		results: problems.map((problem) => resultOf(problem, codes, result.config.path)),
	};
	const log = { $schema: "https://json.schemastore.org/sarif-2.1.0.json", version: "2.1.0", runs: [run] };
	return jsonText(log);
}

function problemsOf({ errors, findings }: Result) {
	// A fault of the runner or of GitHub is not a finding about the repository.
	const faults = errors.filter(({ kind }) => kind === "configuration");
	return [
		...faults.map((error) => ({ ...error, severity: "error", page: "errors" }) as const),
		...findings.map((finding) => ({ ...finding, page: "findings" }) as const),
	];
}

const severities = { error: "major", warning: "minor", note: "info" } as const;

/** The same findings as GitLab's Code Quality report: https://docs.gitlab.com/ci/testing/code_quality/ */
export function renderCodeQuality(result: Result): string {
	const seen = new Map<string, number>();
	return jsonText(
		problemsOf(result).map((problem) => {
			const { location } = problem;
			const identity = identityOf(problem);
			const count = (seen.get(identity) ?? 0) + 1;
			seen.set(identity, count);
			return {
				check_name: codeOf(problem.code),
				description: textOf(problem),
				severity: severities[problem.severity],
				fingerprint: count === 1 ? identity : `${identity}#${count}`,
				location: {
					path: cleanText(shorten(location?.path ?? result.config.path, 2000)),
					lines: { begin: Math.max(1, location?.line ?? 1) },
				},
			};
		}),
	);
}

/** Our own codes are shorter; a result may come from an untrusted source. */
function codeOf(code: string) {
	return cleanMessage(code, 100);
}

/** Distinguishes a run without findings from one that could not look. */
function invocationOf({ errors, outcome, startedAt }: Result) {
	const notifications = errors
		.filter(({ kind }) => kind !== "configuration" && kind !== "github")
		.map(({ code, message }) => ({
			level: "error",
			descriptor: { id: codeOf(code) },
			message: { text: cleanMessage(message, 2000) },
		}));
	return {
		executionSuccessful: outcome !== "error",
		startTimeUtc: startedAt,
		toolExecutionNotifications: notifications.length === 0 ? undefined : notifications,
	};
}

function resultOf(problem: Problem, codes: readonly string[], configPath: string) {
	const { severity, location } = problem;
	const code = codeOf(problem.code);
	return {
		ruleId: code,
		ruleIndex: codes.indexOf(code),
		level: severity,
		message: { text: textOf(problem) },
		// GitHub's code scanning refuses a result without a location.
		locations: [{ physicalLocation: placeOf(location ?? { path: configPath }) }],
		partialFingerprints: { "trtgateSubject/v1": identityOf(problem) },
	};
}

function textOf(problem: Problem) {
	const { message, fix } = problem;
	const before = problem.model === undefined ? "" : `${subjectOf(problem)}: `;
	const after = fix === undefined ? "" : ` ${cleanMessage(fix, 1000)}`;
	return `${before}${cleanMessage(message, 2000)}${after}`;
}

function identityOf(problem: Problem) {
	const node = problem.node === undefined ? "" : cleanMessage(problem.node, 200);
	return [codeOf(problem.code), subjectOf(problem), node].join("/");
}

function subjectOf(problem: Problem) {
	return problem.model === undefined ? "" : subjectName({ ...problem, model: problem.model });
}

function placeOf({ path, line = 0, column = 0 }: Location) {
	const region = line < 1 ? undefined : { startLine: line, startColumn: column < 1 ? undefined : column };
	return { artifactLocation: { uri: fileUri(path) }, region };
}

/** A relative path stays relative, so that viewers find it in the repository. */
function fileUri(path: string) {
	const clean = cleanText(shorten(path, 2000)).replaceAll("\\", "/");
	const escaped = clean.split("/").map(encodeURIComponent).join("/");
	return clean.startsWith("/") ? `file://${escaped}` : escaped;
}

const documentation = "https://github.com/trtgate/trtgate/blob/main/docs";
const pages = { errors: "troubleshooting.md", findings: "troubleshooting/preflight.md" } as const;

/** The code is the anchor of its heading; null is the page itself. */
export function helpUri(code: string | null, page: Page): string {
	return `${documentation}/${pages[page]}${code === null ? "" : `#${encodeURIComponent(code)}`}`;
}
