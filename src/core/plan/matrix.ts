// The job matrix: which part of the config each job measures, and on which runner that a change may choose.
import { families } from "../config/against.ts";
import type { Config, ModelConfig, RunnerConfig } from "../config/config.ts";
import type { Counterparts } from "../config/rules.ts";
import {
	exactPattern,
	formatPatterns,
	keepSelected,
	selectModels,
	unknownSelection,
} from "../config/select.ts";
import { ConfigError, usageError } from "../errors.ts";
import { fieldsOf, parseJson } from "../found.ts";
import { cleanText } from "../text/escape.ts";
import { engineSpecs } from "./plan.ts";

const aloneName = "all";

const maxNameChars = 100;

/** Of a job or a gate: one line that can be part of an address. */
export function shortJobName(text: string): string {
	return [...cleanText(text)].slice(0, maxNameChars).join("").trim();
}

const maxJobs = 256;

export interface MatrixJob {
	name: string;
	/** JSON for `runs-on: ${{ fromJSON(matrix.runner) }}`. */
	runner: string;
	only: string;
	device: string;
	artifact: string;
}

interface MatrixInput {
	config: Pick<Config, "models" | "runners" | "path">;
	labels: RunnerConfig["labels"];
	only?: readonly string[];
	/** Distinguishes several plans of one workflow; may be empty. */
	name: string;
	artifactOf(name: string): string;
}

/** @throws ConfigError config-value, or an AggregateError of several. */
export function planMatrix(input: MatrixInput): MatrixJob[] {
	const { config } = input;
	const alone: RunnerConfig = { name: "", labels: input.labels, engines: [], split: "none", pointer: "" };
	const runners = config.runners.length === 0 ? [alone] : config.runners;
	const errors = runners.flatMap((runner) => unknownEngines(runner, config));
	const selected = selectModels(config.models, input.only ?? []);
	if (selected.state !== "ok") throw unknownSelection(selected.problems, config.path);
	if (errors.length === 1) throw errors[0];
	if (errors.length > 0) throw new AggregateError(errors, `${config.path} has ${errors.length} errors`);
	const taken = new Set<string>();
	const jobs = runners.flatMap((runner) => jobsOf(runner, { input, taken }));
	if (jobs.length > maxJobs)
		throw new ConfigError({
			code: "config-value",
			message: `${config.path}: runners makes ${jobs.length} jobs; expected at most ${maxJobs}, GitHub's limit.`,
			location: { path: config.path },
			fix: "Write split: model or split: none for some runners, or give each fewer engines.",
		});
	return jobs;
}

function unknownEngines(runner: RunnerConfig, config: MatrixInput["config"]) {
	const selected = selectModels(config.models, runner.engines);
	if (selected.state === "ok") return [];
	return selected.problems.map(({ index, says, meant }) => {
		const message = `${config.path}: runners of ${runner.name}: engines[${index}] ${says}`;
		const fix = meant === undefined ? "Correct the pattern, or remove it." : `Write ${meant}.`;
		return new ConfigError({ code: "config-value", message, location: { path: config.path }, fix });
	});
}

interface Naming {
	input: MatrixInput;
	taken: Set<string>;
}

function jobsOf(runner: RunnerConfig, naming: Naming): MatrixJob[] {
	const { config, name, only = [] } = naming.input;
	return sharesOf(runner, config, only).map(([label, patterns]) => {
		const wanted = [name, runner.name, label].filter((part) => part !== "").join(" · ");
		return {
			...nameOfItsOwn(wanted, naming),
			runner: JSON.stringify(runner.labels),
			only: formatPatterns(patterns),
			device: runner.device ?? "",
		};
	});
}

/** Artifact names allow fewer characters, so different names may collide. */
function nameOfItsOwn(wanted: string, { input, taken }: Naming): { name: string; artifact: string } {
	for (let count = 1; ; count += 1) {
		const name = shortJobName(count === 1 ? wanted : `${count} ${wanted}`) || aloneName;
		const artifact = input.artifactOf(name);
		if (taken.has(artifact.toLowerCase())) continue;
		taken.add(artifact.toLowerCase());
		return { name, artifact };
	}
}

/** Labels and patterns of the jobs of one runner; no patterns for all engines. */
function sharesOf(
	runner: RunnerConfig,
	{ models }: MatrixInput["config"],
	only: readonly string[],
): [label: string, patterns: readonly string[]][] {
	const mine = keepSelected(keepSelected(models, runner.engines), only);
	const patternsOf = ({ name, engines }: ModelConfig) =>
		models.find((other) => other.name === name)?.engines.length === engines.length
			? [exactPattern(name)]
			: engines.map((engine) => exactPattern(name, engine.name));
	switch (runner.split) {
		case "none":
			if (only.length === 0) return [["", runner.engines]];
			return mine.length === 0 ? [] : [["", mine.flatMap(patternsOf)]];
		case "model":
			return mine.map((model) => [model.name, patternsOf(model)]);
		case "engine":
			return mine.flatMap(({ name, engines }) =>
				families(engines).map((family) => [
					`${name}/${family.map((engine) => engine.name).join("+")}`,
					family.map((engine) => exactPattern(name, engine.name)),
				]),
			);
	}
}

export function formatMatrix(jobs: readonly MatrixJob[]): string {
	return JSON.stringify({ include: jobs });
}

const keys = ["name", "runner", "only", "device", "artifact"] as const;

/** Also accepts the list alone. @throws ConfigError usage. */
export function parseMatrix(text: string): MatrixJob[] {
	const value = parseJson(text);
	const list = Array.isArray(value) ? value : fieldsOf(value)["include"];
	if (!Array.isArray(list) || list.length === 0 || list.length > maxJobs) throw notAMatrix();
	const jobs = list.map((entry: unknown) => {
		const fields = fieldsOf(entry);
		const textOf = (key: keyof MatrixJob) => {
			const text = Object.hasOwn(fields, key) ? fields[key] : "";
			if (typeof text !== "string" || text.length > 100_000) throw notAMatrix();
			return text;
		};
		const job = Object.fromEntries(keys.map((key) => [key, textOf(key)])) as unknown as MatrixJob;
		if (job.name === "" || job.artifact === "") throw notAMatrix();
		return job;
	});
	// A lost part would hide behind its namesake.
	for (const key of ["name", "artifact"] as const)
		if (new Set(jobs.map((job) => job[key])).size < jobs.length) throw notAMatrix(`each ${key} once in `);
	return jobs;
}

function notAMatrix(which = "") {
	return usageError(
		`The expected parts are not a plan's matrix: expected ${which}{"include":[{"name":…,"artifact":…}]}.`,
		"Pass on the output `matrix` of the plan as it is.",
	);
}

/** JSON as `runs-on` takes it, or labels separated by commas or lines. @throws ConfigError usage. */
export function parseLabels(text: string): RunnerConfig["labels"] {
	const isPlain = !/^\s*[[{"]/.test(text);
	const plain = text.split(/[,\n]/).flatMap((label) => label.trim() || []);
	const value = isPlain ? plain : parseJson(text);
	if (typeof value === "string" && value !== "") return [value];
	if (isPlain ? plain.length > 0 : isLabels(value)) return value as string[];
	const { group, labels } = fieldsOf(value);
	if (typeof group !== "string" || group === "" || (labels !== undefined && !isLabels(labels)))
		throw usageError(
			`The input runners is ${JSON.stringify(text.slice(0, 80))}; expected labels as runs-on takes them.`,
			'Write labels with commas between (self-hosted, gpu), or JSON: ["self-hosted","gpu"], {"group":"gpu","labels":["l4"]}.',
		);
	return labels === undefined ? { group } : { group, labels };
}

function isLabels(value: unknown): value is string[] {
	const isLabel = (label: unknown) => typeof label === "string" && label !== "";
	return Array.isArray(value) && value.length > 0 && value.length <= 20 && value.every(isLabel);
}

/** Fewer labels match more machines, so a runner must have exactly the workflow's labels. @throws ConfigError config-value. */
export function refuseNewRunners(
	{ runners, path }: Pick<Config, "runners" | "path">,
	trusted: RunnerConfig["labels"],
): void {
	const foreign = runners.find(({ labels }) => keyOf(labels) !== keyOf(trusted));
	if (foreign === undefined) return;
	const got = JSON.stringify(foreign.labels);
	throw new ConfigError({
		code: "config-value",
		message: `${path}: the runner ${foreign.name} has the labels ${got}, which the config of the base does not name. A pull request cannot choose another machine.`,
		location: { path },
		fix: "Merge the new runner first, in a pull request of its own; it takes part from the next one on.",
	});
}

function keyOf(labels: RunnerConfig["labels"]) {
	const [group, names] = "group" in labels ? [labels.group, labels.labels ?? []] : ["", labels];
	return JSON.stringify([group, names.map((name) => name.toLowerCase()).sort()]);
}

/** The base's runners for the head's engines; new engines go where the head puts them, if the base has that runner. */
export function keepRunners(base: Sided, head: Sided, counterparts: Counterparts): RunnerConfig[] {
	const heads = engineSpecs(head).map(({ id }) => id);
	return base.runners.flatMap((runner) => {
		const measured = idsOf(base, runner.engines);
		const own = head.runners.find(({ name }) => name === runner.name);
		const added = new Set([
			...idsOf(head, runner.engines),
			...(own === undefined ? [] : idsOf(head, own.engines)),
		]);
		const mine = heads.filter((id) => {
			const was = counterparts.get(id);
			return was === undefined ? added.has(id) : measured.has(was);
		});
		if (mine.length === 0) return [];
		const kept = runner.engines.filter((pattern) => idsOf(head, [pattern]).size > 0);
		const isSame = kept.length === runner.engines.length && setKey(idsOf(head, kept)) === setKey(mine);
		return [isSame ? runner : { ...runner, engines: mine.map((id) => exactPattern(id)) }];
	});
}

type Sided = Pick<Config, "models" | "runners">;

function idsOf({ models }: Sided, patterns: readonly string[]) {
	return new Set(engineSpecs({ models: keepSelected(models, patterns) }).map(({ id }) => id));
}

const setKey = (ids: Iterable<string>) => JSON.stringify([...ids].sort());
