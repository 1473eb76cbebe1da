// Golden cases are streamed: batch after batch, both sides, one batch in memory at a time.
import { expect, it } from "vitest";
import type { ComparatorSpec } from "../../../generated/golden.ts";
import type { GoldenSet } from "../../../src/golden/stages/load-goldens.ts";
import { type Verified, verify } from "../../../src/golden/stages/verify.ts";
import type { InferJob, InferResult } from "../../../src/ports/backend.ts";
import type { Files, Progress } from "../../../src/ports/world.ts";
import { silent } from "../../support/fakes.ts";
import {
	allFiles,
	countingReader,
	echo,
	inferBackend,
	streamedEngine,
	streamedSet,
} from "../../support/golden-stream.ts";
import { modelSha256, zeros } from "../../support/golden-tensors.ts";

const failure = { code: "tool-crashed", message: "it died" } as const;
const crash: InferResult = { state: "failed", failure, wallMs: 1 };
const overSet: [ComparatorSpec] = [{ kind: "relative-l2", scope: "set" }];

interface Asked {
	cases: number;
	batch: number;
	answer?: (job: InferJob, nth: number) => InferResult | Promise<InferResult>;
	progress?: Progress;
	reader?: ReturnType<typeof countingReader>;
	comparators?: [ComparatorSpec, ...ComparatorSpec[]];
}

function withComparators(set: GoldenSet, comparators: Asked["comparators"]): GoldenSet {
	return comparators === undefined
		? set
		: { ...set, manifest: { ...set.manifest, outputs: { y: { comparators } } } };
}

async function verifyAll({
	cases,
	batch,
	answer = echo,
	progress = silent,
	reader = countingReader(),
	comparators,
}: Asked) {
	const built = [streamedEngine("base"), streamedEngine("head")];
	const id = built[0]!.spec.id;
	const engines = cases === 0 ? [] : built;
	const backend = inferBackend(answer);
	const input = {
		engines,
		goldens: new Map([[id, withComparators(streamedSet(Math.max(1, cases)), comparators)]]),
		modelSha256: new Map([["net", modelSha256]]),
		outFolder: "/out",
		threads: 1,
		timeoutMs: 1000,
		batch: { bytes: 2 ** 30, cases: batch },
	};
	const verdicts: Verified[] = [];
	for await (const verified of verify(input, {
		backend: backend as never,
		files: allFiles as Files,
		tensors: reader,
		progress,
	})) {
		verdicts.push(verified);
	}
	return { verdicts, jobs: backend.jobs, reader };
}

const states = (verdicts: readonly Verified[]): string[] =>
	verdicts.map((verified) =>
		verified.state === "judged"
			? `${verified.verdict.case} ${verified.verdict.state}`
			: verified.error.message,
	);

it("verify runs both sides batch by batch and judges every case once, in order", async () => {
	const { verdicts, jobs } = await verifyAll({ cases: 7, batch: 3 });
	expect(jobs.map(({ arm, ids }) => `${arm} ${ids.length}`)).toEqual([
		"base 3",
		"head 3",
		"base 3",
		"head 3",
		"base 1",
		"head 1",
	]);
	expect(states(verdicts)).toEqual(Array.from({ length: 7 }, (_, index) => `case-${index} match`));
});

it("verify keeps a log of each batch", async () => {
	const { jobs } = await verifyAll({ cases: 3, batch: 2 });
	expect(new Set(jobs.map(({ logPath }) => logPath)).size).toBe(4);
});

it("verify reads every file once", async () => {
	const { reader } = await verifyAll({ cases: 20, batch: 6 });
	expect(reader.reads.length).toBe(40);
	expect(new Set(reader.reads).size).toBe(40);
});

it("verify never holds the tensors of more than one batch", async () => {
	const reader = countingReader();
	const alive: number[] = [];
	await verifyAll({
		cases: 50,
		batch: 10,
		reader,
		answer: async (job) => {
			alive.push(await reader.alive());
			return echo(job);
		},
	});
	expect(alive.length).toBe(10);
	expect(Math.max(...alive)).toBe(10);
});

it("verify reports which case of all is at hand, with the side", async () => {
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
])("verify reports of %i cases that ran: %s", async (cases, ending) => {
	const endings: string[] = [];
	await verifyAll({ cases, batch: 2, progress: { ...silent, done: (text) => endings.push(text) } });
	expect(endings).toEqual([ending]);
});

it("verify judges the whole set once, after all of its batches, and holds no batch for it", async () => {
	const reader = countingReader();
	const alive: number[] = [];
	const answer = async (job: InferJob): Promise<InferResult> => {
		alive.push(await reader.alive());
		return echo(job);
	};
	const { verdicts } = await verifyAll({
		cases: 40,
		batch: 10,
		reader,
		answer,
		comparators: overSet,
	});
	expect(Math.max(...alive)).toBe(10);
	expect(verdicts.length).toBe(41);
	expect(verdicts[0]).toMatchObject({ verdict: { case: "case-0", state: "match", checks: [] } });
	expect(verdicts.at(-1)).toMatchObject({
		verdict: { case: "whole set", scope: "set", cases: 40, state: "match" },
	});
});

it("verify runs only commands of the config, and an unknown one is not a match", async () => {
	const { verdicts } = await verifyAll({
		cases: 1,
		batch: 1,
		comparators: [{ kind: "custom", name: "mine" }],
	});
	expect(verdicts[0]).toMatchObject({
		verdict: {
			state: "mismatch",
			checks: [{ metric: "custom mine", detail: expect.stringContaining("trtgate.yml has no command") }],
		},
	});
});

it("verify keeps the verdicts of the batches before an engine that breaks down, without one on the set", async () => {
	const { verdicts, jobs } = await verifyAll({
		cases: 6,
		batch: 2,
		comparators: overSet,
		answer: (job, nth) => (nth === 3 ? crash : echo(job)),
	});
	expect(states(verdicts)).toEqual(["case-0 match", "case-1 match", "it died"]);
	expect(jobs.length).toBe(4);
});

it("verify stops running a base that failed, and judges the head without it", async () => {
	const { verdicts, jobs } = await verifyAll({
		cases: 4,
		batch: 2,
		answer: (job) => (job.engine.arm === "base" ? crash : echo(job)),
	});
	expect(jobs.map(({ arm }) => arm)).toEqual(["base", "head", "head"]);
	expect(states(verdicts).every((state) => state.endsWith(" match"))).toBe(true);
});

it("verify never counts a case without an answer as a match, and gives no number over the set", async () => {
	const answer = (job: InferJob): InferResult => {
		const all = echo(job);
		return all.state === "done" ? { ...all, cases: all.cases.slice(1) } : all;
	};
	const { verdicts } = await verifyAll({ cases: 2, batch: 2, answer, comparators: overSet });
	expect(states(verdicts)).toEqual(["case-0 error", "case-1 match", "whole set error"]);
});

it("verify lets a base that is built otherwise excuse no failure of a case that its own golden lacks", async () => {
	const wrong = (job: InferJob): InferResult => {
		const all = echo(job);
		if (all.state !== "done") return all;
		const cases = all.cases.map((one) => ({ ...one, outputs: { y: zeros("float32", [4]) } }));
		return { ...all, cases };
	};
	const [base, head] = [streamedEngine("base"), streamedEngine("head")];
	const { tensorrt } = head.spec.engine;
	const slower = {
		...head.spec,
		engine: { ...head.spec.engine, tensorrt: { ...tensorrt, optimizationLevel: 0 } },
	};
	const otherwise = { ...head, spec: slower };
	const set = streamedSet(2);
	const [first, second] = set.manifest.cases;
	const rewritten = {
		...set.manifest,
		cases: [first, { ...second!, inputs: {} }] as typeof set.manifest.cases,
	};
	const stateOf = async (engine: typeof head, ofBase: GoldenSet["ofBase"]) => {
		const backend = inferBackend(wrong);
		const goldens = new Map([[head.spec.id, { ...set, ...(ofBase === undefined ? {} : { ofBase }) }]]);
		const input = {
			engines: [base, engine],
			goldens,
			modelSha256: new Map([["net", modelSha256]]),
			outFolder: "/out",
			threads: 1,
			timeoutMs: 1000,
		};
		const found: Verified[] = [];
		const ports = {
			backend: backend as never,
			files: allFiles as Files,
			tensors: countingReader(),
			progress: silent,
		};
		for await (const verified of verify(input, ports)) found.push(verified);
		return states(found);
	};
	expect(await stateOf(otherwise, rewritten)).toEqual(["case-0 existing", "case-1 mismatch"]);
	expect(await stateOf(otherwise, undefined)).toEqual(["case-0 mismatch", "case-1 mismatch"]);
	// The same engine on both sides: a new case shows an old fault.
	expect(await stateOf(head, undefined)).toEqual(["case-0 existing", "case-1 existing"]);
});
