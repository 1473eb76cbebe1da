import { expect, it } from "vitest";
import type { Arm } from "../../generated/result.ts";
import type { OnnxModel } from "../../src/core/onnx/model.ts";
import type { CountJob, CountResult } from "../../src/ports/backend.ts";
import { count } from "../../src/stages/count.ts";
import { buildConfig } from "../support/build-config.ts";
import { fakeWorkload, onlyOf, silent } from "../support/fakes.ts";

const { measure: measured } = buildConfig();

const counts =
	(base: number, head: number) =>
	(arm: Arm): CountResult => {
		const instructions = arm === "base" ? base : head;
		return { state: "counted", instructions, otherInput: instructions };
	};

async function countOne(
	answer: (arm: Arm, level: CountJob["level"]) => CountResult,
	hashes: Partial<Record<Arm, string>> = { base: "a", head: "b" },
	{ gates = {}, op = "Conv" } = {},
) {
	const jobs: CountJob[] = [];
	const backend = {
		count: async (job: CountJob) => {
			jobs.push(job);
			return answer(job.engine.arm, job.level);
		},
	};
	const noBase = () => ({ verdict: "missing", reason: "New: it was added." }) as const;
	const timed = fakeWorkload("one", hashes);
	const config = { ...timed.workload.config, gates: { ...timed.workload.config.gates, ...gates } };
	const graph = { nodes: [{ op, name: "n" }], subgraphs: [] };
	const onnx = { graph, functions: [] } as unknown as OnnxModel;
	const head = { ...timed.head, model: { ...timed.head.model, onnx } };
	const workloads = [{ ...timed, head, workload: { ...timed.workload, config } }];
	const input = { workloads, measure: measured, noBase, outFolder: "/out" };
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

const tanh = { gates: { work: { fail: 0.1 } }, op: "Tanh" };
const split = (operators: Readonly<Record<string, number>>): CountResult => ({
	state: "split",
	operators: new Map(Object.entries(operators)),
});

it.each([
	["a Tanh of one element", { Conv: 1.5e6, Tanh: 60 }, { FusedConv: 1.5e6 }, false, 6],
	["fused nodes that hide a Tanh", { Conv: 1e6, Tanh: 5e5 }, { FusedConv: 1.5e6 }, true, 4],
	["nodes that are quantised only as they run", { Conv: 1.5e6 }, { QLinearConv: 1.5e6 }, true, 6],
])(
	"count doubts a failing change only if its own split can explain it: %s",
	async (_, basic, all, isDoubtful, runs) => {
		const answer = (arm: Arm, level: CountJob["level"]) =>
			level === undefined
				? counts(1e6, 1.5e6)(arm)
				: split(arm === "base" ? { Conv: 1e6 } : level === "basic" ? basic : all);
		const { row, jobs } = await countOne(answer, undefined, tanh);
		expect(row.verdict).toBe("regressed");
		expect(row.doubt !== undefined).toBe(isDoubtful);
		expect(jobs).toHaveLength(runs);
	},
);

it("count splits nothing if the change cannot fail, and reports a split that does not run", async () => {
	const { row, jobs } = await countOne(counts(1e6, 5e6), undefined, { ...tanh, gates: {} });
	expect([row.doubt, jobs.length]).toEqual([expect.stringContaining("1 more Tanh"), 2]);
	const failure = { code: "tool-timeout", message: "it took too long" } as const;
	const failing = await countOne(
		(arm, level) => (level === undefined ? counts(1e6, 5e6)(arm) : { state: "failed", failure }),
		undefined,
		tanh,
	);
	expect(failing.row.verdict).toBe("not-comparable");
	expect(failing.error).toMatchObject({ code: "tool-timeout" });
});
