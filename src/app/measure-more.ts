// What a run measures beyond its pairs: fresh pairs of what stands out in the history, and engines under load for minutes.
import { compare } from "../stages/compare.ts";
import { type MeasureInput, measure } from "../stages/measure.ts";
import { soak } from "../stages/soak.ts";
import { comparisonOf } from "./comparison.ts";
import { concludeResult } from "./conclude.ts";
import type { RunContext } from "./run-context.ts";

/** What stands out in the history is measured on fresh pairs, so that a single bad night raises no alarm. */
export async function measureAgain(timing: MeasureInput, run: RunContext): Promise<void> {
	const { input, facts, ports } = run;
	const now = { nowMs: ports.clock.now(), childMs: ports.childMs() };
	const due = (await input.suspects?.(concludeResult(facts, input, now))) ?? [];
	const workloads = timing.workloads.filter(({ workload }) => due.includes(workload.id));
	if (workloads.length === 0) return;
	const looks = timing.measure.looks.slice(-1);
	const again = { ...timing, workloads, measure: { ...timing.measure, looks }, outFolder: `${input.outFolder}/fresh` };
	for await (const measured of measure(again, ports)) {
		const row = facts.rows.find(({ id }) => id === measured.workload.id);
		if (row !== undefined) row.fresh = compare(measured, { ...comparisonOf(measured, timing, run), looks }).latency;
	}
}

export async function soakEngines(timing: MeasureInput, { facts, ports }: RunContext): Promise<void> {
	for await (const soaked of soak({ ...timing, rows: facts.rows }, ports)) {
		if ("error" in soaked) facts.errors.push(soaked.error);
		const row = facts.rows.find(({ id }) => id === soaked.id);
		if (row !== undefined && "soak" in soaked) row.soak = soaked.soak;
	}
}
