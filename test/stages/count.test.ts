import { expect, it } from "vitest";
import type { Arm } from "../../generated/result.ts";
import type { CountJob, CountResult } from "../../src/ports/backend.ts";
import { count } from "../../src/stages/count.ts";
import { buildConfig } from "../support/build-config.ts";
import { fakeWorkload, onlyOf, silent } from "../support/fakes.ts";

const config = buildConfig();

const counts =
	(base: number, head: number) =>
	(arm: Arm): CountResult => {
		const instructions = arm === "base" ? base : head;
		return { state: "counted", instructions, otherInput: instructions };
	};

async function countOne(
	answer: (arm: Arm) => CountResult,
	hashes: Partial<Record<Arm, string>> = { base: "a", head: "b" },
) {
	const jobs: CountJob[] = [];
	const backend = {
		count: async (job: CountJob) => {
			jobs.push(job);
			return answer(job.engine.arm);
		},
	};
	const noBase = () => ({ verdict: "missing", reason: "New: it was added." }) as const;
	const workloads = [fakeWorkload("one", hashes)];
	const input = { workloads, measure: config.measure, noBase, outFolder: "/out" };
	const interrupt = { reason: () => null };
	return { ...(await onlyOf(count(input, { backend, progress: silent, interrupt }))), jobs };
}

it("count runs base and head once each, on one seed, and compares them", async () => {
	const { row, jobs } = await countOne(counts(19.35e6, 27.45e6));
	expect(jobs.map(({ engine, seed }) => `${engine.arm} ${seed}`)).toEqual(["base 1", "head 1"]);
	const work = { base: 19.35e6, head: 27.45e6, pairs: 0 };
	expect(row).toMatchObject({ verdict: "regressed", work, latency: { verdict: "missing" } });
	expect(row.limits).toEqual({ warn: 0.02 });
	expect(row.doubt).toBeUndefined();
});

it("count runs nothing if both engines have the same bytes", async () => {
	const { row, jobs } = await countOne(counts(1, 2), { base: "a", head: "a" });
	expect(jobs).toEqual([]);
	const work = { estimate: 0, reason: expect.stringContaining("nothing was counted") };
	expect(row).toMatchObject({ verdict: "unchanged", work });
});

it("count keeps the head's count if there is no base", async () => {
	const { row } = await countOne(counts(0, 5e6), { head: "b" });
	const work = { head: 5e6, estimate: null, reason: "New: it was added." };
	expect(row).toMatchObject({ verdict: "missing", work });
});

it("count reports a side that does not run as an error, and never as a pass", async () => {
	const failure = { code: "tool-output", message: "it does not run" } as const;
	const { row, error } = await countOne((arm) =>
		arm === "base" ? counts(1, 1)(arm) : { state: "failed", failure },
	);
	expect(row).toMatchObject({ verdict: "not-comparable", work: { reason: "it does not run" } });
	expect(error).toMatchObject({ code: "tool-output", model: "net", workload: "one" });
});

it("count says why nothing is judged if the backend cannot count", async () => {
	const reason = "Native ONNX Runtime counts nothing.";
	const { row, error } = await countOne(() => ({ state: "absent", reason }));
	expect(row).toMatchObject({ verdict: "missing", work: { estimate: null, reason } });
	expect(error).toBeUndefined();
});
