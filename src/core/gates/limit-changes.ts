// The gate of demands that the head's config makes weaker: who is judged does not set the limits unseen.
import type { Config, EngineConfig, Gates, ModelConfig } from "../config/config.ts";
import { type Demand, engineDemands, fileDemands, modelDemands, workloadDemands } from "../config/demands.ts";
import { locate } from "../config/source.ts";
import type { GateResult } from "../schema/result.ts";
import { shorten } from "../text/escape.ts";
import { counted } from "../text/labels.ts";

interface Place {
	model: string;
	engine?: string;
	workload?: string;
}

/** The two sides of one thing, and what the base says about its loosening. */
interface Sides {
	limitChange: Gates["limitChange"];
	/** Absent: the file as a whole. */
	place?: Place;
	before: readonly Demand[];
	after: readonly Demand[];
}

interface Loosening extends Pick<Sides, "limitChange" | "place"> {
	says: string;
	pointer: string;
}

/** What only one of the two configs has is no loosening: the head may add things, and what it drops is the coverage gate's. */
export function judgeLimitChanges(base: Config, head: Config): GateResult[] {
	const groups = new Map<string, Loosening[]>();
	for (const loosening of sidesOf(base, head).flatMap(findLoosened)) {
		const key = `${loosening.limitChange} ${loosening.says}`;
		groups.set(key, [...(groups.get(key) ?? []), loosening]);
	}
	return [...groups.values()].flatMap((group) => resultOf(group, head));
}

/** A base whose config nobody can read leaves the head's limits unseen. */
export function judgeUnreadBase(fault: string, head: Config): GateResult {
	const message = `The base's config cannot be read, so the head's limits and coverage were not compared with it: ${fault}`;
	return { gate: "limit-change", model: head.path, status: "warn", message };
}

function sidesOf(base: Config, head: Config): Sides[] {
	const models = pairsOf(base.models, head.models);
	const kept = models.map(([was, is]) => ({ ...is, engines: pairsOf(was.engines, is.engines).map(([, engine]) => engine) }));
	const file = { limitChange: base.gates.limitChange, before: fileDemands(base, kept), after: fileDemands(head, kept) };
	return [file, ...models.flatMap(([was, is]) => sidesOfModel(was, is, base.gates))];
}

function sidesOfModel(was: ModelConfig, is: ModelConfig, { limitChange }: Gates): Sides[] {
	const model = {
		limitChange,
		place: { model: was.name },
		before: was.probes.when === "off" ? [] : modelDemands(was),
		after: modelDemands(is),
	};
	return [model, ...pairsOf(was.engines, is.engines).flatMap(([before, after]) => sidesOfEngine(before, after, was.name))];
}

function sidesOfEngine(was: EngineConfig, is: EngineConfig, model: string): Sides[] {
	const place = { model, engine: was.name };
	return [
		{ limitChange: was.gates.limitChange, place, before: engineDemands(was), after: engineDemands(is) },
		...pairsOf(was.workloads, is.workloads).map(([before, after]) => ({
			limitChange: before.gates.limitChange,
			place: { ...place, workload: before.name },
			before: workloadDemands(before),
			after: workloadDemands(after),
		})),
	];
}

function pairsOf<Named extends { name: string }>(before: readonly Named[], after: readonly Named[]): [Named, Named][] {
	const named = new Map(after.map((one) => [one.name, one]));
	return before.flatMap((one): [Named, Named][] => {
		const other = named.get(one.name);
		return other === undefined ? [] : [[one, other]];
	});
}

function findLoosened({ before, after, ...of }: Sides): Loosening[] {
	const now = new Map(after.map((demand) => [demand.key, demand]));
	return before.flatMap((was) => {
		const is = now.get(was.key);
		const says = describe(was, is);
		return says === null ? [] : [{ ...of, says, pointer: is?.pointer ?? "" }];
	});
}

/** null: as strict as before, or stricter. */
function describe(was: Demand, is: Demand | undefined): string | null {
	const { key, looseness, how = "is looser" } = was;
	if (is === undefined) return `${key} is gone; the base says ${shorten(was.shown, mostShown)}.`;
	const change = `${shorten(was.shown, mostShown)} → ${shorten(is.shown, mostShown)}.`;
	if (looseness === undefined || is.looseness === undefined) return was.shown === is.shown ? null : `${key} changed: ${change}`;
	return is.looseness > looseness ? `${key} ${how}: ${change}` : null;
}

const mostShown = 120;

/** The same change in many places is told once. */
function resultOf(group: readonly Loosening[], head: Config): GateResult[] {
	const [first] = group;
	if (first === undefined || first.limitChange === "off") return [];
	const places = group.flatMap(({ place }) => place ?? []);
	const location = locate(head, first.pointer);
	return [
		{
			gate: "limit-change",
			...subjectOf(places, head.path),
			status: first.limitChange,
			message: `${first.says}${countOf(places)} It needs a review.`,
			...(location ? { location } : {}),
		},
	];
}

/** What all places have in common; the config itself where that is nothing. */
function subjectOf(places: readonly Place[], path: string): Place {
	const common = (key: keyof Place): string | undefined => {
		const [value, other] = new Set(places.map((place) => place[key]));
		return other === undefined ? value : undefined;
	};
	const [model, engine, workload] = [common("model"), common("engine"), common("workload")];
	if (model === undefined) return { model: path };
	if (engine === undefined) return { model };
	return workload === undefined ? { model, engine } : { model, engine, workload };
}

function countOf(places: readonly Place[]): string {
	const [first] = places;
	if (first === undefined || places.length === 1) return "";
	const what = first.workload !== undefined ? "workload" : first.engine !== undefined ? "engine" : "model";
	return ` That holds for ${counted(places.length, what)}.`;
}
