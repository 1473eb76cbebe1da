// Several jobs' results in one: nothing is lost, nothing is compared across parts, nothing bad is called green.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Result } from "../../../generated/result.ts";
import { mergeResults } from "../../../src/core/merge/merge.ts";
import type { PartInput } from "../../../src/core/merge/parts.ts";
import { resultWithoutRun } from "../../../src/core/outcome.ts";
import { renderHtml } from "../../../src/core/report/html/report.ts";
import { renderJunit } from "../../../src/core/report/junit.ts";
import { renderMarkdown } from "../../../src/core/report/markdown.ts";
import { parseResult } from "../../../src/core/report/parse-result.ts";
import { buildBuild, buildGate, buildResult, buildSlowWorkload } from "../../support/build-result.ts";
import { inEveryFormat } from "../../support/every-format.ts";
import { hostileNames, resultCases } from "../../support/result-cases.ts";

const how = { version: "0.1.0", files: [] };

function part(name: string, overrides: Partial<Result> = {}): PartInput {
	const result = buildResult({
		environment: { gpu: name, driver: "580" },
		backend: { ...buildResult().backend, device: `NVIDIA ${name}` },
		...overrides,
	});
	return { name, content: { state: "read", result } };
}

const slow = buildSlowWorkload();
const slowPart = part("l4", {
	...{ outcome: "fail", workloads: [slow], builds: [] },
	gates: [buildGate({ model: "classifier", workload: "batch 8", status: "fail" })],
});

function onCommit(commit: string): Partial<Result> {
	return { arms: { base: null, head: { label: "head", commit: commit.repeat(40) } } };
}

function states(result: Result): string[] {
	return (result.parts ?? []).map(({ name, state }) => `${name} ${state}`);
}

it("mergeResults reports why a part did not start, and uses no machine facts of it", () => {
	const fault = { kind: "configuration", code: "config-value", message: "pairs is no list." } as const;
	const known = {
		...how,
		startedAt: "2026-01-01T00:00:00Z",
		configPath: "trtgate.yml",
		head: { label: "head" },
	};
	const unbegun = resultWithoutRun([fault], known);
	const result = mergeResults(
		[part("l4"), { name: "h200", content: { state: "read", result: unbegun } }],
		how,
	);
	expect(result).toMatchObject({
		...{ outcome: "error", failureKind: "configuration", environment: { gpu: "l4", driver: "580" } },
		backend: { device: "NVIDIA l4" },
	});
	expect(result.errors).toEqual([{ ...fault, part: "h200" }]);
	expect(parseResult(JSON.stringify(result), "merged").outcome).toBe("error");
});

it("mergeResults keeps every record, names its part, and lists each part with its device and fingerprint", () => {
	const merged = mergeResults([part("l4"), part("h200")], how);
	expect(states(merged)).toEqual(["h200 merged", "l4 merged"]);
	expect(merged.outcome).toBe("pass");
	expect(merged.workloads.map((row) => `${row.part} ${row.model}`)).toEqual(["h200 encoder", "l4 encoder"]);
	expect(merged.gates).toHaveLength(8);
	expect(merged.environment).toEqual({ driver: "580" });
	const its = { environment: { gpu: "l4", driver: "580" }, backend: { device: "NVIDIA l4" }, workloads: 1 };
	expect(merged.parts?.[1]).toMatchObject(its);
	expect(merged.backend.device).toBe("NVIDIA h200, NVIDIA l4");
});

it("mergeResults is a result that can be written, read and rendered by every reporter", () => {
	const expected = ["l4", "h200", "orin"].map((name) => ({ name }));
	const merged = mergeResults([slowPart, part("h200")], { ...how, expected });
	const again = parseResult(JSON.stringify(merged), "result.json");
	expect(again).toEqual(merged);
	const texts = inEveryFormat(again);
	for (const text of [...Object.values(texts), renderJunit(again)])
		for (const shown of ["classifier", "l4", "orin"]) expect(text).toContain(shown);
	expect(texts.markdown).toContain("Parts: 2 of 3 merged, 1 missing");
	expect(texts.markdown).toContain("No gate compares numbers of different parts");
});

it("mergeResults distinguishes the same workload of two parts in every verdict", () => {
	const unchanged = {
		...slow,
		verdict: "unchanged",
		latency: { ...slow.latency, verdict: "unchanged" },
	} as const;
	const gates = [buildGate({ model: "classifier", workload: "batch 8" })];
	const fine = part("h200", { workloads: [unchanged], builds: [], gates });
	const text = renderMarkdown(mergeResults([slowPart, fine], how));
	expect(text).toContain("classifier · fp16 · batch 8 (l4) is slower");
	expect(text).not.toContain("(h200) is slower");
});

const job = { id: 500, attempt: 2, job: "measure" };

it("mergeResults refuses a part of another config, and one of another workflow run", () => {
	const options = { ...how, config: "a/trtgate.yml", run: { ...job, job: "report" } };
	const own = part("own", { run: job, config: { path: "a/trtgate.yml" } });
	const other = part("other", { run: job, config: { path: "b/trtgate.yml" } });
	const older = part("older", { run: { ...job, id: 499 }, config: { path: "a/trtgate.yml" } });
	const merged = mergeResults([own, other, older], options);
	expect(merged).toMatchObject({ outcome: "error", failureKind: "configuration", run: options.run });
	const reason = expect.stringContaining("of the config b/trtgate.yml; expected a/trtgate.yml");
	expect(merged.parts).toMatchObject([
		{ name: "older", state: "refused", reason: "It is of the workflow run 499; expected 500." },
		{ name: "other", state: "refused", reason },
		{ name: "own", state: "merged" },
	]);
});

it("mergeResults names the attempt of a part that is from an earlier one, in every report", () => {
	const earlier = part("l4", { run: { ...job, attempt: 1 } });
	for (const options of [{ ...how, run: { ...job, job: "report" } }, how]) {
		const merged = mergeResults([earlier, part("h200", { run: job })], options);
		expect(merged.outcome).toBe("pass");
		expect(merged.parts?.map(({ attempt }) => attempt)).toEqual([undefined, 1]);
		for (const text of [renderMarkdown(merged), renderHtml(merged)]) {
			expect(text).toContain("Parts: all 2 merged, 1 from an earlier attempt");
			expect(text).toContain("from attempt 1");
		}
	}
	const ofTwoRuns = mergeResults([earlier, part("h200", { run: { ...job, id: 501 } })], how);
	expect(ofTwoRuns.parts?.map(({ attempt }) => attempt)).toEqual([undefined, undefined]);
	const alone = mergeResults([earlier], { ...how, run: job });
	expect(renderMarkdown(alone)).toContain("from attempt 1");
});

it.each([
	["pass", "warn", "warn"],
	["pass", "fail", "fail"],
	["inconclusive", "warn", "inconclusive"],
	["error", "fail", "fail"],
	["error", "inconclusive", "error"],
] as const)("mergeResults folds %s and %s to %s", (one, two, wanted) => {
	expect(mergeResults([part("a", { outcome: one }), part("b", { outcome: two })], how).outcome).toBe(wanted);
});

it("mergeResults overrides a part that declares itself green and is not", () => {
	const failing = part("a", { outcome: "pass", gates: [buildGate({ status: "fail" })] });
	const empty = part("b", { outcome: "pass", gates: [] });
	expect(mergeResults([failing], how).outcome).toBe("fail");
	expect(mergeResults([empty, part("c")], how).outcome).toBe("error");
});

it("mergeResults keeps the results of a partial part, reports where it ended, and does not pass", () => {
	const cut = part("l4", { partial: { stage: "measure", reason: "interrupted by SIGTERM" } });
	const merged = mergeResults([cut, part("h200")], how);
	expect(merged).toMatchObject({ outcome: "error", failureKind: "runner" });
	expect(merged.workloads).toHaveLength(2);
	expect(renderMarkdown(merged)).toContain("partial: ended in measure");
});

it("mergeResults reports that all are missing if none came", () => {
	const merged = mergeResults([], { ...how, expected: [{ name: "l4" }, { name: "h200" }] });
	expect(merged).toMatchObject({ outcome: "error", failureKind: "runner" });
	expect(states(merged)).toEqual(["h200 missing", "l4 missing"]);
	expect(renderMarkdown(merged)).toContain("0 of 2 merged, 2 missing");
});

const same = { environment: { gpu: "x" }, backend: buildResult().backend };

describe("refuses", () => {
	const [one, two] = [part("a", onCommit("1")), part("b", onCommit("2"))];
	const none = part("b", { arms: { base: null, head: { label: "head" } } });
	const ofOne = { headCommits: ["1".repeat(40)] };
	const unread: PartInput = {
		name: "b",
		content: { state: "refused", reason: "It is no JSON.", kind: "runner" },
	};
	const sayings: readonly [string, PartInput[], object, RegExp, string[]][] = [
		["two results of one name", [part("a"), part("a"), part("b")], {}, /2 results have this name/, ["a"]],
		[
			"one engine on one device twice",
			[part("a", same), part("b", same)],
			{},
			/fp16 on the same device as [ab]/,
			["a", "b"],
		],
		["different commits", [one, two], {}, /different commits.*heads are 1111111, 2222222/, ["a", "b"]],
		["another commit than the run's", [one, two], ofOne, /commit 2222222; expected 1111111/, ["b"]],
		[
			"no commit, where the run's is known",
			[one, none],
			ofOne,
			/no commit that it.*; expected 1111111/,
			["b"],
		],
		[
			"what the plan does not name",
			[part("a"), part("x")],
			{ expected: [{ name: "a" }] },
			/no such part/,
			["x"],
		],
		["a merged result", [part("a"), part("b", { parts: [] })], {}, /a merged result itself/, ["b"]],
		["what could not be read", [part("a"), unread], {}, /It is no JSON/, ["b"]],
	];
	it.each(sayings)("mergeResults refuses %s", (_, parts, options, sentence, refused) => {
		const merged = mergeResults(parts, { ...how, ...options });
		expect(merged.parts?.filter(({ state }) => state === "refused").map(({ name }) => name)).toEqual(refused);
		for (const name of refused) {
			expect(merged.parts?.find((one) => one.name === name)?.reason).toMatch(sentence);
			expect(merged.errors.some((error) => error.part === name && error.code === "part-refused")).toBe(true);
			expect(merged.workloads.some((row) => row.part === name)).toBe(false);
		}
		expect(merged.outcome).toBe("error");
		expect(renderHtml(merged)).toMatch(sentence);
	});
});

it("mergeResults lets two configs measure engines of the same names", () => {
	const merged = mergeResults([part("a", same), part("b", { ...same, config: { path: "other.yml" } })], how);
	expect(states(merged)).toEqual(["a merged", "b merged"]);
});

it("mergeResults names the backend of each row, and keeps the CPU's wording to the CPU's rows", () => {
	const backend = resultCases["on-cpu"]!.backend;
	const parts = [
		part("l4", { workloads: [slow], gates: [] }),
		part("cpu", { backend, workloads: [slow], gates: [] }),
	];
	const text = renderMarkdown(mergeResults(parts, how));
	expect(text).toContain("batch 8 (cpu) is slower (CPU, not TensorRT)");
	expect(text).toMatch(/batch 8 \(l4\) is slower: /);
});

it("mergeResults gives the same result for any order of parts, and names every missing part", () => {
	const names = ["a", "b", "c", "d", "__proto__", "constructor"];
	const outcome = fc.constantFrom<Result["outcome"]>("pass", "warn", "fail", "inconclusive", "error");
	const one = fc.tuple(fc.constantFrom(...names), outcome, fc.constantFrom("1", "1", "1", "2"));
	const came = fc.array(one, { maxLength: 8 });
	fc.assert(
		fc.property(came, fc.subarray(names), fc.infiniteStream(fc.nat()), (list, planned, random) => {
			const parts = list.map(([name, result, commit]) =>
				part(name, { outcome: result, ...onCommit(commit) }),
			);
			const expected = planned.map((name) => ({ name }));
			const order = new Map(parts.map((some) => [some, random.next().value ?? 0]));
			const shuffled = parts.toSorted((x, y) => order.get(x)! - order.get(y)!);
			const options = planned.length === 0 ? how : { ...how, expected };
			// Two parts with the same name are both refused, so it does not matter which of them is named.
			const merged = mergeResults(parts, options);
			expect(mergeResults(shuffled, options)).toEqual(merged);
			const absent = planned.filter((name) => !list.some(([other]) => other === name));
			const named = absent.toSorted();
			expect(merged.parts?.filter(({ state }) => state === "missing").map(({ name }) => name)).toEqual(named);
			const missing = merged.errors.filter(({ code }) => code === "part-missing").map((error) => error.part);
			expect(missing).toEqual(expect.arrayContaining(named));
			if (absent.length > 0) expect(["error", "fail"]).toContain(merged.outcome);
			expect(merged.parts?.length).toBe(new Set([...planned, ...list.map(([name]) => name)]).size);
		}),
		{ numRuns: 60 },
	);
});

it("mergeResults draws no markup from a part's own words", () => {
	for (const name of hostileNames) {
		const evil = part("evil", {
			partial: { stage: name, reason: name },
			notes: [name],
			workloads: [buildSlowWorkload({ model: name })],
			builds: [buildBuild({ model: name })],
		});
		const refused: PartInput = {
			name: `${name}2`,
			content: { state: "refused", reason: name, kind: "runner" },
		};
		const merged = mergeResults([{ ...evil, name }, refused], how);
		expect(renderHtml(merged)).not.toMatch(/<(script|img|iframe)(?! |>trtgate)[^>]*(alert|onerror|src)/i);
		expect(renderMarkdown(merged)).not.toMatch(/<(script|img|iframe|!--)/i);
	}
});

describe("with the review of a plan", () => {
	const lost = buildGate({
		gate: "coverage",
		engine: "int8",
		status: "warn",
		message: "The base checks it.",
	});
	const looser = buildGate({ gate: "limit-change", status: "warn", message: "gates.p99.fail: 20 % → off." });
	const about = ({ gates }: Result) =>
		gates.filter(({ gate }) => gate === "coverage" || gate === "limit-change");

	it("mergeResults reports findings on the whole change, which several parts and the plan share, once and without a part", () => {
		const location = { path: "trtgate.yml", line: 3 };
		const ofPart = { ...looser, message: `${looser.message.slice(0, -1)}, in 2 workloads.` };
		const parts = ["l4", "h200"].map((name) => part(name, { gates: [buildGate(), lost, ofPart] }));
		const merged = mergeResults(parts, { ...how, review: [lost, { ...looser, location }] });
		expect(about(merged)).toEqual([lost, { ...looser, location }]);
		const latency = merged.gates.filter(({ gate }) => gate === "latency");
		expect(latency.map((gate) => gate.part)).toEqual(["h200", "l4"]);
	});

	it("mergeResults keeps findings of a single part", () => {
		const own = part("l4", { gates: [buildGate(), lost] });
		for (const other of [looser, { ...lost, engine: "fp8" }])
			expect(about(mergeResults([own, part("h200")], { ...how, review: [other] }))).toEqual([lost, other]);
	});

	it.each(["warn", "fail"] as const)("mergeResults is at best what the plan found: %s", (status) => {
		const parts = [part("l4"), part("h200")];
		expect(mergeResults(parts, how).outcome).toBe("pass");
		expect(mergeResults(parts, { ...how, review: [{ ...lost, status }] }).outcome).toBe(status);
	});

	it("mergeResults does not pass if the plan found nothing wrong and a part is missing", () => {
		const listed = { ...looser, status: "pass" as const };
		const expected = ["l4", "h200"].map((name) => ({ name, artifact: name }));
		expect(mergeResults([part("l4")], { ...how, expected, review: [listed] }).outcome).toBe("error");
		expect(mergeResults([part("l4")], { ...how, review: [listed] }).outcome).toBe("pass");
	});
});

it.each(Object.entries(resultCases))("mergeResults merges the case %s with another", (_, result) => {
	const own: PartInput = { name: "case", content: { state: "read", result } };
	const merged = mergeResults([own, part("l4", { arms: result.arms })], how);
	expect(() => parseResult(JSON.stringify(merged), "result.json")).not.toThrow();
	for (const render of [renderMarkdown, renderHtml, renderJunit])
		expect(render(merged).length).toBeGreaterThan(100);
});
