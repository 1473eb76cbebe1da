// Entry of probes/: plans which probes apply to an engine, their inputs, and which outputs must be equal.
import type { ProbeName } from "../../../../generated/result.ts";
import { encodeTensor } from "../record/generators/encode.ts";
import { isFloating, type Tensor } from "../tensor/tensor.ts";
import {
	again,
	anchor,
	type Comparison,
	caseBytes,
	caseOf,
	compareViews,
	composeBatch,
	isSame,
	join,
	makePool,
	maxCaseBytes,
	openProbeContext,
	otherRow,
	type ProbeCase,
	type ProbeContext,
	type ProbeRequest,
	pick,
	repetition,
	type Tensors,
	upTo,
} from "./context.ts";
import { type Batch, type ProbeInput, type ProbeSubject, type Profile, rangeIn, sizesAt } from "./subject.ts";

export type PlannedProbe =
	| { probe: ProbeName; state: "planned"; comparisons: readonly Comparison[]; note?: string }
	| { probe: ProbeName; state: "skipped"; why: string };

export interface ProbePlan {
	outputs: ProbeSubject["outputs"];
	batch: Batch | null;
	cases: readonly ProbeCase[];
	probes: readonly PlannedProbe[];
}

interface RowContext extends ProbeContext {
	batch: Batch;
}

type Probe = (context: ProbeContext) => ProbeRequest | string;

const probes: Readonly<Record<ProbeName, Probe>> = {
	determinism: () => ({ cases: [], comparisons: [repetition] }),
	"duplicate-rows": withRows(2, ({ rows, pool }) => {
		const id = "duplicates";
		const first = upTo(rows).map(() => 0);
		// Another row of a batch may use another tile of a kernel.
		const comparison = compareViews("other", [id, first.slice(1)], [id, upTo(rows).slice(1)]);
		return { cases: [caseOf(id, pool, first)], comparisons: [comparison] };
	}),
	neighbours: withRows(2, probeNeighbours),
	"batch-size": withRows(1, probeBatchSize),
	"profile-ends": probeProfileEnds,
	padding: probePadding,
};

function withRows(least: number, probe: (context: RowContext) => ProbeRequest | string): Probe {
	return ({ batch, ...context }) => {
		if (batch === null) return context.noBatch;
		return context.rows < least ? "Its batch has only one row." : probe({ ...context, batch });
	};
}

/**
 * @param subject a string says why no inputs can be made.
 * @param only empty: all. `donors`: inputs of golden cases, which are better than generated ones.
 */
export function planProbes(
	subject: ProbeSubject | string,
	{ only, donors }: { only: readonly ProbeName[]; donors: readonly Tensors[] },
): ProbePlan {
	const all = Object.keys(probes) as ProbeName[];
	const wanted = all.filter((name) => only.length === 0 || only.includes(name));
	const context = typeof subject === "string" ? subject : openProbeContext(subject, donors);
	if (typeof context === "string") {
		const skipped = wanted.map((probe) => ({ probe, state: "skipped" as const, why: context }));
		return { outputs: [], batch: null, cases: [], probes: skipped };
	}
	const sent: ProbeCase[] = [];
	const planned = wanted.map((probe): PlannedProbe => {
		const request = probes[probe](context);
		if (typeof request === "string") return { probe, state: "skipped", why: request };
		sent.push(...request.cases);
		return { probe, state: "planned", comparisons: request.comparisons, note: request.note };
	});
	const { rows, pool, batch } = context;
	const [first, last] = [anchor, again].map((id) => caseOf(id, pool, upTo(rows)));
	const cases = [first, ...sent, last].filter((one) => one !== undefined);
	return { outputs: context.subject.outputs, batch, cases, probes: planned };
}

/** A leak in one direction, such as a running sum, shows in one of the two halves. */
function probeNeighbours({ rows, pool }: RowContext): ProbeRequest | string {
	const replacements = upTo(rows).map((row) => otherRow(pool, row, row + rows));
	if (replacements.includes(null))
		return "All rows of its inputs are equal, so neighbours cannot be replaced.";
	const halves = ["even", "odd"].map((kept, parity) => ({
		id: `neighbours-of-${kept}`,
		places: upTo(rows).map((row) => (row % 2 === parity ? row : (replacements[row] ?? row))),
		watched: upTo(rows).filter((row) => row % 2 === parity),
	}));
	return {
		cases: halves.map(({ id, places }) => caseOf(id, pool, places)),
		comparisons: halves.map(({ id, watched }) => compareViews("same", [anchor, watched], [id, watched])),
	};
}

function probeBatchSize({ batch, rows, pool }: RowContext): ProbeRequest | string {
	const few = batch.range.min;
	if (few >= rows) return `It is built only for batches of ${rows}.`;
	const ends = { first: upTo(few), last: upTo(rows).slice(rows - few) };
	const named = Object.entries(ends).map(([end, places]) => ({ id: `batch-${few}-${end}`, places }));
	return {
		cases: named.map(({ id, places }) => caseOf(id, pool, places)),
		comparisons: named.map(({ id, places }) => compareViews("other", [anchor, places], [id, upTo(few)])),
	};
}

const maxProfiles = 4;

function probeProfileEnds(context: ProbeContext): ProbeRequest | string {
	const cases: ProbeCase[] = [];
	const comparisons: Comparison[] = [];
	let omitted: string | undefined;
	const ends = context.subject.profiles
		.slice(0, maxProfiles)
		.flatMap((profile, index) =>
			endsOf(context, profile).map((end) => ({ profile, end, id: `profile-${index}-${end}` })),
		);
	for (const end of ends) {
		const request = probeEnd(context, { ...end, caseIndex: 1 + cases.length });
		if (typeof request === "string") omitted ??= request;
		else {
			cases.push(...request.cases);
			comparisons.push(...request.comparisons);
		}
	}
	if (comparisons.length === 0) return omitted ?? "Its sizes are fixed, so its profile has no ends.";
	return { cases, comparisons, note: omitted };
}

function endsOf({ batch, subject }: ProbeContext, profile: Profile): ("min" | "max")[] {
	const used = new Set(subject.inputs.flatMap(({ axes }) => axes));
	const isRanged = Object.entries(profile).some(
		([name, { min, max }]) => name !== batch?.dim && used.has(name) && max > Math.max(1, min),
	);
	if (isRanged) return ["min", "max"];
	const range = batchRange(batch, profile);
	return range !== null && range.min < range.max ? ["min"] : [];
}

function batchRange(batch: Batch | null, profile: Profile): Batch["range"] | null {
	return batch && (rangeIn(profile, batch.dim ?? "") ?? batch.range);
}

/** Compares the smallest batch with larger ones, or with itself if it is the only one. */
function probeEnd(
	{ subject, batch }: ProbeContext,
	{ profile, end, id, caseIndex }: { profile: Profile; end: "min" | "max"; id: string; caseIndex: number },
): ProbeRequest | string {
	const sizes = sizesAt(profile, end);
	const range = batchRange(batch, profile) ?? { min: 1, opt: 1, max: 1 };
	const batches = [...new Set([range.min, range.opt, range.max])].sort((a, b) => a - b);
	const fitting = batches.filter((rows) => caseBytes(subject, batch, sizes, rows) <= maxCaseBytes);
	const [least, ...more] = fitting;
	if (least === undefined)
		return `Sizes whose batch takes more than ${maxCaseBytes / 2 ** 20} MiB are left out.`;
	const pool = makePool(subject, batch, { sizes, rows: Math.max(...fitting), caseIndex });
	if (typeof pool === "string") return pool;
	const send = (rows: number, name: string) => caseOf(name, pool, upTo(rows));
	const first = send(least, `${id}-${least}`);
	const isAlone = more.length === 0;
	const others = isAlone
		? [send(least, `${first.id}-again`)]
		: more.map((rows) => send(rows, `${id}-${rows}`));
	const [arithmetic, shared] = isAlone ? (["same", null] as const) : (["other", upTo(least)] as const);
	return {
		cases: [first, ...others],
		comparisons: others.map((other) => compareViews(arithmetic, [first.id, shared], [other.id, shared])),
	};
}

const maskLabels = /(?:^|_|\b)(?:attention|input)_?mask$|^mask$/i;
const lengthLabels = /(?:^|_|\b)(?:lengths?|lens?)$/i;

interface Marker {
	isMask: boolean;
	input: ProbeInput;
	axis: string | number;
	places: ReadonlyMap<string, number>;
}

function probePadding(context: ProbeContext): ProbeRequest | string {
	const marker = findMarker(context);
	if (typeof marker === "string") return marker;
	const { axis, places } = marker;
	const size = typeof axis === "number" ? axis : (context.sizes.get(axis) ?? 1);
	if (size < 2) {
		const name = typeof axis === "string" ? JSON.stringify(axis) : "its axis of positions";
		return `There is only one position along ${name}.`;
	}
	const counted = Math.floor(size / 2);
	const batch = context.batch && context.rows;
	const send = (filling: Filling) => {
		const inputs = padInputs(context, marker, { size, counted, filling });
		return { id: `padding-${filling}`, inputs, batch };
	};
	const [zeros, others] = [send("zeros"), send("others")];
	if ([...places.keys()].every((name) => isSame(zeros.inputs[name], others.inputs[name])))
		return "No input holds values that could fill the padding.";
	const shared = batch === null ? null : upTo(batch);
	const compare = (arithmetic: "same" | "other", { id }: typeof zeros) => ({
		...compareViews(arithmetic, [zeros.id, shared], [id, shared]),
		positions: { axis, counted, padded: size },
	});
	const range = typeof axis === "string" ? rangeIn(context.profile, axis) : undefined;
	const none = range !== undefined && counted >= range.min && counted <= range.max ? [send("none")] : [];
	return {
		cases: [zeros, others, ...none],
		comparisons: [compare("same", others), ...none.map((alone) => compare("other", alone))],
	};
}

function findMarker(context: ProbeContext): Marker | string {
	const { subject, batch } = context;
	const input = chooseMarker(subject);
	if (typeof input === "string") return input;
	const isMask = subject.mask !== undefined || (subject.length === undefined && maskLabels.test(input.name));
	const rowAxis = (name: string) => batch?.axes.get(name);
	const positionAxes = ({ name, axes }: ProbeInput) => axes.filter((_, index) => index !== rowAxis(name));
	const others = subject.inputs.filter(({ name, axes }) => name !== input.name && axes.length >= 1);
	const holder =
		others.find(({ name, axes }) => axes.length >= 2 && rowAxis(name) !== undefined) ?? others[0];
	const last = input.axes.length - 1;
	const axis = isMask
		? input.axes[last === rowAxis(input.name) ? -1 : last]
		: holder && positionAxes(holder)[0];
	if (typeof axis !== "string" && typeof axis !== "number")
		return `Input ${JSON.stringify(input.name)} has no axis of positions.`;
	const places = new Map<string, number>();
	for (const { name, axes } of subject.inputs) {
		const place = axes.findIndex((candidate, index) => candidate === axis && index !== rowAxis(name));
		if (place >= 0) places.set(name, place);
	}
	return { isMask, input, axis, places };
}

/** Some frameworks set the mask for padding, so only names that mark counted positions are guessed. */
function chooseMarker({ inputs, mask, length }: ProbeSubject): ProbeInput | string {
	const chosen = mask ?? length;
	const whole = inputs.filter(({ dtype }) => !isFloating(dtype));
	if (chosen !== undefined)
		return (
			inputs.find(({ name }) => name === chosen) ??
			`The model has no input ${JSON.stringify(chosen)}, which the config names.`
		);
	return (
		whole.find(({ name, axes }) => maskLabels.test(name) && axes.length === 2) ??
		whole.find(({ name, axes }) => lengthLabels.test(name) && axes.length <= 1) ??
		"No input is named like a mask or a length; set `probes: { mask: NAME }` or `length: NAME`."
	);
}

/** others: the next row's values, rotated so that even a single row changes. none: the counted positions alone. */
type Filling = "zeros" | "others" | "none";

function padInputs(
	{ pool, rows }: ProbeContext,
	{ isMask, input, places }: Marker,
	{ size, counted, filling }: { size: number; counted: number; filling: Filling },
): Record<string, Tensor> {
	const made = composeBatch(pool, upTo(rows));
	const shifted = composeBatch(pool, upTo(rows + 1).slice(1));
	const marker = made[input.name];
	if (marker !== undefined) {
		const mark = (index: number) => (isMask ? Number(index % size < counted) : counted);
		made[input.name] = encodeTensor(marker.dtype, marker.shape, mark);
	}
	const padding = upTo(size).slice(counted);
	const rotated = padding.map((place) => (place + 1) % size);
	for (const [name, axis] of places) {
		const tensor = made[name];
		const counting = tensor && pick(tensor, axis, upTo(counted));
		if (tensor === undefined || counting == null || (name === input.name && filling !== "none")) continue;
		const rest =
			filling === "others"
				? pick(shifted[name] ?? tensor, axis, rotated)
				: pick({ ...tensor, data: new Uint8Array(tensor.data.length) }, axis, padding);
		if (filling === "none") made[name] = counting;
		else if (rest !== null) made[name] = join([counting, rest], axis);
	}
	return made;
}
