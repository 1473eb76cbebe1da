// Times sweeps: sizes of one dimension, chosen while their times are found.
import type { ErrorRecord, SweepPoint, SweepResult } from "../../generated/result.ts";
import { firstArms } from "../core/compare/pairs.ts";
import { nextSize, timesOf } from "../core/compare/sweep.ts";
import { type MeasureInput, type MeasurePorts, measure } from "./measure.ts";
import { isIdentical, type Sweep, subjectOf, type TimedWorkload } from "./workloads.ts";

interface SweptWorkload extends TimedWorkload {
	sweep: Sweep;
}

export function isSwept(timed: TimedWorkload): timed is SweptWorkload {
	return timed.sweep !== undefined;
}

export async function* measureSweeps(
	input: MeasureInput & { seed: string },
	ports: MeasurePorts,
): AsyncGenerator<{ sweeps?: readonly [SweepResult]; errors?: readonly ErrorRecord[] }> {
	for (const timed of input.workloads.filter(isSwept)) {
		const { sweep } = timed;
		const points: SweepPoint[] = [];
		const isSame = timed.base !== undefined && isIdentical({ ...timed, base: timed.base }, input.measure);
		for (;;) {
			const size = nextSize(timesOf(points), sweep);
			// Of engines with the same bytes nothing is timed, and one size says it.
			if (size === null || (isSame && points.length > 0) || ports.interrupt.reason() !== null) break;
			const workloads = [atSize(timed, size, input)];
			for await (const { rows, errors } of measure({ ...input, workloads }, ports)) {
				const [row] = rows;
				const runs = row.runs.map(({ samples: _, ...run }) => run);
				points.push({ size, row: { ...row, runs } });
				if (errors !== undefined) yield { errors };
			}
			// A failure would recur at every size.
			if (points.at(-1)?.size !== size || points.at(-1)?.row.head === null) break;
		}
		const { model, engine = "", workload = "" } = subjectOf(timed);
		points.sort((a, b) => a.size - b.size);
		if (points.length > 0 && model !== undefined)
			yield { sweeps: [{ model, engine, workload, dim: sweep.dim, points }] };
	}
}

function atSize(
	timed: SweptWorkload,
	size: number,
	{ seed, measure: { looks } }: MeasureInput & { seed: string },
): TimedWorkload {
	const { workload, sweep, firstArms: order } = timed;
	const id = `${workload.id}/${size}`;
	const config = { ...workload.config, dims: { ...workload.config.dims, [sweep.dim]: size } };
	const arms = timed.base === undefined ? order : firstArms(`${seed}:${id}`, looks.at(-1) ?? 0);
	return { ...timed, workload: { ...workload, id, config }, inputs: sweep.inputsAt(size), firstArms: arms };
}
