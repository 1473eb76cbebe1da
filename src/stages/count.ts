// Counts the work of each workload, base and head in parallel processes.

import type { Comparison } from "../../generated/result.ts";
import { unknownChange } from "../core/compare/verdict.ts";
import { compareWork, doubtOfWork, type Work } from "../core/compare/work.ts";
import type { Config } from "../core/config/config.ts";
import { folderName } from "../core/config/identity.ts";
import { recordFault } from "../core/errors.ts";
import { counted } from "../core/text/labels.ts";
import type { Backend, BuiltEngine } from "../ports/backend.ts";
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
	const { base, head } = await countBoth(timed, input, ports);
	if (ports.interrupt.reason() !== null)
		return without({ verdict: "inconclusive", reason: "The count was interrupted." });
	const fault = [head, base].find((result) => result !== null && result.state !== "counted");
	if (fault?.state === "absent") return without({ verdict: "missing", reason: fault.reason });
	if (fault?.state === "failed") {
		const { rows } = without({ verdict: "not-comparable", reason: fault.failure.message });
		return { rows, errors: [recordFault(fault.failure, subjectOf(timed))] };
	}
	const works = { base: base as Work | null, head: head as Work };
	if (works.base === null || timed.base === undefined)
		return without({ ...input.noBase(timed), head: works.head.instructions });
	const both = { base: works.base, head: works.head };
	const doubt = doubtOfWork(both, { base: timed.base.model.onnx, head: timed.head.model.onnx });
	return { rows: [{ ...rowOf(timed, compareWork(both, minimalEffect)), ...(doubt !== null && { doubt }) }] };
}

async function countBoth(timed: TimedWorkload, input: CountInput, ports: CountPorts) {
	const run = async (engine: BuiltEngine | undefined) => {
		if (engine === undefined) return null;
		const logPath = `${input.outFolder}/logs/count-${folderName(timed.workload.id)}-${engine.arm}.log`;
		const job = { engine, inputs: timed.inputs, seed: 1, timeoutMs: input.measure.timeoutMs, logPath };
		return (await ports.backend.count?.(job)) ?? { state: "absent", reason: "This backend counts nothing." };
	};
	const [base, head] = await Promise.all([run(timed.base), run(timed.head)]);
	return { base, head };
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
