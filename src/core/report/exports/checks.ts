// What was judged, for other programs: SARIF, GitLab's Code Quality, JUnit XML, and a manifest for a release.
import type {
	BuildRecord,
	Finding,
	GateResult,
	GateStatus,
	Location,
	Result,
} from "../../../../generated/result.ts";
import { cleanMessage, cleanName, cleanText, escapeXml, jsonText, shorten } from "../../text/escape.ts";
import { gateTitle, subjectName } from "../../text/labels.ts";
import { backendOf, gateLabel } from "../facts.ts";
import { caseVerdicts } from "../golden-format.ts";
import { engineKey } from "../highlight.ts";

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

function attributes(values: Readonly<Record<string, string | number>>) {
	return Object.entries(values)
		.map(([name, value]) => ` ${name}="${escapeXml(String(value))}"`)
		.join("");
}

function element(tag: string, message: string, type: string) {
	return `<${tag}${attributes({ message: cleanMessage(message, 1000), type })}/>`;
}

function testcase(classname: string, name: string, body: string) {
	const head = `\t\t<testcase${attributes({ classname, name })}`;
	return body === "" ? `${head}/>` : `${head}>${body}</testcase>`;
}

/** JUnit has no warning: the case passes with a message. Skipped is never shown as passed. */
const bodies: Readonly<Record<GateStatus, (gate: GateResult) => string>> = {
	pass: () => "",
	warn: ({ message }) => `<system-out>${escapeXml(`Warning: ${cleanMessage(message, 1000)}`)}</system-out>`,
	fail: ({ message, gate }) => element("failure", message, gate),
	inconclusive: ({ message, gate }) => element("skipped", `Inconclusive: ${message}`, gate),
	error: ({ message, gate }) => element("error", message, gate),
};

function gateCase(gate: GateResult, result: Result) {
	const place = [gate.engine, gate.workload, gate.case]
		.filter((part) => part !== undefined)
		.map((part) => cleanName(part));
	const part = gate.part === undefined ? "" : ` (${cleanName(gate.part, 60)})`;
	const name = [gateLabel(gate.gate, backendOf(result, gate)), ...place].join(" · ") + part;
	return testcase(cleanName(gate.model), name, bodies[gate.status](gate));
}

export function renderJunit(result: Result): string {
	const { gates, backend, startedAt, durationMs } = result;
	// A fault of GitHub never changes the outcome.
	const errors = result.errors.filter((error) => error.kind !== "github");
	const count = (status: GateStatus) => gates.filter((gate) => gate.status === status).length;
	// The format knows a file of the suite, not of a case.
	const [file, second] = new Set(gates.flatMap(({ location }) => location?.path ?? []));
	const suite = attributes({
		name: gateTitle(backend),
		tests: gates.length + errors.length,
		failures: count("fail"),
		errors: count("error") + errors.length,
		skipped: count("inconclusive"),
		timestamp: startedAt,
		time: (durationMs / 1000).toFixed(3),
		...(file === undefined || second !== undefined ? {} : { file }),
	});
	return [
		'<?xml version="1.0" encoding="UTF-8"?>',
		"<testsuites>",
		`\t<testsuite${suite}>`,
		...gates.map((gate) => gateCase(gate, result)),
		...errors.map((error) =>
			testcase("errors", subjectName(error) || "the run", element("error", error.message, error.code)),
		),
		"\t</testsuite>",
		"</testsuites>",
		"",
	].join("\n");
}

export const predicateType = "https://github.com/trtgate/trtgate/manifest/v1";

export function renderManifest(result: Result): string {
	const { outcome, tool, startedAt, backend, environment, config, arms, gates } = result;
	const notPassing = gates
		.filter(({ status }) => status !== "pass")
		.map(({ gate, status, model, engine }) => ({ gate, status, model, engine }));
	const manifest = {
		predicateType,
		outcome,
		gates: { total: gates.length, notPassing },
		trtgate: tool.version,
		startedAt,
		commit: arms.head.commit,
		comparedWith: arms.base?.commit ?? arms.base?.label ?? null,
		config: { path: config.path, sha256: config.sha256 },
		backend,
		environment,
		engines: result.builds
			.filter(({ arm, state }) => arm === "head" && state === "built")
			.map((build) => engineOf(build, result)),
	};
	return jsonText(manifest);
}

function engineOf(build: BuildRecord, result: Result) {
	const { model, engine, part, precision, engineSha256, engineBytes, recipe, durationMs } = build;
	const verdicts = result.golden.filter((verdict) => engineKey(verdict) === engineKey(build));
	return {
		...{ model, engine, part, precision, engineSha256, engineBytes },
		file: build.enginePath?.replace(/^.*\/engines\//, ""),
		onnxSha256: build.modelSha256,
		...{ recipe, durationMs, fromCache: build.fromCache ?? false },
		goldens: [...new Set(verdicts.flatMap(({ golden }) => golden ?? []))],
		goldenCases: caseVerdicts(verdicts).map((verdict) => ({ case: verdict.case, state: verdict.state })),
	};
}
