// Where base and head are timed: a noise model, faults on top of it, and runs, builds and machines that were recorded.
import { readFileSync } from "node:fs";
import type { Arm } from "../../generated/result.ts";
import { median } from "../../src/core/stats/quantile.ts";
import type { Random } from "../run-model.ts";

/** One process that times an engine. */
export interface Process {
	medianMs: number;
	meanMs: number;
	/** So many of its iterations, in order. */
	times(count: number): number[];
}

/** One job on one machine: its processes in the order in which they are asked for. */
export interface Session {
	run(arm: Arm, build?: number): Process;
}

export interface World {
	name: string;
	/** A job with a head that is slower by this share. */
	session(random: Random, effect: number): Session;
}

const load = (path: string): unknown => JSON.parse(readFileSync(new URL(path, import.meta.url), "utf8"));
const rebuilds = load("../../test/fixtures/rebuilds/medians.json") as Record<
	"own" | "shared",
	Record<string, number[][]>
>;
const hosts = load("hosts.json") as Record<string, Record<string, number[]>>;
const pairs = load("pairs.json") as Record<string, Record<Arm, number[]>>;

/** Iterations within a process, as recorded: 0.2 % of their own, 0.1 % that lasts (AR(1), 0.9), and rare spikes. */
function processAt(level: number, random: Random, spikes = 0.003): Process {
	const times = (count: number): number[] => {
		let slow = 0.001 * random.normal();
		return Array.from({ length: count }, () => {
			slow = 0.9 * slow + 0.001 * Math.sqrt(1 - 0.81) * random.normal();
			const spike = random.uniform() < spikes ? -0.3 * Math.log(1 - random.uniform()) : 0;
			return Math.exp(level + slow + 0.002 * random.normal() + spike);
		});
	};
	return { medianMs: Math.exp(level), meanMs: Math.exp(level) * (1 + 0.3 * spikes), times };
}

/** What a fault adds to the logarithm of a process, the first of the session being number 0. */
type Fault = (random: Random) => (order: number) => number;

export const faults: Readonly<Record<string, Fault>> = {
	"throttled from the middle": (random) => {
		const from = 1 + Math.floor(8 * random.uniform());
		return (order) => (order >= from ? Math.log(1.08) : 0);
	},
	"a neighbour in 1 of 10 runs": (random) => () => (random.uniform() < 0.1 ? Math.log(1.012) : 0),
	"warm-up unfinished": () => (order) => [0.03, 0.015, 0.008, 0.004][order] ?? 0,
	"one run 30 % slower": (random) => {
		const bad = Math.floor(8 * random.uniform());
		return (order) => (order === bad ? Math.log(1.3) : 0);
	},
	"a step of 0.7 % in 1 of 3 processes": (random) => () => (random.uniform() < 1 / 3 ? 0.007 : 0),
};

/**
 * The noise model of bench/run-model.ts, with a session offset of 0.5 %: thermal ramp, random walk, scatter of runs, and 2 % of runs
 * slower by 2 to 10 %.
 */
export function simulated(
	runCv: number,
	name = `${+(runCv * 100).toFixed(2)} %`,
	fault: Fault = () => () => 0,
): World {
	const session = (random: Random, effect: number): Session => {
		const start = 0.005 * random.normal();
		const ramp = Math.abs(0.01 * random.normal()) * Math.min(1, runCv / 0.01);
		const tau = 3 + 7 * random.uniform();
		const added = fault(random);
		let [walk, order] = [0, 0];
		const run = (arm: Arm): Process => {
			walk += Math.min(0.001, runCv / 4) * random.normal();
			const disturbed = random.uniform() < 0.02 ? Math.log1p(0.02 + 0.08 * random.uniform()) : 0;
			const own = arm === "head" ? Math.log1p(effect) : 0;
			const level =
				start +
				ramp * (1 - Math.exp(-order / tau)) +
				walk +
				runCv * random.normal() +
				disturbed +
				own +
				added(order);
			order += 1;
			return processAt(level, random);
		};
		return { run };
	};
	return { name, session };
}

const pick = <Item>(items: readonly Item[], random: Random): Item => {
	const item = items[Math.floor(random.uniform() * items.length)];
	if (item === undefined) throw new Error("nothing to draw from");
	return item;
};

/** Runs drawn from recorded ones: a session takes a machine, and each build of a side one of the recorded builds. */
function drawn(name: string, machines: readonly (readonly (readonly number[])[])[]): World {
	const session = (random: Random, effect: number): Session => {
		const builds = pick(machines, random);
		const taken = new Map<string, readonly number[]>();
		const run = (arm: Arm, build = 0): Process => {
			const key = `${arm} ${build}`;
			const own = taken.get(key) ?? pick(builds, random);
			taken.set(key, own);
			return processAt(Math.log(pick(own, random)) + (arm === "head" ? Math.log1p(effect) : 0), random);
		};
		return { run };
	};
	return { name, session };
}

/** One change as two plan files, timed on several machines: a job takes one. `effect` replaces what the change costs on the median machine. */
function drawnPairs(name: string, machines: readonly Readonly<Record<Arm, readonly number[]>>[]): World {
	const costs = machines.map(({ base, head }) => Math.log(median(head) / median(base)));
	const session = (random: Random, effect: number): Session => {
		const machine = pick(machines, random);
		const shift = Math.log1p(effect) - median(costs);
		return {
			run: (arm) => processAt(Math.log(pick(machine[arm], random)) + (arm === "head" ? shift : 0), random),
		};
	};
	return { name, session };
}

const build = (cache: "own" | "shared", net: string, from = 0, to?: number): number[][] =>
	(rebuilds[cache][net] ?? []).slice(from, to);

export const recorded: readonly World[] = [
	drawn("encoder, its runs", [build("own", "encoder-fp16", 0, 1)]),
	drawn("ResNet-50, its runs", [build("own", "resnet50-fp16", 0, 1)]),
	drawn("encoder, rebuilt", [build("own", "encoder-fp16")]),
	drawn("ResNet-50, rebuilt", [build("own", "resnet50-fp16")]),
	drawn("encoder, rebuilt, one timing cache", [build("shared", "encoder")]),
	drawn("ResNet-50, rebuilt, one timing cache", [build("shared", "resnet50")]),
	drawn(
		"detection, three machines",
		Object.values(hosts["det-fp16"] ?? {}).map((values) => [values]),
	),
	drawn(
		"magika, three machines",
		Object.values(hosts["magika-fp32"] ?? {}).map((values) => [values]),
	),
	drawnPairs("two plan files, three machines", Object.values(pairs)),
];
