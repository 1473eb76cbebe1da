import { expect, it } from "vitest";
import type { ComparatorSpec, GoldenManifest } from "../../../generated/golden.ts";
import { type Verified, verify } from "../../../src/golden/stages/verify.ts";
import type { BuiltEngine, InferJob } from "../../../src/ports/backend.ts";
import type { Progress } from "../../../src/ports/world.ts";
import { silent } from "../../support/fakes.ts";
import {
	type Answer,
	collect,
	countingReader,
	crash,
	echo,
	streamedEngine,
	streamedRun,
	streamedSet,
	withoutFirst,
} from "../../support/golden-stream.ts";
import { zeros } from "../../support/golden-tensors.ts";

const overSet: [ComparatorSpec] = [{ kind: "relative-l2", scope: "set" }];

interface Asked {
	cases: number;
	batch?: number;
	answer?: Answer;
	progress?: Progress;
	reader?: ReturnType<typeof countingReader>;
	comparators?: [ComparatorSpec, ...ComparatorSpec[]];
	head?: BuiltEngine;
	ofBase?: GoldenManifest | undefined;
}

async function verifyAll({ cases, batch = 2, answer = echo, progress = silent, ...more }: Asked) {
	const { manifest, folder } = streamedSet(Math.max(1, cases));
	const { comparators, head, ofBase, reader } = more;
	const outputs = comparators === undefined ? manifest.outputs : { y: { comparators } };
	const set = { manifest: { ...manifest, outputs }, folder, ...(ofBase === undefined ? {} : { ofBase }) };
	const { input, ports, jobs } = streamedRun(answer, set, reader);
	const [base, usual] = input.engines;
	const engines = cases === 0 ? [] : [base!, head ?? usual!];
	const running = verify(
		{ ...input, engines, batch: { bytes: 2 ** 30, cases: batch } },
		{ ...ports, progress },
	);
	return { verdicts: await collect(running), jobs };
}

function watched() {
	const reader = countingReader();
	const alive: number[] = [];
	const answer = async (job: InferJob) => {
		alive.push(await reader.alive());
		return echo(job);
	};
	return { reader, alive, answer };
}

const states = (verdicts: Verified[]) =>
	verdicts.map((one) =>
		one.state === "judged" ? `${one.verdict.case} ${one.verdict.state}` : one.error.message,
	);

it("runs both sides batch by batch, each with a log, and judges every case once, in order", async () => {
	const { verdicts, jobs } = await verifyAll({ cases: 7, batch: 3 });
	const runs = ["base 3", "head 3", "base 3", "head 3", "base 1", "head 1"];
	expect(jobs.map(({ arm, ids }) => `${arm} ${ids.length}`)).toEqual(runs);
	expect(new Set(jobs.map(({ logPath }) => logPath)).size).toBe(runs.length);
	expect(states(verdicts)).toEqual(Array.from({ length: 7 }, (_, index) => `case-${index} match`));
});

it("reads every file once, and never holds the tensors of more than one batch", async () => {
	const { reader, alive, answer } = watched();
	await verifyAll({ cases: 50, batch: 10, reader, answer });
	expect([reader.reads.length, new Set(reader.reads).size]).toEqual([100, 100]);
	expect([alive.length, Math.max(...alive)]).toEqual([10, 10]);
});

it("reports which case of all is at hand, with the side", async () => {
	const [told, items]: [string[], string[]] = [[], []];
	const detail = (text: string) => told.push(text);
	const progress: Progress = { ...silent, detail, item: (label) => items.push(label) };
	await verifyAll({ cases: 1500, batch: 1000, progress });
	expect(told).toEqual([
		"case 1,000 of 1,500 (base)",
		"case 1,000 of 1,500 (head)",
		"case 1,500 of 1,500 (base)",
		"case 1,500 of 1,500 (head)",
	]);
	expect(items[1]).toContain("cases 1,001 to 1,500 of 1,500");
});

it.each([
	[2, "golden cases match"],
	[0, "no golden cases to run"],
])("reports of %i cases that ran: %s", async (cases, ending) => {
	const endings: string[] = [];
	await verifyAll({ cases, batch: 2, progress: { ...silent, done: (text) => endings.push(text) } });
	expect(endings).toEqual([ending]);
});

it("judges the whole set once, after all of its batches, and holds no batch for it", async () => {
	const { alive, ...watch } = watched();
	const { verdicts } = await verifyAll({ cases: 40, batch: 10, ...watch, comparators: overSet });
	expect(Math.max(...alive)).toBe(10);
	expect(verdicts.length).toBe(41);
	expect(verdicts[0]).toMatchObject({ verdict: { case: "case-0", state: "match", checks: [] } });
	const verdict = { case: "whole set", scope: "set", cases: 40, state: "match" };
	expect(verdicts.at(-1)).toMatchObject({ verdict });
});

it("runs only commands of the config, and an unknown one is not a match", async () => {
	const { verdicts } = await verifyAll({ cases: 1, comparators: [{ kind: "custom", name: "mine" }] });
	const check = { metric: "custom mine", detail: expect.stringContaining("trtgate.yml has no command") };
	expect(verdicts[0]).toMatchObject({ verdict: { state: "mismatch", checks: [check] } });
});

it("keeps the verdicts of the batches before an engine that breaks down, without one on the set", async () => {
	const answer: Answer = (job, nth) => (nth === 3 ? crash : echo(job));
	const { verdicts, jobs } = await verifyAll({ cases: 6, comparators: overSet, answer });
	expect(states(verdicts)).toEqual(["case-0 match", "case-1 match", "it died"]);
	expect(jobs.length).toBe(4);
});

it("stops running a base that failed, and judges the head without it", async () => {
	const answer: Answer = (job) => (job.engine.arm === "base" ? crash : echo(job));
	const { verdicts, jobs } = await verifyAll({ cases: 4, answer });
	expect(jobs.map(({ arm }) => arm)).toEqual(["base", "head", "head"]);
	expect(states(verdicts).every((state) => state.endsWith(" match"))).toBe(true);
});

it("never counts a case without an answer as a match, and gives no number over the set", async () => {
	const { verdicts } = await verifyAll({ cases: 2, answer: withoutFirst, comparators: overSet });
	expect(states(verdicts)).toEqual(["case-0 error", "case-1 match", "whole set error"]);
});

it("lets a base that is built otherwise excuse no failure of a case that its own golden lacks", async () => {
	const wrong = (job: InferJob) => {
		const all = echo(job);
		if (all.state !== "done") return all;
		const cases = all.cases.map((one) => ({ ...one, outputs: { y: zeros("float32", [4]) } }));
		return { ...all, cases };
	};
	const head = streamedEngine("head");
	const { engine } = head.spec;
	const tensorrt = { ...engine.tensorrt, optimizationLevel: 0 };
	const otherwise = { ...head, spec: { ...head.spec, engine: { ...engine, tensorrt } } };
	const { manifest } = streamedSet(2);
	const [first, second] = manifest.cases;
	const rewritten: GoldenManifest = { ...manifest, cases: [first, { ...second!, inputs: {} }] };
	const stateOf = async (one: BuiltEngine, ofBase?: GoldenManifest) =>
		states((await verifyAll({ cases: 2, answer: wrong, head: one, ofBase })).verdicts);
	expect(await stateOf(otherwise, rewritten)).toEqual(["case-0 existing", "case-1 mismatch"]);
	expect(await stateOf(otherwise)).toEqual(["case-0 mismatch", "case-1 mismatch"]);
	// The same engine on both sides: a new case shows an old fault.
	expect(await stateOf(head)).toEqual(["case-0 existing", "case-1 existing"]);
});
