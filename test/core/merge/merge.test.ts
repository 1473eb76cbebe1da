import fc from "fast-check";
import { expect, it } from "vitest";
import type { Result } from "../../../generated/result.ts";
import { inputKinds } from "../../../src/core/input-kind.ts";
import { mergeResults } from "../../../src/core/merge/merge.ts";
import { type MergeOptions, type PartInput, pickArtifacts } from "../../../src/core/merge/parts.ts";
import { resultWithoutRun } from "../../../src/core/outcome.ts";
import { renderJunit } from "../../../src/core/report/exports/checks.ts";
import { renderHtml } from "../../../src/core/report/html/report.ts";
import { renderMarkdown } from "../../../src/core/report/markdown.ts";
import { parseResult } from "../../../src/core/report/parse-result.ts";
import { buildBuild, buildGate, buildResult, buildSlowWorkload } from "../../support/build-result.ts";
import { inEveryFormat } from "../../support/every-format.ts";
import { hostileNames, resultCases } from "../../support/result-cases.ts";

const how = { version: "0.1.0", files: [] };
const { backend } = buildResult();
const read = (name: string, result: Result): PartInput => ({ name, content: { state: "read", result } });

function part(name: string, overrides: Partial<Result> = {}): PartInput {
	const environment = { gpu: name, driver: "580" };
	const its = { environment, backend: { ...backend, device: `NVIDIA ${name}` }, ...overrides };
	return read(name, buildResult(its));
}

function refused(name: string, reason: string): PartInput {
	return { name, content: { state: "refused", reason, kind: "runner" } };
}

function merge(parts: readonly PartInput[], options: Partial<MergeOptions> = {}) {
	return mergeResults(parts, { ...how, ...options });
}

const parts = [part("l4"), part("h200")];
const slow = buildSlowWorkload();
const slowGate = buildGate({ model: "classifier", workload: "batch 8", status: "fail" });
const slowPart = part("l4", { outcome: "fail", workloads: [slow], builds: [], gates: [slowGate] });

function onCommit(commit: string): Partial<Result> {
	return { arms: { base: null, head: { label: "head", commit: commit.repeat(40) } } };
}

const states = (result: Result) => (result.parts ?? []).map(({ name, state }) => `${name} ${state}`).join();

it("a merged result says why a part did not start, and uses no machine facts of it", () => {
	const fault = { kind: "configuration", code: "config-value", message: "pairs is no list." } as const;
	const startedAt = "2026-01-01T00:00:00Z";
	const known = { ...how, startedAt, configPath: "trtgate.yml", head: { label: "head" } };
	const result = merge([part("l4"), read("h200", resultWithoutRun([fault], known))]);
	expect(result).toMatchObject({
		...{ outcome: "error", failureKind: "configuration", environment: { gpu: "l4", driver: "580" } },
		backend: { device: "NVIDIA l4" },
	});
	expect(result.errors).toEqual([{ ...fault, part: "h200" }]);
	expect(parseResult(JSON.stringify(result), "merged").outcome).toBe("error");
});

it("a merged result names each record's part, and lists the parts with device and fingerprint", () => {
	const merged = merge(parts);
	expect(states(merged)).toBe("h200 merged,l4 merged");
	expect(merged.outcome).toBe("pass");
	expect(merged.workloads.map((row) => `${row.part} ${row.model}`)).toEqual(["h200 encoder", "l4 encoder"]);
	expect(merged.gates).toHaveLength(8);
	expect(merged.environment).toEqual({ driver: "580" });
	const its = { environment: { gpu: "l4", driver: "580" }, backend: { device: "NVIDIA l4" }, workloads: 1 };
	expect(merged.parts?.[1]).toMatchObject(its);
	expect(merged.backend.device).toBe("NVIDIA h200, NVIDIA l4");
});

it("a merged result can be written, read and rendered by every reporter", () => {
	const expected = ["l4", "h200", "orin"].map((name) => ({ name }));
	const merged = merge([slowPart, part("h200")], { expected });
	const again = parseResult(JSON.stringify(merged), "result.json");
	expect(again).toEqual(merged);
	const texts = inEveryFormat(again);
	for (const text of [...Object.values(texts), renderJunit(again)])
		for (const shown of ["classifier", "l4", "orin"]) expect(text).toContain(shown);
	expect(texts.markdown).toContain("Parts: 2 of 3 merged, 1 missing");
	expect(texts.markdown).toContain("No gate compares numbers of different parts");
});

it("the same workload of two parts has its own verdict, backend and caveat in each", () => {
	const verdict = "unchanged";
	const unchanged = { ...slow, verdict, latency: { ...slow.latency, verdict } } as const;
	const fine = part("h200", { workloads: [unchanged], builds: [], gates: [{ ...slowGate, status: "pass" }] });
	const onCpu = part("cpu", { backend: resultCases["on-cpu"]!.backend, workloads: [slow], gates: [] });
	const text = renderMarkdown(merge([slowPart, fine, onCpu]));
	expect(text).toContain("classifier · fp16 · batch 8 (l4) is 4.2 % slower (27.91 µs → 29.02 µs)");
	expect(text).toContain("batch 8 (cpu) is 4.2 % slower (CPU, not TensorRT)");
	expect(text).not.toContain("(h200) is");
});

const job = { id: 500, attempt: 2, job: "measure" };

it("a part of another config or another workflow run is refused", () => {
	const options = { config: "a/trtgate.yml", run: { ...job, job: "report" } };
	const own = part("own", { run: job, config: { path: "a/trtgate.yml" } });
	const other = part("other", { run: job, config: { path: "b/trtgate.yml" } });
	const older = part("older", { run: { ...job, id: 499 }, config: { path: "a/trtgate.yml" } });
	const merged = merge([own, other, older], options);
	expect(merged).toMatchObject({ outcome: "error", failureKind: "configuration", run: options.run });
	const reason = expect.stringContaining("of the config b/trtgate.yml; expected a/trtgate.yml");
	expect(merged.parts).toMatchObject([
		{ name: "older", state: "refused", reason: "It is of the workflow run 499; expected 500." },
		{ name: "other", state: "refused", reason },
		{ name: "own", state: "merged" },
	]);
});

it("every report names the attempt of a part that is from an earlier one", () => {
	const earlier = part("l4", { run: { ...job, attempt: 1 } });
	for (const options of [{ run: { ...job, job: "report" } }, {}]) {
		const merged = merge([earlier, part("h200", { run: job })], options);
		expect(merged.outcome).toBe("pass");
		expect(merged.parts?.map(({ attempt }) => attempt)).toEqual([undefined, 1]);
		for (const text of [renderMarkdown(merged), renderHtml(merged)])
			for (const shown of ["Parts: all 2 merged, 1 from an earlier attempt", "from attempt 1"])
				expect(text).toContain(shown);
	}
	const ofTwoRuns = merge([earlier, part("h200", { run: { ...job, id: 501 } })]);
	expect(ofTwoRuns.parts?.map(({ attempt }) => attempt)).toEqual([undefined, undefined]);
	expect(renderMarkdown(merge([earlier], { run: job }))).toContain("from attempt 1");
});

it("a merged result is as bad as its worst part, whatever a part declares", () => {
	const worse = [part("a", { outcome: "warn" }), part("b", { outcome: "inconclusive" })];
	expect(merge(worse).outcome).toBe("inconclusive");
	const failing = part("a", { gates: [buildGate({ status: "fail" })] });
	expect(merge([failing]).outcome).toBe("fail");
	expect(merge([part("b", { gates: [] }), part("c")]).outcome).toBe("error");
});

it("a partial part keeps its results, says where it ended, and does not pass", () => {
	const cut = part("l4", { partial: { stage: "measure", reason: "interrupted by SIGTERM" } });
	const merged = merge([cut, part("h200")]);
	expect(merged).toMatchObject({ outcome: "error", failureKind: "runner" });
	expect(merged.workloads).toHaveLength(2);
	expect(renderMarkdown(merged)).toContain("partial: ended in measure");
});

const same = { environment: { gpu: "x" }, backend };
const [one, two] = [part("a", onCommit("1")), part("b", onCommit("2"))];
const none = part("b", { arms: { base: null, head: { label: "head" } } });
const ofOne = { headCommits: ["1".repeat(40)] };
const listed = { expected: [{ name: "a" }] };

it.each<[string, PartInput[], Partial<MergeOptions>, RegExp, string]>([
	["two results of one name", [part("a"), part("a"), part("b")], {}, /2 results have this name/, "a"],
	["one engine on one device twice", [part("a", same), part("b", same)], {}, /same device as [ab]/, "a,b"],
	["different commits", [one, two], {}, /different commits.*heads are 1111111, 2222222/, "a,b"],
	["another commit than the run's", [one, two], ofOne, /commit 2222222; expected 1111111/, "b"],
	["no commit, where the run's is known", [one, none], ofOne, /no commit that it.*; expected 1111111/, "b"],
	["what the plan does not name", [part("a"), part("x")], listed, /no such part/, "x"],
	["a merged result", [part("a"), part("b", { parts: [] })], {}, /a merged result itself/, "b"],
	["what could not be read", [part("a"), refused("b", "It is no JSON.")], {}, /It is no JSON/, "b"],
])("a merge refuses %s", (_, given, options, sentence, names) => {
	const merged = merge(given, options);
	const its = merged.parts?.filter(({ state }) => state === "refused") ?? [];
	expect(its.map(({ name }) => name).join()).toBe(names);
	for (const { name, reason } of its) {
		expect(reason).toMatch(sentence);
		expect(merged.errors.some((error) => error.part === name && error.code === "part-refused")).toBe(true);
		expect(merged.workloads.some((row) => row.part === name)).toBe(false);
	}
	expect(merged.outcome).toBe("error");
	expect(renderHtml(merged)).toMatch(sentence);
});

it("two configs may measure engines of the same names", () => {
	const merged = merge([part("a", same), part("b", { ...same, config: { path: "other.yml" } })]);
	expect(states(merged)).toBe("a merged,b merged");
});

it("any order of parts gives the same result, which names every missing part", () => {
	const names = ["a", "b", "c", "d", "__proto__", "constructor"];
	const outcome = fc.constantFrom<Result["outcome"]>("pass", "warn", "fail", "inconclusive", "error");
	const any = fc.tuple(fc.constantFrom(...names), outcome, fc.constantFrom("1", "1", "1", "2"));
	const came = fc.array(any, { maxLength: 8 });
	fc.assert(
		fc.property(came, fc.subarray(names), fc.infiniteStream(fc.nat()), (list, planned, random) => {
			const given = list.map(([name, result, commit]) =>
				part(name, { outcome: result, ...onCommit(commit) }),
			);
			const order = new Map(given.map((some) => [some, random.next().value ?? 0]));
			const shuffled = given.toSorted((x, y) => order.get(x)! - order.get(y)!);
			const options = planned.length === 0 ? {} : { expected: planned.map((name) => ({ name })) };
			const merged = merge(given, options);
			expect(merge(shuffled, options)).toEqual(merged);
			const absent = planned.filter((name) => !list.some(([other]) => other === name)).toSorted();
			const missing = merged.parts?.filter(({ state }) => state === "missing");
			expect(missing?.map(({ name }) => name)).toEqual(absent);
			const named = merged.errors.filter(({ code }) => code === "part-missing").map((error) => error.part);
			expect(named).toEqual(expect.arrayContaining(absent));
			if (absent.length > 0) expect(["error", "fail"]).toContain(merged.outcome);
			expect(merged.parts?.length).toBe(new Set([...planned, ...list.map(([name]) => name)]).size);
		}),
		{ numRuns: 60 },
	);
});

it("a part's own words draw no markup", () => {
	for (const name of hostileNames) {
		const evil = part(name, {
			...{ partial: { stage: name, reason: name }, notes: [name] },
			...{ workloads: [buildSlowWorkload({ model: name })], builds: [buildBuild({ model: name })] },
		});
		const merged = merge([evil, refused(`${name}2`, name)]);
		expect(renderHtml(merged)).not.toMatch(/<(script|img|iframe)(?! |>trtgate)[^>]*(alert|onerror|src)/i);
		expect(renderMarkdown(merged)).not.toMatch(/<(script|img|iframe|!--)/i);
	}
});

const lost = buildGate({ gate: "coverage", engine: "int8", status: "warn", message: "The base checks it." });
const looser = buildGate({ gate: "limit-change", status: "warn", message: "gates.p99.fail: 20 % → off." });
const about = ({ gates }: Result) => gates.filter(({ gate }) => /^(coverage|limit-change)$/.test(gate));

it("findings that several parts and the plan share appear once and without a part", () => {
	const review = [lost, { ...looser, location: { path: "trtgate.yml", line: 3 } }];
	const ofPart = { ...looser, message: `${looser.message.slice(0, -1)}, in 2 workloads.` };
	const both = ["l4", "h200"].map((name) => part(name, { gates: [buildGate(), lost, ofPart] }));
	const merged = merge(both, { review });
	expect(about(merged)).toEqual(review);
	const latency = merged.gates.filter(({ gate }) => gate === "latency");
	expect(latency.map((gate) => gate.part)).toEqual(["h200", "l4"]);
});

it("findings of a single part stay beside those of the plan", () => {
	const own = part("l4", { gates: [buildGate(), lost] });
	for (const other of [looser, { ...lost, engine: "fp8" }])
		expect(about(merge([own, part("h200")], { review: [other] }))).toEqual([lost, other]);
});

it("a merged result is at best what the plan found, and no pass without a part", () => {
	for (const status of ["pass", "warn", "fail"] as const)
		expect(merge(parts, { review: [{ ...looser, status }] }).outcome).toBe(status);
	const review = [{ ...looser, status: "pass" as const }];
	const expected = ["l4", "h200"].map((name) => ({ name, artifact: name }));
	for (const given of [[], [part("l4")]])
		expect(merge(given, { expected, review })).toMatchObject({ outcome: "error", failureKind: "runner" });
});

it.each(Object.entries(resultCases))("the case %s can be merged with another", (_, result) => {
	const merged = merge([read("case", result), part("l4", { arms: result.arms })]);
	expect(() => parseResult(JSON.stringify(merged), "result.json")).not.toThrow();
	for (const render of [renderMarkdown, renderHtml, renderJunit])
		expect(render(merged).length).toBeGreaterThan(100);
});

const { maxBytes } = inputKinds.result;

function bounded(given: readonly PartInput[]) {
	const result = merge(given);
	expect(Buffer.byteLength(JSON.stringify(result, null, "\t"))).toBeLessThanOrEqual(maxBytes);
	return result;
}

it("a merged result that would be too large keeps the smallest parts, and names the others", () => {
	const note = (text: string) => part(text, { notes: [text.repeat(maxBytes / 3)] });
	const result = bounded([note("b"), part("a", { notes: ["small"] }), note("d"), note("c")]);
	expect(states(result)).toBe("a merged,b merged,c merged,d refused");
	expect(result).toMatchObject({ outcome: "error", failureKind: "configuration" });
	expect(result.errors).toMatchObject([
		{
			...{ part: "d", code: "part-refused", fix: expect.stringContaining("Merge fewer parts at a time") },
			message: "The merged result of all 4 parts would be larger than 64.0 MiB, so this one is left out.",
		},
	]);
	const letters = (name: string) => part(name, { notes: [name + "あ".repeat(12_000_000)] });
	const ofLongNames = (name: string) => part(name.repeat(6000), { gates: new Array(4000).fill(buildGate()) });
	for (const make of [letters, ofLongNames]) expect(bounded(["a", "b", "c"].map(make)).outcome).toBe("error");
	const largest = bounded([part("a", { notes: ["x".repeat(maxBytes - 100_000)] })]);
	expect(states(largest)).toBe("a merged");
});

it.each([
	["those that the plan names", ["trtgate-l4", "trtgate-other", "trtgate-h200"], ["l4 0", "h200 2"]],
	["the latest try", ["trtgate-l4", "trtgate-l4-attempt2", "trtgate-l4-attempt3"], ["l4 2"]],
	["the later of the same name", ["trtgate-l4", "trtgate-l4"], ["l4 1"]],
	["two of one try, for the merge to refuse", ["trtgate-l4", "trtgate-l4-attempt1"], ["l4 0", "l4 1"]],
	["two of a later try", ["trtgate-l4", "trtgate-l4-attempt2", "trtgate-l4-attempt2-2"], ["l4 1", "l4 2"]],
])("pickArtifacts takes %s", (_, names, wanted) => {
	const expected = ["l4", "h200"].map((name) => ({ name, artifact: `trtgate-${name}` }));
	const artifacts = names.map((name, id) => ({ id, name }));
	const picked = pickArtifacts(artifacts, expected).map(({ name, artifact }) => `${name} ${artifact.id}`);
	expect(picked).toEqual(wanted);
});
