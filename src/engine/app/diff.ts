// `trtgate diff`
import { resolve } from "node:path";
import { misused, parseArguments } from "../../app/commands/arguments.ts";
import { diffTable } from "../../app/commands/tables.ts";
import { exitCodes } from "../../app/exit.ts";
import type { Terminal } from "../../app/terminal.ts";
import { ConfigError, usageError } from "../../core/errors.ts";
import { renderDiffs, type TitledDiff } from "../../core/report/engine-page.ts";
import { quoteName } from "../../core/text/escape.ts";
import { listNames } from "../../core/text/labels.ts";
import { diffEngines } from "../core/diff.ts";
import { engineMs, type FoundEngine, findEngines, readEngine } from "./find-engines.ts";

export async function diff(argv: readonly string[], terminal: Terminal): Promise<number> {
	const args = parseArguments(argv, diffTable);
	const [basePath = "", headPath = ""] = args.positionals;
	const models = (args.text("onnx")?.split(",") ?? []).map((path) => resolve(terminal.cwd, path));
	// Of two results, the heads are compared.
	const baseArm = basePath === headPath ? "base" : "head";
	const bases = await findEngines(basePath, terminal.cwd, baseArm);
	const heads = await findEngines(headPath, terminal.cwd, "head");
	const pairs = pairEngines(bases, heads, args.positionals);
	const enginesMs = timesOf(args.text("engine-ms"), pairs.length);
	terminal.err(unpairedText([...bases, ...heads], pairs));
	const diffs: TitledDiff[] = [];
	for (const { base, head } of pairs) {
		const [baseModel = base.model, headModel = models[0] ?? head.model] = models;
		const engines = {
			base: await readEngine({ ...base, model: baseModel }),
			head: await readEngine({ ...head, model: headModel }),
		};
		const whole = basePath === headPath ? `${headPath}: base → head` : `${basePath} → ${headPath}`;
		const title = `${whole}${head.name === "" || bases.length + heads.length === 2 ? "" : `: ${head.name}`}`;
		const [baseMs, headMs] =
			enginesMs === null ? [await engineMs(base), await engineMs(head)] : [enginesMs.base, enginesMs.head];
		const timed = baseMs === null || headMs === null ? null : { base: baseMs, head: headMs };
		diffs.push({ title, diff: diffEngines(engines, { gpu: args.text("gpu") ?? null, enginesMs: timed }) });
	}
	terminal.out(renderDiffs(diffs, args.text("format"), `trtgate diff ${basePath} ${headPath}`));
	return exitCodes.ok;
}

function timesOf(text: string | undefined, engines: number) {
	if (text === undefined) return null;
	if (engines > 1)
		throw usageError(
			`--engine-ms gives the times of one engine; here are ${engines}.`,
			"Name the folder of one engine in each.",
		);
	const [base = NaN, head = NaN, ...others] = text.split(",").map(Number);
	if (!(base > 0) || !(head > 0) || others.length > 0)
		throw misused("--engine-ms", "two times such as 0.569,0.606", text);
	return { base, head };
}

function unpairedText(
	all: readonly FoundEngine[],
	pairs: readonly Readonly<Record<"base" | "head", FoundEngine>>[],
) {
	const paired = new Set(pairs.flatMap(({ base, head }) => [base, head]));
	const names = all.flatMap((engine) => (paired.has(engine) ? [] : [quoteName(engine.name)]));
	return names.length === 0 ? "" : `Not compared, because only one side has them: ${listNames(names)}.\n`;
}

function pairEngines(bases: readonly FoundEngine[], heads: readonly FoundEngine[], paths: readonly string[]) {
	const isOnly = bases.length === 1 && heads.length === 1;
	const pairs = heads.flatMap((head) => {
		const base = isOnly ? bases[0] : bases.find(({ name }) => name === head.name);
		return base === undefined ? [] : [{ base, head }];
	});
	if (pairs.length > 0) return pairs;
	const names = [bases, heads].map((some) =>
		some
			.slice(0, 5)
			.map(({ name }) => JSON.stringify(name))
			.join(", "),
	);
	throw new ConfigError({
		code: "engine-missing",
		message: `${paths.join(" and ")} have several engines, and none of one name: ${names.join(" and ")}.`,
		fix: "Name the folder of one engine in each.",
	});
}
