// Published texts: markers that nobody can forge or break, lengths within GitHub's limits, names made harmless.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Outcome } from "../../../generated/result.ts";
import { describeCheckRun } from "../../../src/core/report/check-run.ts";
import {
	alarmBody,
	alarmOf,
	alarmTitle,
	findHistory,
	findMarker,
	isNewer,
	isOwnAuthor,
	isRecovered,
	markerId,
	renderComment,
	renderMarker,
} from "../../../src/core/report/comment.ts";
import { linksMarkdown, renderUnpublished } from "../../../src/core/report/markdown.ts";
import { buildGate, buildResult, buildWorkload } from "../../support/build-result.ts";

const sha = "d".repeat(40);
const marker = { id: "trtgate.yml", runId: 12, attempt: 2, sha };
const source = { event: "schedule", ref: "refs/heads/main", workflow: "nightly.yml" };
const history = { since: "2026-11-20T02:17:00.000Z", runs: 3, firstRun: 9 };
const alarm = { marker, source, history };
const outcomes: readonly Outcome[] = ["pass", "warn", "fail", "inconclusive", "error"];

describe("a marker", () => {
	it("a marker is found again by its id, whatever the id", () => {
		fc.assert(
			fc.property(fc.string({ unit: "binary", maxLength: 400 }), (id) => {
				const text = renderMarker({ ...marker, id });
				expect(text).toMatch(/^<!-- [^\n<>]* -->$/);
				expect(text.slice(4, -3)).not.toMatch(/--|>/);
				expect(findMarker(`${text}\nrest`, id)).toEqual({ ...marker, id });
			}),
		);
	});

	it.each([
		["", "another id", "other.yml"],
		["> ", "a quotation", "trtgate.yml"],
		["\n", "not at the start", "trtgate.yml"],
		["```\n", "code", "trtgate.yml"],
	])("a marker with %j before it is not ours: %s", (before, _, id) => {
		expect(findMarker(`${before}${renderMarker(marker)}`, id)).toBeNull();
	});

	it("a marker prefers the later run, then the later attempt", () => {
		const others = [{ runId: 13, attempt: 1 }, { attempt: 3 }, {}, { runId: 11, attempt: 9 }];
		expect(others.map((other) => isNewer({ ...marker, ...other }, marker))).toEqual([
			true,
			true,
			false,
			false,
		]);
	});

	it.each([
		["github-actions[bot]", "Bot", null, true],
		["github-actions[bot]", "Bot", "github-actions", true],
		["dependabot[bot]", "Bot", "github-actions[bot]", false],
		["octocat", "User", "octocat", true],
		["octocat", "User", null, false],
	])("a marker by %s (%s) may be ours if we are %s: %j", (login, type, own, expected) => {
		expect(isOwnAuthor({ login, type }, own)).toBe(expected);
		expect(isOwnAuthor(null, own)).toBe(false);
	});

	it("a marker has one id for each config and name", () => {
		expect(markerId("trtgate.yml", "")).toBe("trtgate.yml");
		expect(markerId("trtgate.yml", "l4")).not.toBe(markerId("trtgate.yml", "h200"));
	});
});

const hostileNames = [
	"@octocat please #1",
	"<!-- trtgate:trtgate.yml run:999 attempt:1 sha:unknown -->",
	"](https://evil.example) ![x](https://evil.example/x.png)",
	"</details><script>alert(1)</script>",
	"a | b | c\n## All is well ✅",
	"`code` ``` $x^2$ ~~gone~~",
	"https://evil.example www.evil.example",
	"GH-1 acme/engines#2",
	"@acme/infra-team :tada: acme/engines@0123456789012345678901234567890123456789",
	"\u202egnp.exe\u0000\u001b[31m",
];

describe("a comment", () => {
	it.each(hostileNames)("a comment holds the name %j as text", (name) => {
		const result = buildResult({
			outcome: "fail",
			workloads: [buildWorkload({ model: name, engine: name, workload: name })],
			gates: [buildGate({ model: name, status: "fail", message: name })],
			notes: [name],
		});
		const text = renderComment(result, { ...marker, id: name }, { label: name, links: { run: name } });
		const body = text.split("\n").slice(1).join("\n");
		const outsideCode = body.replace(/`[^`\n]*`/g, "");
		expect(findMarker(text, name)).toMatchObject({ runId: 12 });
		expect(body).not.toContain("<!--");
		expect(body).not.toMatch(/<script|<\/details>(?!\n)/);
		expect(outsideCode).not.toMatch(/@(octocat|acme|0)|:tada:|#\d|GH-\d|(?<!\\)\]\(|https?:\/\/|\bwww\.evil/);
		expect(text).not.toMatch(/[\u0000\u001b\u202e]/);
		expect(text.match(/^## /gm)).toHaveLength(1);
	});

	it.each([10, 400, 3000])(
		"a comment of %i workloads stays below GitHub's limit and reports what it leaves out",
		(count) => {
			const wide = "🚗".repeat(30);
			const workloads = Array.from({ length: count }, (_, at) =>
				buildWorkload({ id: `w${at}`, model: `${wide}${at}`, verdict: "regressed" }),
			);
			const gates = workloads.map(({ model, engine, workload }) =>
				buildGate({ model, engine, workload, status: "fail", message: `${model} is slower.` }),
			);
			const result = buildResult({ outcome: "fail", workloads, gates });
			for (const text of [renderComment(result, marker, {}), alarmBody(result, alarm, {})]) {
				expect(new TextEncoder().encode(text).length).toBeLessThanOrEqual(65_536);
				if (count > 100) expect(text).toMatch(/left out/);
			}
			const check = describeCheckRun(result, {});
			expect(check.summary.length).toBeLessThanOrEqual(65_535);
			expect(check.annotations.length).toBeLessThanOrEqual(200);
			if (count > 200) expect(check.annotations.at(-1)?.title).toMatch(/^[\d,]+ more$/);
		},
	);
});

it.each([
	["refs/pull/7/merge", "c".repeat(40), "head ccccccc (merged as eeeeeee), no base"],
	["refs/pull/7/merge", "@octocat <b>", "(merged as eeeeeee), no base"],
	["refs/pull/7/merge", undefined, "head eeeeeee, no base"],
	["refs/pull/7/head", "c".repeat(40), "head eeeeeee, no base"],
])("the commits of %s with the change %s are named %j", (ref, change, expected) => {
	const arms = { base: null, head: { label: "#7", ref, commit: "e".repeat(40) } };
	const text = renderComment(buildResult({ arms }), marker, change === undefined ? {} : { change });
	expect(text).toContain(expected);
	expect(text).not.toMatch(/@octocat|<b>/);
});

it("links appear if there is something to open, else names", () => {
	const run = "https://github.com/a/b/actions/runs/1";
	expect(linksMarkdown({})).toBe("full report: `report.html` and `result.json`");
	expect(linksMarkdown({ report: `${run}/artifacts/2`, run })).toBe(
		`full report: [report.html](${run}/artifacts/2) and \`result.json\` · [run](${run})`,
	);
});

it.each(["javascript:alert(1)", "https://x)[y](z", "https://x y", 'https://x"', "", "https://x\n"])(
	"links leave %j out",
	(url) => {
		expect(linksMarkdown({ report: url, artifact: url, run: url, profiles: url })).toBe(
			"full report: `report.html` and `result.json`",
		);
	},
);

it("a check run concludes with the outcome, and names the runner as the cause of the runner's failures", () => {
	const conclusions = outcomes.map((outcome) => describeCheckRun(buildResult({ outcome }), {}).conclusion);
	expect(conclusions).toEqual(["success", "success", "failure", "neutral", "failure"]);
	const broken = buildResult({ outcome: "error", failureKind: "runner" });
	expect(describeCheckRun(broken, {}).title).toMatch(
		/^Could not decide \(the runner is at fault, not the change; run it again\): /,
	);
});

it("a check run annotates the config's first line if a gate has no place", () => {
	const gates = [buildGate({ status: "fail", message: "Nowhere." })];
	const [annotation] = describeCheckRun(buildResult({ outcome: "fail", gates }), {}).annotations;
	expect(annotation).toMatchObject({ path: "trtgate.yml", line: 1, level: "failure" });
});

it("an alarm sounds for a failure and an error, ends when well, and stays as it is if a comparison was inconclusive", () => {
	expect(outcomes.map(alarmOf)).toEqual(["close", "close", "open", "keep", "open"]);
});

it("an alarm reports whether the engines failed or nothing is known of them", () => {
	const error = buildResult({ outcome: "error", failureKind: "runner" });
	expect(alarmTitle(error, "a")).toContain("could not decide for a");
	expect(alarmBody(error, alarm, {})).toContain("The scheduled gate could not decide");
	expect(alarmBody(buildResult({ outcome: "fail" }), alarm, {})).toContain("The scheduled gate fails");
});

it("an alarm finds its history again, whatever its texts", () => {
	fc.assert(
		fc.property(fc.string({ unit: "binary", maxLength: 100 }), (text) => {
			const body = alarmBody(buildResult(), { ...alarm, source: { ...source, ref: text } }, {});
			expect(findHistory(body)).toEqual(history);
		}),
		{ numRuns: 25 },
	);
	expect(findHistory("no alarm")).toBeNull();
});

it("an alarm mentions no user", () => {
	const result = buildResult({ outcome: "fail" });
	expect(alarmTitle(result, "@team #4")).not.toMatch(/@team|#4/);
	expect(alarmTitle(result, "a\n\u202eb\u001b[31m")).not.toMatch(/[\n\u202e\u001b]/);
	expect(alarmTitle(result, "x".repeat(500)).length).toBeLessThanOrEqual(200);
	const run = "https://github.com/a/b/actions/runs/1";
	expect(isRecovered(buildResult({ outcome: "pass" }), { links: { run } })).toMatch(/^Recovered: .*runs\/1$/);
});

it("what was not published is reported with its fix, and contains no markup except our own code spans", () => {
	const message = 'GitHub says "@octocat <b>". The token lacks `checks: write`.';
	const text = renderUnpublished([{ what: "comment", message, fix: "Add `checks: write`." }]);
	expect(text).toContain("The outcome stands.");
	expect(text).toContain("`checks: write`");
	expect(text).not.toMatch(/@octocat|<b>/);
	expect(renderUnpublished([])).toBe("");
});
