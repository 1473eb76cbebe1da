// Which verdicts are kept for later runs.
import { expect, it } from "vitest";
import { keepVerdicts, recallVerdicts } from "../../../src/golden/stages/kept-verdicts.ts";
import { type Verified, verify } from "../../../src/golden/stages/verify.ts";
import type { InferJob, InferResult } from "../../../src/ports/backend.ts";
import type { Files, KeptVerdicts } from "../../../src/ports/world.ts";
import { silent } from "../../support/fakes.ts";
import {
	allFiles,
	countingReader,
	echo,
	inferBackend,
	streamedEngine,
	streamedSet,
} from "../../support/golden-stream.ts";
import { modelSha256 } from "../../support/golden-tensors.ts";

const crash: InferResult = {
	state: "failed",
	failure: { code: "tool-crashed", message: "it died" },
	wallMs: 1,
};
const withoutFirst = (job: InferJob): InferResult => {
	const all = echo(job);
	return all.state === "done" ? { ...all, cases: all.cases.slice(1) } : all;
};
const facts = {
	version: "1",
	backend: { kind: "tensorrt", name: "TensorRT", version: "10.6.0", device: "GPU" },
	environment: { driver: "580" },
} as const;

it.each<[string, number, (job: InferJob) => InferResult]>([
	["keeps what both sides answered", 1, echo],
	[
		"keeps nothing where the base failed, whose error the verdicts lack",
		0,
		(job) => (job.engine.arm === "base" ? crash : echo(job)),
	],
	[
		"keeps nothing where the base lacks an answer",
		0,
		(job) => (job.engine.arm === "base" ? withoutFirst(job) : echo(job)),
	],
	["keeps nothing where the head failed", 0, (job) => (job.engine.arm === "head" ? crash : echo(job))],
	[
		"keeps nothing where the head lacks an answer",
		0,
		(job) => (job.engine.arm === "head" ? withoutFirst(job) : echo(job)),
	],
])("%s", async (_, engines, answer) => {
	const head = streamedEngine("head");
	const input = {
		engines: [streamedEngine("base"), head],
		goldens: new Map([[head.spec.id, streamedSet(3)]]),
		modelSha256: new Map([["net", modelSha256]]),
		...{ outFolder: "/out", threads: 1, timeoutMs: 1000 },
	};
	const verified: Verified[] = [];
	const ports = {
		backend: inferBackend(answer) as never,
		files: allFiles as Files,
		tensors: countingReader(),
		progress: silent,
	};
	for await (const one of verify(input, ports)) verified.push(one);
	const entries = new Map<string, NonNullable<Awaited<ReturnType<KeptVerdicts["recall"]>>>>();
	const kept: KeptVerdicts = {
		recall: async (key) => entries.get(key) ?? null,
		keep: async (key, verdicts, at) => void entries.set(key, { verdicts: [...verdicts], at }),
	};
	await keepVerdicts(input, verified, { facts, kept, at: "2026-01-01T00:00:00Z" });
	expect(await recallVerdicts(input, facts, kept)).toHaveLength(engines);
	expect(await recallVerdicts(input, { ...facts, environment: { driver: "581" } }, kept)).toEqual([]);
});
