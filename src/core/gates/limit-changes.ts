// The gate of requirements that the head's config weakens: a change cannot relax its own limits unnoticed.
import type { Config, EngineConfig, Gates, ModelConfig } from "../config/config.ts";
import { engineRequirements, fileRequirements, modelRequirements, type Requirement, workloadRequirements } from "../config/requirements.ts";
import { placeOf } from "../config/source.ts";
import { groupBy } from "../group.ts";
import type { GateResult } from "../schema/result.ts";
import { shorten } from "../text/escape.ts";
import { counted } from "../text/labels.ts";

interface ConfigSubject {
	model: string;
	engine?: string;
	workload?: string;
}

/** The requirements of base and head for one subject, and the base's setting for weaker ones. */
interface Sides {
	limitChange: Gates["limitChange"];
	/** Absent: the whole file. */
	subject?: ConfigSubject;
	before: readonly Requirement[];
	after: readonly Requirement[];
}

interface WeakerRequirement extends Pick<Sides, "limitChange" | "subject"> {
	says: string;
	pointer: string;
}

/** Only what both configs have is compared: the head may add things, and the coverage gate reports what it drops. */
export function judgeLimitChanges(base: Config, head: Config): GateResult[] {
	const groups = groupBy(sidesOf(base, head).flatMap(findWeaker), ({ limitChange, says }) => `${limitChange} ${says}`);
	return [...groups.values()].flatMap((group) => resultOf(group, head));
}

/** For a base whose config cannot be read. */
export function judgeUnreadBase(fault: string, head: Config): GateResult {
	const message = `The base's config cannot be read, so the head's limits and coverage were not compared with it: ${fault}`;
	return { gate: "limit-change", model: head.path, status: "warn", message };
}

function sidesOf(base: Config, head: Config): Sides[] {
	const models = pairsOf(base.models, head.models);
	const common = models.map(([was, is]) => ({ ...is, engines: pairsOf(was.engines, is.engines).map(([, engine]) => engine) }));
	const file = { limitChange: base.gates.limitChange, before: fileRequirements(base, common), after: fileRequirements(head, common) };
	return [file, ...models.flatMap(([was, is]) => sidesOfModel(was, is, base.gates))];
}

function sidesOfModel(was: ModelConfig, is: ModelConfig, { limitChange }: Gates): Sides[] {
	const model = {
		limitChange,
		subject: { model: was.name },
		before: was.probes.when === "off" ? [] : modelRequirements(was),
		after: modelRequirements(is),
	};
	return [model, ...pairsOf(was.engines, is.engines).flatMap(([before, after]) => sidesOfEngine(before, after, was.name))];
}

function sidesOfEngine(was: EngineConfig, is: EngineConfig, model: string): Sides[] {
	const subject = { model, engine: was.name };
	return [
		{ limitChange: was.gates.limitChange, subject, before: engineRequirements(was), after: engineRequirements(is) },
		...pairsOf(was.workloads, is.workloads).map(([before, after]) => ({
			limitChange: before.gates.limitChange,
			subject: { ...subject, workload: before.name },
			before: workloadRequirements(before),
			after: workloadRequirements(after),
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

function findWeaker({ before, after, ...of }: Sides): WeakerRequirement[] {
	const now = new Map(after.map((requirement) => [requirement.key, requirement]));
	return before.flatMap((was) => {
		const is = now.get(was.key);
		const says = describe(was, is);
		return says === null ? [] : [{ ...of, says, pointer: is?.pointer ?? "" }];
	});
}

/** null: as strict as before, or stricter. */
function describe(was: Requirement, is: Requirement | undefined): string | null {
	const { key, laxness, weakerLabel = "is looser" } = was;
	if (is === undefined) return `${key} was removed; in the base: ${shorten(was.shown, maxShownChars)}.`;
	const change = `${shorten(was.shown, maxShownChars)} → ${shorten(is.shown, maxShownChars)}.`;
	if (laxness === undefined || is.laxness === undefined) return was.shown === is.shown ? null : `${key} changed: ${change}`;
	return is.laxness > laxness ? `${key} ${weakerLabel}: ${change}` : null;
}

const maxShownChars = 120;

/** The same change in many subjects is reported once. */
function resultOf(group: readonly WeakerRequirement[], head: Config): GateResult[] {
	const [first] = group;
	if (first === undefined || first.limitChange === "off") return [];
	const subjects = group.flatMap(({ subject }) => subject ?? []);
	return [
		{
			gate: "limit-change",
			...subjectOf(subjects, head.path),
			status: first.limitChange,
			message: `${first.says}${countOf(subjects)} It needs a review.`,
			...placeOf(head, first.pointer),
		},
	];
}

/** What all subjects have in common; the config itself where they have nothing in common. */
function subjectOf(subjects: readonly ConfigSubject[], path: string): ConfigSubject {
	const common = (key: keyof ConfigSubject): string | undefined => {
		const [value, other] = new Set(subjects.map((subject) => subject[key]));
		return other === undefined ? value : undefined;
	};
	const [model, engine, workload] = [common("model"), common("engine"), common("workload")];
	if (model === undefined) return { model: path };
	if (engine === undefined) return { model };
	return workload === undefined ? { model, engine } : { model, engine, workload };
}

function countOf(subjects: readonly ConfigSubject[]): string {
	const [first] = subjects;
	if (first === undefined || subjects.length === 1) return "";
	const what = first.workload !== undefined ? "workload" : first.engine !== undefined ? "engine" : "model";
	return ` Applies to ${counted(subjects.length, what)}.`;
}
