// Plans the probes of an engine: which apply, what is sent through it, and which answers have to be one.
import type { ProbeName } from "../../schema/result.ts";
import type { Tensor } from "../tensor/tensor.ts";
import {
	type Asked,
	again,
	anchor,
	type Comparison,
	openTrtexecContext,
	type ProbeCase,
	type ProbeContext,
	repetition,
} from "./context.ts";
import { probePadding } from "./padding.ts";
import { composeBatch, otherRow, upTo } from "./pool.ts";
import { probeProfileEnds } from "./profile-ends.ts";
import type { ProbeSubject } from "./subject.ts";

export type PlannedProbe =
	| { probe: ProbeName; state: "asked"; comparisons: readonly Comparison[]; note?: string }
	| { probe: ProbeName; state: "skipped"; why: string };

export interface ProbePlan {
	outputs: ProbeSubject["outputs"];
	batch: ProbeContext["batch"];
	/** In the order in which they are to run: the last is the first once more. */
	cases: readonly ProbeCase[];
	probes: readonly PlannedProbe[];
}

/** In the order in which reports tell them. */
export const probeNames: readonly ProbeName[] = ["determinism", "duplicate-rows", "neighbours", "batch-size", "profile-ends", "padding"];

export interface Planning {
	/** Empty: all. */
	only: readonly ProbeName[];
	/** Inputs of golden cases: better than any that are made up. */
	donors: readonly Readonly<Record<string, Tensor>>[];
}

/** @param subject a sentence where no inputs can be made. */
export function planProbes(subject: ProbeSubject | string, { only, donors }: Planning): ProbePlan {
	const wanted = probeNames.filter((name) => only.length === 0 || only.includes(name));
	const context = typeof subject === "string" ? subject : openTrtexecContext(subject, donors);
	if (typeof context === "string") {
		return { outputs: [], batch: null, cases: [], probes: wanted.map((probe) => ({ probe, state: "skipped", why: context })) };
	}
	const asked = wanted.map((probe) => [probe, askers[probe](context)] as const);
	return {
		outputs: context.subject.outputs,
		batch: context.batch,
		cases: framed(
			context,
			asked.flatMap(([, ask]) => (typeof ask === "string" ? [] : ask.cases)),
		),
		probes: asked.map(([probe, ask]) => plannedOf(probe, ask)),
	};
}

/** The anchor first, and once more at the end. */
function framed({ batch, rows, pool }: ProbeContext, between: readonly ProbeCase[]): ProbeCase[] {
	const shared = { inputs: composeBatch(pool, upTo(rows)), batch: batch === null ? null : rows };
	return [{ id: anchor, ...shared }, ...between, { id: again, ...shared }];
}

function plannedOf(probe: ProbeName, ask: Asked | string): PlannedProbe {
	if (typeof ask === "string") return { probe, state: "skipped", why: ask };
	return { probe, state: "asked", comparisons: ask.comparisons, ...(ask.note === undefined ? {} : { note: ask.note }) };
}

type Asker = (context: ProbeContext) => Asked | string;

const askers: Readonly<Record<ProbeName, Asker>> = {
	determinism: () => ({ cases: [], comparisons: [repetition] }),
	"duplicate-rows": probeDuplicates,
	neighbours: probeNeighbours,
	"batch-size": probeBatchSize,
	"profile-ends": probeProfileEnds,
	padding: probePadding,
};

function probeDuplicates(context: ProbeContext): Asked | string {
	if (context.batch === null) return context.noBatch;
	if (context.rows < 2) return "Its batch holds one row only.";
	const rows = upTo(context.rows);
	const id = "duplicates";
	const inputs = composeBatch(
		context.pool,
		rows.map(() => 0),
	);
	const others = rows.slice(1);
	// Another place in a batch may be another tile of a kernel.
	const comparison: Comparison = {
		expected: { caseId: id, rows: others.map(() => 0) },
		got: { caseId: id, rows: others },
		arithmetic: "other",
	};
	return { cases: [{ id, inputs, batch: context.rows }], comparisons: [comparison] };
}

/** Twice, with the odd and with the even rows replaced: what leaks upwards only, as a running sum does, shows in one of the two. */
function probeNeighbours(context: ProbeContext): Asked | string {
	if (context.batch === null) return context.noBatch;
	if (context.rows < 2) return "Its batch holds one row only.";
	const rows = upTo(context.rows);
	const untrusted = rows.map((row) => otherRow(context.pool, row, row + context.rows));
	if (untrusted.some((stranger) => stranger === null)) return "Its inputs are alike in all rows, so that a neighbour cannot be another.";
	const turns = (["even", "odd"] as const).map((kept, parity) => {
		const stays = (row: number): boolean => row % 2 === parity;
		const id = `neighbours-of-${kept}`;
		const inputs = composeBatch(
			context.pool,
			rows.map((row) => (stays(row) ? row : (untrusted[row] ?? row))),
		);
		const watched = rows.filter(stays);
		const comparison: Comparison = {
			expected: { caseId: anchor, rows: watched },
			got: { caseId: id, rows: watched },
			arithmetic: "same",
		};
		return { sent: { id, inputs, batch: context.rows }, comparison };
	});
	return { cases: turns.map(({ sent }) => sent), comparisons: turns.map(({ comparison }) => comparison) };
}

function probeBatchSize(context: ProbeContext): Asked | string {
	const { batch, rows } = context;
	if (batch === null) return context.noBatch;
	const few = batch.range.min;
	if (few >= rows) return `It is built for batches of ${rows} only.`;
	const turns = [upTo(few), upTo(rows).slice(rows - few)].map((places, index) => {
		const id = `batch-${few}-${index === 0 ? "first" : "last"}`;
		const comparison: Comparison = {
			expected: { caseId: anchor, rows: places },
			got: { caseId: id, rows: upTo(few) },
			arithmetic: "other",
		};
		return { sent: { id, inputs: composeBatch(context.pool, places), batch: few }, comparison };
	});
	return { cases: turns.map(({ sent }) => sent), comparisons: turns.map(({ comparison }) => comparison) };
}
