import fc from "fast-check";
import { expect, it } from "vitest";
import type { Outcome } from "../../../generated/result.ts";
import {
	alarmBody,
	alarmId,
	alarmOf,
	alarmTitle,
	annotations,
	describeCheckRun,
	findHistory,
	findMarker,
	isNewer,
	isOwnAuthor,
	isRecovered,
	markerId,
	renderComment,
	renderMarker,
} from "../../../src/core/report/comment.ts";
import { linksMarkdown, renderMarkdown, renderUnpublished } from "../../../src/core/report/markdown.ts";
import { utf8Bytes } from "../../../src/core/report/section.ts";
import { anyText } from "../../support/any-text.ts";
import {
	buildCheck,
	buildGate,
	buildGolden,
	buildResult,
	buildSlowWorkload,
	buildWorkload,
} from "../../support/build-result.ts";
import { hostileNames, resultCases } from "../../support/result-cases.ts";
import { shownLines } from "../../support/shown-lines.ts";

const hostile = renderMarkdown(resultCases["hostile"]!);
const unfenced = hostile.replace(/^(`{3,})text\n[\s\S]*?\n\1$/gm, "");
const countOf = (text: string, pattern: RegExp) => text.match(pattern)?.length ?? 0;

it.each(Object.entries(resultCases))(
	"renderMarkdown of %s is as reviewed, fits a comment and closes what it opens",
	async (name, result) => {
		const text = renderMarkdown(result);
		await expect(text).toMatchFileSnapshot(`../../fixtures/reports/${name}.md`);
		expect(utf8Bytes(text)).toBeLessThanOrEqual(65_536);
		expect(countOf(text, /<details>/g)).toBe(countOf(text, /<\/details>/g));
		// Some excerpts hold a line of backticks of their own.
		const longer = [...text.matchAll(/^(`{4,})text\n([\s\S]*?)\n\1$/gm)];
		const stray = longer.reduce((sum, [, , inner = ""]) => sum + countOf(inner, /^`{3,}$/gm), 0);
		expect(countOf(text, /^`{3,}text$/gm)).toBe(countOf(text, /^`{3,}$/gm) - stray);
	},
);

it("renderMarkdown shows at most 3 lines if all is well, and names the commit of a pull request", () => {
	const passing = Object.values(resultCases).filter(({ outcome }) => outcome === "pass");
	expect(passing.length).toBeGreaterThan(2);
	for (const result of passing) expect(shownLines(renderMarkdown(result)).length).toBeLessThanOrEqual(3);
	expect(renderMarkdown(resultCases["no-base"]!).split("\n")[0]).toContain("nothing to compare with");
	expect(renderMarkdown(buildResult(), { change: "c0ffee1234" })).toContain("gate · c0ffee1: all");
});

it("renderMarkdown reports what it left out, and drops the cheapest first", () => {
	const facts = Array.from({ length: 100 }, (_, key) => [`key ${key}`, "v".repeat(200)]);
	const result = buildResult({ ...resultCases["many-workloads"], environment: Object.fromEntries(facts) });
	const whole = renderMarkdown(result, { limit: 1_000_000 });
	expect(whole).not.toContain("Shortened");
	const shorter = renderMarkdown(result, { limit: whole.length - 10 });
	for (const shown of ["left out: the environment. ", "`report.html` and `result.json` hold everything"])
		expect(shorter).toContain(shown);
	const least = renderMarkdown(result, { limit: 2500 });
	expect(least).toContain("all sentences but the titles");
	expect(utf8Bytes(least)).toBeLessThanOrEqual(2500);
	const cut = renderMarkdown(result, { limit: 600 });
	for (const shown of ["4.2 % slower in 100 of 300 workloads", "Truncated here"])
		expect(cut).toContain(shown);
	expect(utf8Bytes(cut)).toBeLessThanOrEqual(600);
});

it("renderMarkdown keeps below the limit whatever the names", () => {
	const graphemes = fc.string({ unit: "grapheme", maxLength: 400 });
	const name = fc.oneof(fc.constantFrom(...hostileNames), anyText(400), graphemes);
	fc.assert(
		fc.property(fc.array(name, { minLength: 1, maxLength: 60 }), (names) => {
			const result = buildResult({
				workloads: names.flatMap((model) => [
					buildSlowWorkload({ model, workload: model, notes: [model.repeat(20)] }),
					buildWorkload({ model }),
				]),
				golden: names.map((model) => {
					const checks = [buildCheck({ output: model, pass: false })];
					return buildGolden({ model, state: "mismatch", message: model.repeat(20), checks });
				}),
			});
			const text = renderMarkdown(result);
			expect(utf8Bytes(text)).toBeLessThanOrEqual(65_536);
			expect(text).toContain("slowdown");
		}),
		{ numRuns: 25 },
	);
});

it("renderMarkdown makes hostile names inert", () => {
	const live = unfenced.replace(/`[^`\n]*`/g, "");
	expect(live).not.toMatch(
		/<script|<img|<!--|@everyone|https?:\/\/|[^\\]\]\(|\u001b|\u202e|javascript:\w+\(1\)\)\]/,
	);
	expect(live.match(/<(?!\/?(details|summary|sub|code)>)/g)).toBeNull();
	expect(live).not.toMatch(/^## heading/m);
});

it("renderMarkdown gives every table row the columns of its head", () => {
	const lines = unfenced.split("\n");
	const columns = (line: string) => line.replace(/\\./g, "").split("|").length;
	let head = 0;
	for (const [index, line] of lines.entries()) {
		if (!line.startsWith("| ")) continue;
		if (lines[index + 1]?.startsWith("|--") === true) head = columns(line);
		else expect(columns(line), line).toBe(head);
	}
});

const marker = { id: "trtgate.yml", runId: 12, attempt: 2, sha: "d".repeat(40) };
const source = { event: "schedule", ref: "refs/heads/main", workflow: "nightly.yml" };
const history = { since: "2026-11-20T02:17:00.000Z", runs: 3, firstRun: 9 };
const alarm = { marker, source, history };
const outcomes: readonly Outcome[] = ["pass", "warn", "fail", "inconclusive", "error"];
const failed = buildResult({ outcome: "fail" });
const broken = buildResult({ outcome: "error", failureKind: "runner" });

it("a marker is found again by its id, whatever the id", () => {
	fc.assert(
		fc.property(anyText(400), (id) => {
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

it("a marker prefers the later run, then attempt, and has one id for each config and name", () => {
	const isAfter = (other: object) => isNewer({ ...marker, ...other }, marker);
	const others = [{ runId: 13, attempt: 1 }, { attempt: 3 }, {}, { runId: 11, attempt: 9 }];
	expect(others.map(isAfter)).toEqual([true, true, false, false]);
	expect(markerId("trtgate.yml", "")).toBe("trtgate.yml");
	expect(markerId("trtgate.yml", "l4")).not.toBe(markerId("trtgate.yml", "h200"));
});

it("an alarm of one config of a monorepo is not another's", () => {
	const idOf = (camera: string) =>
		alarmId(`services/perception/models/detector-${camera}-camera/trtgate.yml`, source);
	const body = renderMarker({ ...marker, id: idOf("front") });
	expect(findMarker(body, idOf("front"))).not.toBeNull();
	expect(findMarker(body, idOf("rear"))).toBeNull();
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

it.each([
	...hostileNames,
	"<!-- trtgate:trtgate.yml run:999 attempt:1 sha:unknown -->",
	"](https://evil.example) ![x](https://evil.example/x.png) www.evil.example",
	"</details><script>alert(1)</script>",
	`@acme/infra-team :tada: GH-1 acme/engines#2 acme/engines@${"0123456789".repeat(4)}`,
])("a comment holds the name %j as text", (name) => {
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
	expect(body).not.toMatch(/<!--|<script|<\/details>(?!\n)/);
	expect(outsideCode).not.toMatch(/@(everyone|acme|0)|:tada:|#\d|GH-\d|(?<!\\)\]\(|https?:\/\/|\bwww\.evil/);
	expect(text).not.toMatch(/[\u0000\u001b\u202e]/);
	expect(text.match(/^## /gm)).toHaveLength(1);
});

it.each([400, 3000])("%i workloads fit GitHub's limits, with a word on what is left out", (count) => {
	const workloads = Array.from({ length: count }, (_, at) =>
		buildWorkload({ id: `w${at}`, model: `${"🚗".repeat(30)}${at}`, verdict: "regressed" }),
	);
	const gates = workloads.map(({ model, engine, workload }) =>
		buildGate({ model, engine, workload, status: "fail", message: `${model} is slower.` }),
	);
	const result = buildResult({ outcome: "fail", workloads, gates });
	for (const text of [renderComment(result, marker, {}), alarmBody(result, alarm, {})]) {
		expect(utf8Bytes(text)).toBeLessThanOrEqual(65_536);
		expect(text).toMatch(/left out/);
	}
	const check = describeCheckRun(result, {});
	expect(check.summary.length).toBeLessThanOrEqual(65_535);
	expect(check.annotations).toHaveLength(200);
	expect(check.annotations.at(-1)?.title).toMatch(/^[\d,]+ more$/);
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

const run = "https://github.com/a/b/actions/runs/1";
const unlinked = "full report: `report.html` and `result.json`";

it("links appear if there is something to open, else names", () => {
	expect(linksMarkdown({})).toBe(unlinked);
	expect(linksMarkdown({ report: `${run}/artifacts/2`, run })).toBe(
		`full report: [report.html](${run}/artifacts/2) and \`result.json\` · [run](${run})`,
	);
	for (const url of [
		"javascript:alert(1)",
		"https://x)[y](z",
		"https://x y",
		'https://x"',
		"",
		"https://x\n",
	])
		expect(linksMarkdown({ report: url, artifact: url, run: url, profiles: url })).toBe(unlinked);
});

it("a check run concludes with the outcome, names the runner's fault, and annotates line 1 if a gate has no place", () => {
	const conclusions = outcomes.map((outcome) => describeCheckRun(buildResult({ outcome }), {}).conclusion);
	expect(conclusions).toEqual(["success", "success", "failure", "neutral", "failure"]);
	expect(describeCheckRun(broken, {}).title).toMatch(
		/^Could not decide \(the runner is at fault, not the change; run it again\): /,
	);
	const gates = [buildGate({ status: "fail", message: "Nowhere." })];
	const [annotation] = describeCheckRun({ ...failed, gates }, {}).annotations;
	expect(annotation).toMatchObject({ path: "trtgate.yml", line: 1, level: "failure" });
});

it("annotations point into the config, and say the same there once", () => {
	expect(annotations(resultCases["mismatch-and-slowdown"]!)[0]).toEqual({
		...{ level: "error", title: "segmenter · fp32 · case0: golden fail", path: "trtgate.yml" },
		...{ message: "relative-l2 of logits_out is 0.0318; allowed at most 0.001.", line: 14, column: 7 },
	});
	const gate = buildGate({ status: "fail", message: "Same.", location: { path: "trtgate.yml", line: 1 } });
	const finding = { code: "c", severity: "warning", message: "Same.", location: { path: "m.onnx" } } as const;
	const findings = (["base", "head"] as const).map((arm) => ({ ...finding, arm }));
	const list = annotations(buildResult({ gates: [gate, { ...gate, workload: "another" }], findings }));
	expect(list.map(({ level }) => level)).toEqual(["error", "warning"]);
});

it("annotations of a step are as many as GitHub shows, loudest first, the last counting the rest", () => {
	const gates = Array.from({ length: 120 }, (_, at) =>
		buildGate({ workload: `w${at}`, status: at === 119 ? "fail" : "warn", message: `Message ${at}.` }),
	);
	const list = annotations(buildResult({ gates }));
	expect(list).toHaveLength(9);
	expect(list[0]?.level).toBe("error");
	expect(list.at(-1)).toMatchObject({ level: "notice", title: "112 more" });
});

it("annotations carry no control character, and call counted work by its name", () => {
	for (const { title, message, path } of annotations(resultCases["hostile"]!))
		expect(`${title}${message}${path ?? ""}`).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202e]/);
	const titles = annotations(resultCases["on-cpu"]!).map(({ title }) => title);
	expect(titles).toContain("classifier · fp16 · batch 8: work (CPU, not TensorRT) warn");
});

it("an alarm sounds for a failure or error, ends when well, and stays if inconclusive", () => {
	expect(outcomes.map(alarmOf)).toEqual(["close", "close", "open", "keep", "open"]);
	expect(alarmTitle(broken, "a")).toContain("could not decide for a");
	expect(alarmBody(broken, alarm, {})).toContain("The scheduled gate could not decide");
	expect(alarmBody(failed, alarm, {})).toContain("The scheduled gate fails");
	expect(isRecovered(buildResult(), { links: { run } })).toMatch(/^Recovered: .*runs\/1$/);
});

it("an alarm finds its history again, whatever its texts", () => {
	fc.assert(
		fc.property(anyText(100), (ref) => {
			const body = alarmBody(buildResult(), { ...alarm, source: { ...source, ref } }, {});
			expect(findHistory(body)).toEqual(history);
		}),
		{ numRuns: 25 },
	);
	expect(findHistory("no alarm")).toBeNull();
});

it("neither an alarm nor a note on what was not published mentions a user", () => {
	expect(alarmTitle(failed, "@team #4")).not.toMatch(/@team|#4/);
	expect(alarmTitle(failed, "a\n\u202eb\u001b[31m")).not.toMatch(/[\n\u202e\u001b]/);
	expect(alarmTitle(failed, "x".repeat(500)).length).toBeLessThanOrEqual(200);
	const message = 'GitHub says "@octocat <b>". The token lacks `checks: write`.';
	const text = renderUnpublished([{ what: "comment", message, fix: "Add `checks: write`." }]);
	for (const shown of ["The outcome stands.", "`checks: write`"]) expect(text).toContain(shown);
	expect(text).not.toMatch(/@octocat|<b>/);
	expect(renderUnpublished([])).toBe("");
});
