// Times sweeps: sizes of one dimension, chosen while their times are found.
import type { ErrorRecord, SweepPoint, SweepResult, WorkloadResult } from "../../generated/result.ts";
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

type SweepInput = MeasureInput & { seed: string };

export async function* measureSweeps(
	input: SweepInput,
	ports: MeasurePorts,
): AsyncGenerator<{ sweeps?: readonly [SweepResult]; errors?: readonly ErrorRecord[] }> {
	for (const timed of input.workloads.filter(isSwept)) {
		const points: SweepPoint[] = [];
		for (let size = nextOf(timed, points, input); size !== null; size = nextOf(timed, points, input)) {
			const before = points.length;
			const workloads = [atSize(timed, size, input)];
			for await (const { rows, errors } of measure({ ...input, workloads }, ports)) {
				points.push({ size, row: withoutFiles(rows[0]) });
				if (errors !== undefined) yield { errors };
			}
			if (points.length === before) break;
		}
		if (points.length === 0) continue;
		points.sort((a, b) => a.size - b.size);
		yield { sweeps: [{ ...subjectOf(timed), dim: timed.sweep.dim, points }] };
	}
}

/** One size says that engines have the same bytes, or that they cannot run. */
function nextOf(timed: SweptWorkload, points: readonly SweepPoint[], { measure: settings }: SweepInput) {
	const isFutile = isIdentical(timed, settings) || points.at(-1)?.row.head === null;
	return isFutile && points.length > 0 ? null : nextSize(timesOf(points), timed.sweep);
}

function withoutFiles(row: WorkloadResult) {
	return { ...row, runs: row.runs.map(({ samples: _, ...run }) => run) };
}

function atSize(timed: SweptWorkload, size: number, { seed, measure: { looks } }: SweepInput) {
	const { workload, sweep, firstArms: order } = timed;
	const id = `${workload.id}/${size}`;
	const config = { ...workload.config, dims: { ...workload.config.dims, [sweep.dim]: size } };
	const arms = timed.base === undefined ? order : firstArms(`${seed}:${id}`, looks.at(-1) ?? 0);
	return { ...timed, workload: { ...workload, id, config }, inputs: sweep.inputsAt(size), firstArms: arms };
}
