// A failure as a folder: which can be packed, its config and README.md, and whether a replay shows it again.

import type { Repro, ReproModel } from "../../../generated/repro.ts";
import { validate } from "../../../generated/repro-validator.js";
import type { GoldenCheck, GoldenVerdict, Result } from "../../../generated/result.ts";
import schema from "../../../golden-schema/repro.schema.json" with { type: "json" };
import { parseYaml } from "../config/yaml.ts";
import { ConfigError, usageError } from "../errors.ts";
import { fieldsOf, readJson, toProblem } from "../found.ts";
import type { EngineSpec } from "../plan/plan.ts";
import { cleanMessage, cleanName, markdownCode, markdownFence } from "../text/escape.ts";
import { listNames } from "../text/labels.ts";
import { formatValue } from "../text/units.ts";

export interface Failure {
	id: string;
	code: string;
	says: string;
	verdict?: GoldenVerdict;
	part?: string | undefined;
}

type Facts = Pick<Result, "builds" | "findings" | "errors" | "golden">;

export function failuresOf({ builds, findings, errors, golden }: Facts): Failure[] {
	return [
		...builds.flatMap(({ model, engine, arm, state, failure, part }) => {
			if (arm === "base" || state === "built") return [];
			const found = findings.find(
				(one) =>
					one.model === model &&
					(one.engine ?? engine) === engine &&
					one.part === part &&
					one.arm !== "base" &&
					one.severity === "error",
			);
			const { code, title } = failure ?? { code: found?.code ?? state, title: found?.message ?? state };
			// Of a command, which is not packed.
			if (code === "plan-failed" || code === "prepare-failed") return [];
			return [{ id: `${model}/${engine}`, code, says: title, part }];
		}),
		...errors.flatMap(({ model, engine, arm, workload, code, message, part }) => {
			const isOther = engine === undefined || arm === "base" || workload !== undefined;
			return isOther ? [] : [{ id: `${model}/${engine}`, code, says: message, part }];
		}),
		...golden.flatMap((verdict) => {
			const { model, engine, scope, state: code, checks, fault, message = code, part } = verdict;
			const hasWrong = failedChecks(verdict).length > 0;
			// A replay has no timed sizes, for which batches are composed.
			if (scope === "batch" || (!hasWrong && (code !== "error" || checks.length > 0 || fault !== undefined)))
				return [];
			const says = hasWrong ? "Outputs do not match." : message;
			return [{ id: `${model}/${engine}`, code, says, verdict, part }];
		}),
	];
}

/** Of a merged result, what the failure's job found. */
export function runOf({ part }: Failure, result: Result): Result {
	const job = result.parts?.find(({ name }) => name === part);
	if (job === undefined) return result;
	const own = <Item extends { part?: string }>(items: readonly Item[] = []): Item[] =>
		items.filter((item) => item.part === part);
	const { builds, findings, errors, golden, bisections } = result;
	const { backend = result.backend, environment = result.environment } = job;
	return {
		...{ ...result, backend, environment, bisections: own(bisections) },
		...{ builds: own(builds), findings: own(findings), errors: own(errors), golden: own(golden) },
	};
}

/** Without those of commands and those against the base, since neither is packed. */
function failedChecks({ checks }: Pick<GoldenVerdict, "checks">) {
	return checks.filter(
		({ pass, metric }) => !pass && metric !== "error-growth" && !metric.startsWith("custom "),
	);
}

export function nameOf({ id, verdict }: Failure): string {
	return cleanName(verdict === undefined ? id : `${id}/${verdict.case}`, 200);
}

export function chooseFailure(failures: readonly Failure[], wanted: string | undefined): Failure {
	const found = failures.find((one) => [undefined, nameOf(one), one.id, one.verdict?.case].includes(wanted));
	if (found !== undefined) return found;
	throw usageError(
		`Nothing ${wanted === undefined ? "that can be packed failed" : `failed that is called ${JSON.stringify(wanted)}`}.`,
		`What can be packed: ${listNames(failures.map(nameOf), 10) || "none"}.`,
	);
}

export function compareReplay(was: Failure, result: Facts): { isReproduced: boolean; lines: string[] } {
	const verdict = result.golden.find((one) => one.case === was.verdict?.case);
	const unusable = result.golden.find(({ fault }) => fault !== undefined);
	const now =
		failuresOf(result).find((one) => one.verdict === undefined || one.verdict === verdict) ??
		(unusable && { code: unusable.fault?.code ?? "", says: unusable.message ?? "" });
	const checks = failedChecks(was.verdict ?? { checks: [] });
	if (checks.length > 0 && verdict !== undefined && verdict.checks.length > 0) {
		const found = checks.map((check) => compareCheck(check, verdict));
		return { isReproduced: found.some(({ isAgain }) => isAgain), lines: found.map(({ line }) => line) };
	}
	const [before, after] = [was, now].map((one) =>
		one ? `${cleanMessage(one.says)} [${cleanName(one.code)}]` : "no such failure",
	);
	const isReproduced = now?.code === was.code && checks.length === 0;
	return { isReproduced, lines: [`recorded: ${before}`, `now: ${after}`] };
}

/** By the recorded limit. A check without one, such as that of the shape, is there only if it fails. */
function compareCheck(was: GoldenCheck, { checks }: GoldenVerdict) {
	const placeOf = ({ output, metric, slice }: GoldenCheck) => JSON.stringify([output, metric, slice]);
	const now = checks.find((one) => placeOf(one) === placeOf(was));
	const { allowed, bound } = was;
	const got = Number(now?.got ?? Number.NaN);
	const isRight = allowed === null ? now?.pass : bound === "at-most" ? got <= allowed : got >= allowed;
	const isAgain = now !== undefined && !isRight;
	const shown = now === undefined ? "not compared" : formatValue(now.got);
	return { isAgain, line: `${isAgain ? "✗" : "✓"} ${describeCheck(was)}, now ${shown}` };
}

function describeCheck({ output, metric, got, allowed, bound }: GoldenCheck) {
	const limit = allowed === null ? "" : ` (${bound} ${formatValue(allowed)})`;
	return `${cleanName(output)}: ${cleanName(metric)}${limit}: recorded ${formatValue(got)}`;
}

/** @param commands for a shell in the folder. @param part how much of the model it holds. */
export function readmeOf(
	failure: Failure,
	result: Result,
	commands: readonly string[],
	part?: string,
): string {
	const { backend, environment, tool, builds, bisections = [] } = result;
	const versions = {
		trtgate: tool.version,
		[backend.name]: backend.version,
		device: backend.device,
		...environment,
	};
	const checks = failedChecks(failure.verdict ?? { checks: [] }).map((check) => {
		const { index, got, expected } = check.worst ?? {};
		return `${describeCheck(check)}${index ? `; at [${index}] got ${got}, expected ${expected}` : ""}`;
	});
	const blocks = [
		[...checks, ...bisections.map(({ message }) => message), ...(builds[0]?.failure?.excerpt ?? [])],
		Object.entries(versions).map(([name, value]) => `${name}: ${value}`),
		commands,
	];
	return [
		`# ${markdownCode(nameOf(failure))} fails on ${backend.name} ${backend.version}`,
		`${markdownCode(failure.says)} [${markdownCode(failure.code)}]`,
		...(part === undefined
			? []
			: [
					`Its model is the part that leads to the first wrong tensor: ${part}. The error was recorded in the whole model, relative to the larger of both norms; the part may be built differently.`,
				]),
		...(builds[0]?.recipe?.["build"] === undefined
			? []
			: [
					"The run judged a plan of `build`, which is not in the folder: a replay builds the model with trtexec, so it shows whether the plan or the model is wrong.",
				]),
		...blocks.filter((lines) => lines.length > 0).map(markdownFence),
		"`trtgate repro FOLDER` builds it, runs it and compares.",
		"The folder holds the model and its weights: give it only to those who may have them.\n",
	].join("\n\n");
}

/** @param text of a valid trtgate.yml. Plugins and flags stay: a replay may refuse them. */
export function reproConfig(
	text: string,
	{ model, engine }: EngineSpec,
	{ backend, onnx, golden }: Pick<Repro, "backend"> & Pick<ReproModel, "onnx" | "golden">,
): object {
	const { models, measure, ...file } = fieldsOf(readYaml(text, "trtgate.yml"));
	const own = fieldsOf(fieldsOf(models)[model.name]);
	const { [engine.name]: settings = { precision: engine.precision } } = fieldsOf(own["engines"]);
	const engines = { [engine.name]: only(settings, schema.$defs.engine) };
	const ofModel = { ...only(own, schema.$defs.model), onnx, golden, workloads: golden && [], engines };
	return {
		...{ ...only(file, schema), backend, probes: "off", models: { [model.name]: ofModel } },
		measure: { "build-timeout": fieldsOf(measure)["build-timeout"], "warm-up": "10ms", duration: "100ms" },
	};
}

function only(settings: unknown, { properties }: { properties: object }) {
	return Object.fromEntries(
		Object.entries(fieldsOf(settings)).filter(([key]) => Object.hasOwn(properties, key)),
	);
}

/** @throws ConfigError result-invalid if it asks for more, such as plugins or a flag that names a file. */
export function parseRepro(text: string, path: string): Repro {
	const invalid = (message: string, fix: string) =>
		new ConfigError({ code: "result-invalid", message: `${path}${message}.`, location: { path }, fix });
	const value = readJson(text, (got) => invalid(`: expected JSON, got ${got}`, "Unpack the folder again."));
	if (validate(value)) return value as Repro;
	const { pointer, expected, got } = toProblem(validate.errors ?? [], value, { schema, what: "an object" });
	throw invalid(
		`${pointer}: expected ${expected}, got ${got}`,
		"If you trust its author, run README.md's commands by hand.",
	);
}

function readYaml(text: string, path: string) {
	const yaml = parseYaml(text, path);
	if (yaml.state === "invalid") throw new AggregateError(yaml.errors);
	return yaml.value;
}
