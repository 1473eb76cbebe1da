// Counts the work of each workload, base and head in parallel processes.
import type { Arm, Comparison } from "../../generated/result.ts";
import { unknownChange } from "../core/compare/verdict.ts";
import {
	canExplain,
	compareWork,
	doubtOfNodes,
	doubtOfValues,
	hasPlainNames,
	type Work,
} from "../core/compare/work.ts";
import type { Config } from "../core/config/config.ts";
import { folderName } from "../core/config/values.ts";
import { recordFault } from "../core/errors.ts";
import { counted } from "../core/text/labels.ts";
import type { Backend, BuiltEngine, CountJob, CountResult } from "../ports/backend.ts";
import type { Ports } from "../ports/ports.ts";
import type { Measured } from "./measure.ts";
import { identicalEngines, identityOf, isIdentical, subjectOf, type TimedWorkload } from "./workloads.ts";

interface CountInput {
	workloads: readonly TimedWorkload[];
	measure: Pick<Config["measure"], "timeoutMs" | "identicalEngines">;
	noBase(timed: TimedWorkload): Pick<Comparison, "verdict" | "reason">;
	outFolder: string;
}

type CountPorts = Pick<Ports, "progress" | "interrupt"> & { backend: Pick<Backend, "count"> };

export async function* count(input: CountInput, ports: CountPorts): AsyncGenerator<Measured> {
	ports.progress.stage("measure", input.workloads.length);
	for (const timed of input.workloads) {
		if (ports.interrupt.reason() !== null) return;
		ports.progress.item(timed.workload.id);
		yield await countWorkload(timed, input, ports);
	}
	ports.progress.done(counted(input.workloads.length, "workload"));
}

async function countWorkload(timed: TimedWorkload, input: CountInput, ports: CountPorts): Promise<Measured> {
	const { gates } = timed.workload.config;
	const minimalEffect = gates.work.warn ?? gates.work.fail ?? 0.02;
	const blank = { ...unknownChange, pairs: 0, minimalEffect, level: 1 };
	const without = (work: Pick<Comparison, "verdict" | "reason"> & Partial<Comparison>): Measured => ({
		rows: [rowOf(timed, { ...blank, ...work })],
	});
	if (isIdentical(timed, input.measure)) return without(identicalEngines(timed, "counted"));
	const { base, head, fault } = await countBoth(timed, input, ports);
	const works = base?.state === "counted" && head?.state === "counted" && { base, head };
	const judged = works && !fault ? await doubtOf(works, timed, input, ports) : { doubt: null, fault };
	if (ports.interrupt.reason() !== null)
		return without({ verdict: "inconclusive", reason: "The count was interrupted." });
	if (judged.fault?.state === "absent") return without({ verdict: "missing", reason: judged.fault.reason });
	if (judged.fault?.state === "failed") {
		const { failure } = judged.fault;
		const { rows } = without({ verdict: "not-comparable", reason: failure.message });
		return { rows, errors: [recordFault(failure, subjectOf(timed))] };
	}
	if (!works)
		return without({ ...input.noBase(timed), ...(head?.state === "counted" && { head: head.instructions }) });
	const { doubt } = judged;
	return { rows: [{ ...rowOf(timed, compareWork(works, minimalEffect)), ...(doubt !== null && { doubt }) }] };
}

/** Doubt about nodes holds if their work can explain what would fail: as the file has them, or fused as they run. */
async function doubtOf(works: Record<Arm, Work>, timed: TimedWorkload, input: CountInput, ports: CountPorts) {
	const { fail = Infinity } = timed.workload.config.gates.work;
	const ofValues = doubtOfValues(works, fail);
	if (ofValues !== null) return { doubt: ofValues };
	const models = { base: (timed.base ?? timed.head).model.onnx, head: timed.head.model.onnx };
	const doubt = doubtOfNodes(models);
	if (doubt === null || compareWork(works, fail).verdict !== "regressed") return { doubt };
	const isSplit = hasPlainNames(models.base) && hasPlainNames(models.head);
	for (const level of isSplit ? (["basic", "all"] as const) : []) {
		const { base, head, fault } = await countBoth(timed, input, ports, level);
		if (fault) return { doubt, fault };
		const [before, after] = [base, head].map((side) =>
			side?.state === "split" ? side.operators : undefined,
		);
		if (canExplain(works, { base: before, head: after }, fail)) return { doubt };
	}
	return { doubt: null };
}

async function countBoth(
	timed: TimedWorkload,
	input: CountInput,
	ports: CountPorts,
	level?: CountJob["level"],
) {
	const run = async (engine: BuiltEngine | undefined): Promise<CountResult | undefined> => {
		if (engine === undefined) return undefined;
		const name = [folderName(timed.workload.id), engine.arm, ...(level ? [level] : [])].join("-");
		const logPath = `${input.outFolder}/logs/count-${name}.log`;
		const job = { engine, inputs: timed.inputs, seed: 1, timeoutMs: input.measure.timeoutMs, logPath, level };
		return (await ports.backend.count?.(job)) ?? { state: "absent", reason: "This backend counts nothing." };
	};
	const [base, head] = await Promise.all([run(timed.base), run(timed.head)]);
	const fault = [head, base].find((result) => result?.state === "absent" || result?.state === "failed");
	return { base, head, fault };
}

function rowOf(timed: TimedWorkload, work: Comparison) {
	return {
		...identityOf(timed),
		verdict: work.verdict,
		work,
		latency: untimed,
		p99: untimed,
		memory: untimed,
		base: null,
		head: null,
		noise: { runCv: null, detectable: null },
		replaced: 0,
		runs: [],
		limits: { ...timed.workload.config.gates.work },
	};
}

const untimed: Comparison = {
	verdict: "missing",
	reason: "Not measured: ONNX Runtime's work is counted.",
	...{ ...unknownChange, pairs: 0, minimalEffect: 0, level: 1 },
};
