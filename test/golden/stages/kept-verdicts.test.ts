import { expect, it } from "vitest";
import { keepVerdicts, recallVerdicts } from "../../../src/golden/stages/kept-verdicts.ts";
import { verify } from "../../../src/golden/stages/verify.ts";
import type { KeptVerdicts } from "../../../src/ports/world.ts";
import {
	type Answer,
	collect,
	crash,
	echo,
	streamedRun,
	streamedSet,
	withoutFirst,
} from "../../support/golden-stream.ts";

const facts = {
	version: "1",
	backend: { kind: "tensorrt", name: "TensorRT", version: "10.6.0", device: "GPU" },
	environment: { driver: "580" },
} as const;
const only =
	(arm: string, answer: Answer): Answer =>
	(job, nth) =>
		job.engine.arm === arm ? answer(job, nth) : echo(job);

it.each<[string, number, Answer]>([
	["keeps what both sides answered", 1, echo],
	["keeps nothing where the base failed, whose error the verdicts lack", 0, only("base", () => crash)],
	["keeps nothing where the base lacks an answer", 0, only("base", withoutFirst)],
	["keeps nothing where the head failed", 0, only("head", () => crash)],
	["keeps nothing where the head lacks an answer", 0, only("head", withoutFirst)],
])("%s", async (_, engines, answer) => {
	const { input, ports } = streamedRun(answer, streamedSet(3));
	const verified = await collect(verify(input, ports));
	const entries = new Map<string, NonNullable<Awaited<ReturnType<KeptVerdicts["recall"]>>>>();
	const kept: KeptVerdicts = {
		recall: async (key) => entries.get(key) ?? null,
		keep: async (key, verdicts, at) => void entries.set(key, { verdicts: [...verdicts], at }),
	};
	await keepVerdicts(input, verified, { facts, kept, at: "2026-01-01T00:00:00Z" });
	expect(await recallVerdicts(input, facts, kept)).toHaveLength(engines);
	expect(await recallVerdicts(input, { ...facts, environment: { driver: "581" } }, kept)).toEqual([]);
});
