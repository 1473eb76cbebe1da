import type { HistoryRecord, HistoryRow, LogRatio } from "../../generated/history.ts";
import { dueForFreshPairs } from "../../src/history/core/alarms.ts";
import { kindOf } from "../../src/history/core/points.ts";
import { pinToLink, readSeries, type Series } from "../../src/history/core/series.ts";
import { hash, nightAt, short } from "./history-records.ts";
import { randomFrom } from "./random.ts";

export interface Event {
	kind: "creep" | "step" | "host" | "method" | "neighbour" | "golden";
	night: number;
	/** Empty: all. */
	series: readonly number[];
}

export interface Nights {
	records: { name: string; record: HistoryRecord }[];
	/** By night and series, against the night before the first. */
	levels: number[][];
	events: readonly Event[];
}

/** Measured on H200s: medians of one plan file against the first machine; the second kind of net moves half as far. */
const hostOffsets = [0, 0.012, 0.02, -0.02, -0.005] as const;
/** The ratio of two plan files came out as +5.33 and +5.36 % on two machines. */
const ratioOffsetSd = 3e-4;
const pairSd = 1.5e-3;
const pairs = 8;
const freshPairs = 16;
/** Three times the most pairs of a night. */
const linkPairs = 48;
/** Half width of a 99 % interval in standard errors, at 16 pairs. */
const halfWidth = 2.95;

export interface Plan {
	seed: number;
	nights: number;
	series: number;
	events: readonly Event[];
	rotations: readonly number[];
	driverAt?: number;
}

interface Pin {
	level: number;
	weights: number;
	structure: number;
}

interface Engine extends Pin {
	error: number;
}

const content = (series: number, { weights }: Pick<Pin, "weights">): string =>
	short(`model ${series} ${weights}`);

export function simulateNights(plan: Plan): Nights {
	const random = randomFrom(plan.seed);
	// Machines agree on engines of one structure, whatever their weights.
	const offsets = new Map<string, number>();
	const offsetOf = (index: number, structure: number, host: number): number => {
		const key = `${index} ${structure} ${host}`;
		if (!offsets.has(key)) offsets.set(key, structure === 0 ? 0 : random.normal() * ratioOffsetSd);
		return offsets.get(key) ?? 0;
	};
	const engines: Engine[] = Array.from({ length: plan.series }, () => ({
		level: 0,
		weights: 0,
		structure: 0,
		error: 1e-3,
	}));
	const shown: Nights = { records: [], levels: [], events: plan.events };
	const known: HistoryRecord[] = [];
	const pins = new Map<string, Pin[]>();
	let pin = "";
	const rotate = (night: number): void => {
		pin = hash(`commit ${night - 1}`).slice(0, 40);
		pins.set(
			pin,
			engines.map(({ level, weights, structure }) => ({ level, weights, structure })),
		);
	};
	rotate(0);
	let method = { level: 0, version: 0 };
	const accepted = new Map<number, Set<number>>();
	for (let night = 0; night < plan.nights; night += 1) {
		const today = plan.events.filter((event) => event.night === night);
		for (const event of plan.events) change(event, night, engines, plan.series);
		engines.forEach((engine, index) => {
			// One of the nets is retrained every day.
			if ((night + index) % 7 === 0) engine.weights += 1;
		});
		if (today.some(({ kind }) => kind === "method"))
			method = { level: method.level + 0.004, version: method.version + 1 };
		const host = Math.floor(random.uniform() * hostOffsets.length);
		const slow = today.some(({ kind }) => kind === "host") ? 0.01 + 0.02 * random.uniform() : 0;
		const noise = today.some(({ kind }) => kind === "neighbour") ? 4 : 1;
		const measure = (index: number, [base, head]: readonly [Pin, Pin], count: number): LogRatio => {
			const error = (pairSd * noise) / Math.sqrt(count);
			const offset = offsetOf(index, head.structure, host) - offsetOf(index, base.structure, host);
			const level = head.level - base.level + offset + error * random.normal();
			const ppm = Math.round(level * 1e6);
			const half = Math.round(halfWidth * error * 1e6);
			return {
				ppm,
				halfPpm: half,
				pairs: count,
				sdPpm: Math.round(pairSd * noise * 1e6 * (0.7 + 0.6 * random.uniform())),
			};
		};
		if (plan.rotations.includes(night)) rotate(night);
		const machine = {
			gpu: "NVIDIA H200",
			driverBranch: night >= (plan.driverAt ?? Number.POSITIVE_INFINITY) ? "590" : "580",
			tensorrt: "10.6.0",
			host: `host-${host}`,
		};
		const old = pins.get(pinToLink(readSeries(known), { kind: kindOf({ machine }), pin }) ?? "");
		const rows = engines.flatMap((engine, index): HistoryRow[] => {
			const ns = Math.round(
				600_000 *
					Math.exp((hostOffsets[host] ?? 0) * (index % 2 === 0 ? 1 : 0.5) + slow + 3e-4 * random.normal()),
			);
			const series = `net-${index}/fp16/b1`;
			const recipe = short(`recipe ${index}`);
			const head = {
				model: content(index, engine),
				recipe,
				structure: short(`layers ${index} ${engine.structure}`),
				bytes: 5_000_000,
				memoryBytes: 80_000_000,
				ns,
			};
			const own = pins.get(pin)?.[index] ?? engine;
			const today = { ...engine, level: engine.level + method.level };
			const links = [old?.[index] ?? []].flat().map((before): HistoryRow => {
				const ratio = measure(index, [before, own], linkPairs);
				return {
					series,
					kind: "link",
					ratio,
					base: { model: content(index, before), recipe },
					head: { model: content(index, own), recipe },
				};
			});
			const base = { model: content(index, own), recipe, ns };
			const ratio = measure(index, [own, today], pairs);
			const known = { latency: "known", "error out relative-l2": "known" };
			const accepting: HistoryRow[] =
				accepted.get(night)?.has(index) === true
					? [{ series, kind: "accept", accepted: known, base: {}, head: {} }]
					: [];
			return [
				...links,
				{
					series,
					kind: "engine",
					ratio,
					base,
					head,
					errors: { "out relative-l2": Number((engine.error * (1 + 0.02 * random.normal())).toPrecision(4)) },
				},
				...accepting,
			];
		});
		const record: HistoryRecord = {
			schemaVersion: 1,
			at: nightAt(night),
			source: short(`${plan.seed} ${night}`),
			run: String(night),
			label: "main",
			commit: hash(`commit ${night}`).slice(0, 40),
			reference: { label: `v${[...pins.keys()].indexOf(pin)}`, commit: pin },
			machine,
			method: { trtgate: `1.${method.version}.0` },
			rows,
		};
		shown.records.push({ name: `${night}.json`, record });
		shown.levels.push(engines.map(({ level }) => level));
		for (const due of dueForFreshPairs(readSeries([...known, record]))) {
			const index = Number(/\d+/.exec(due)?.[0]);
			const row = rows.find(({ series, kind }) => series === due && kind === "engine");
			const engine = engines[index];
			const own = pins.get(pin)?.[index];
			if (row !== undefined && engine !== undefined && own !== undefined)
				row.fresh = measure(index, [own, { ...engine, level: engine.level + method.level }], freshPairs);
		}
		known.push(record);
		for (const event of today.filter(
			({ kind }) => kind === "step" || kind === "creep" || kind === "method" || kind === "golden",
		)) {
			const at = night + 25;
			const known = accepted.get(at) ?? new Set<number>();
			for (const index of event.series.length === 0 ? engines.keys() : event.series) known.add(index);
			accepted.set(at, known);
		}
	}
	return shown;
}

function change(
	{ kind, night: since, series }: Event,
	night: number,
	engines: readonly Engine[],
	count: number,
): void {
	const touched = (series.length === 0 ? Array.from({ length: count }, (_, index) => index) : series).flatMap(
		(index) => engines[index] ?? [],
	);
	for (const engine of touched) {
		if (kind === "creep" && night >= since && night < since + 20)
			Object.assign(engine, { level: engine.level + 5e-4, weights: engine.weights + 1 });
		if (kind === "step" && night === since)
			Object.assign(engine, {
				level: engine.level + 3e-3,
				weights: engine.weights + 1,
				structure: engine.structure + 1,
			});
		if (kind === "golden" && night >= since && night < since + 20)
			Object.assign(engine, { error: engine.error * 1.05, weights: engine.weights + 1 });
	}
}

export function seriesOf(records: Nights["records"]): Series {
	return readSeries(records.map(({ record }) => record));
}

export function planOf(seed: number): Plan {
	const random = randomFrom(seed * 7919);
	const some = (count: number): number[] => {
		const first = Math.floor(random.uniform() * 12);
		return Array.from({ length: count }, (_, index) => (first + 5 * index) % 12);
	};
	const at = (night: number): number => night + Math.floor(random.uniform() * 4);
	const events: Event[] = [
		{ kind: "step", night: at(26), series: some(3) },
		{ kind: "neighbour", night: at(34), series: [] },
		{ kind: "host", night: at(40), series: [] },
		{ kind: "creep", night: at(50), series: some(1) },
		{ kind: "host", night: at(78), series: [] },
		{ kind: "neighbour", night: at(84), series: [] },
		{ kind: "golden", night: at(128), series: some(1) },
		{ kind: "step", night: at(130), series: some(2) },
		{ kind: "method", night: 160, series: [] },
		{ kind: "neighbour", night: at(188), series: [] },
		{ kind: "host", night: at(194), series: [] },
	];
	return {
		seed,
		nights: 200,
		series: 12,
		events,
		rotations: Array.from({ length: 12 }, (_, index) => 10 + 15 * index),
		driverAt: 100,
	};
}
