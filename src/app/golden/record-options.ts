// The options of `trtgate golden record`, completed from a config file.
import { basename, dirname, join, resolve } from "node:path";
import { fileStore } from "../../adapters/files/store.ts";
import { firstLine, gitIn } from "../../adapters/git/run-git.ts";
import type { Processes } from "../../adapters/process/processes.ts";
import type { Config, ModelConfig } from "../../core/config/config.ts";
import { didYouMean } from "../../core/config/did-you-mean.ts";
import { starterGolden } from "../../core/config/init.ts";
import { usageError } from "../../core/errors.ts";
import { defaultTolerances } from "../../core/golden/compare/tolerances.ts";
import { defaultLeastShares, type LeastShares } from "../../core/golden/record/defects/record.ts";
import type { GivenShapes } from "../../core/onnx/input-shapes/open-axes.ts";
import { quoteName } from "../../core/onnx/quote.ts";
import { confine } from "../../stages/resolve-in-workspace.ts";
import { type ArgumentsOf, parseArguments } from "../commands/arguments.ts";
import { recordTable } from "../commands/golden-tables.ts";
import { parseDims, parseShapes } from "../commands/sizes.ts";
import { readConfigFile } from "../config-file.ts";
import type { Terminal } from "../terminal.ts";
import type { OnnxRuntimeChoice } from "./compose.ts";

export interface GivenSizes {
	dims: Readonly<Record<string, number>>;
	inputs: GivenShapes;
}

export interface RecordOptions {
	cwd: string;
	model: string;
	out: string;
	home: string;
	unnamed?: { config: string; golden: string };
	name: string;
	/** How many to generate; undefined where not given. */
	cases: number | undefined;
	inputs: readonly string[];
	generators: readonly string[];
	nonFinite: readonly string[];
	preprocess: string | undefined;
	configured: GivenSizes;
	given: GivenSizes;
	mayBeOne: readonly string[] | undefined;
	seed: number;
	reason: string | undefined;
	author: string | undefined;
	onnxruntime: OnnxRuntimeChoice | undefined;
	onnxruntimeFolder: string | undefined;
	propose: boolean;
	timeLimitMs: number;
	leastShares: LeastShares;
	timeoutMs: number;
	quiet: boolean;
	command: string;
}

type RecordArguments = ArgumentsOf<typeof recordTable>;

export const defaultCases = Number(recordTable.options.cases.default);

/** @throws ConfigError usage, config-missing and the errors of a config. */
export async function parseRecordOptions(
	argv: readonly string[],
	{ cwd }: Pick<Terminal, "cwd">,
): Promise<RecordOptions> {
	const byConfig = argv.some((argument) => argument === "--model" || argument.startsWith("--model="));
	const args = parseArguments(argv, recordTable, byConfig ? { positionals: [] } : {});
	const configured: Configured = byConfig
		? await readModelConfig(args.text("config"), args.text("model") ?? "", cwd)
		: { home: cwd, notice: defaultLeastShares };
	const given = args.text("out");
	const out = given ?? (configured.golden === undefined ? undefined : dirname(configured.golden));
	if (out === undefined)
		throw usageError("golden record needs --out.", "Name the golden's folder, as in --out golden/resnet50.");
	const folder = resolve(given !== undefined ? cwd : configured.home, out);
	return {
		cwd,
		model: configured.onnx ?? resolve(cwd, args.positionals[0] ?? ""),
		out: folder,
		home: configured.home,
		unnamed: given === undefined ? configured.unnamed : undefined,
		name: basename(folder).replace(/[@\s]+/g, "-") || "golden",
		cases: args.isGiven("cases") ? wholeNumber(args, "cases", 1, 10_000) : undefined,
		inputs: args.texts("inputs"),
		generators: args.texts("generator"),
		nonFinite: args.texts("non-finite"),
		preprocess: preprocessPath(args, cwd),
		configured: configured.sizes ?? { dims: {}, inputs: {} },
		mayBeOne: configured.mayBeOne,
		given: { dims: parseDims(args.texts("dims")), inputs: parseShapes(args.texts("shape")) },
		seed: wholeNumber(args, "seed", 0, Number.MAX_SAFE_INTEGER),
		reason: args.text("reason"),
		author: args.text("author"),
		onnxruntime: args.text("onnxruntime"),
		onnxruntimeFolder: args.text("onnxruntime-folder"),
		propose: args.flag("propose"),
		timeLimitMs: duration(args, "time-limit"),
		leastShares: { ...configured.notice, ...parseShares(args.texts("notice")) },
		timeoutMs: duration(args, "timeout"),
		quiet: args.flag("quiet"),
		command: `trtgate golden record ${argv.join(" ")}`.slice(0, 1000),
	};
}

function preprocessPath(args: RecordArguments, cwd: string): string | undefined {
	const path = args.text("preprocess");
	if (path === undefined) return undefined;
	if (args.texts("inputs").length > 0) return resolve(cwd, path);
	throw usageError(
		"--preprocess applies to files among --inputs, and there are no --inputs.",
		"Name the files with --inputs.",
	);
}

interface Configured extends Pick<RecordOptions, "home" | "unnamed"> {
	onnx?: string;
	golden?: string;
	sizes?: GivenSizes;
	mayBeOne?: readonly string[];
	notice: LeastShares;
}

async function readModelConfig(path: string, name: string, cwd: string): Promise<Configured> {
	const { config, home } = await readConfigFile({ cwd, path });
	const model = findModel(config, name);
	const onnx = (await confine(fileStore(), home, model.onnx)) ?? join(home, model.onnx);
	const named = goldenOf(model);
	const golden = named ?? starterGolden(name);
	await confine(fileStore(), home, dirname(golden));
	const ranges = Object.entries(model.engines[0]?.dims ?? {});
	return {
		onnx,
		home,
		golden,
		unnamed: named === undefined ? { config: join(home, basename(path)), golden } : undefined,
		sizes: { dims: Object.fromEntries(ranges.map(([name, { opt }]) => [name, opt])), inputs: model.inputs },
		mayBeOne: ranges.flatMap(([name, { min }]) => (min <= 1 ? [name] : [])),
		notice: sharesFor(model),
	};
}

/** The golden is recorded at fp32; other precisions are judged where an engine has them, or the config names them. */
function sharesFor({ engines, notice }: ModelConfig): LeastShares {
	const judged = new Set<string>(["fp32", ...engines.map(({ precision }) => precision)]);
	return {
		...Object.fromEntries(Object.entries(defaultLeastShares).filter(([precision]) => judged.has(precision))),
		...notice,
	};
}

/** @throws ConfigError usage. */
export function findModel({ models, path }: Config, name: string): ModelConfig {
	const found = models.find((candidate) => candidate.name === name);
	if (found !== undefined) return found;
	const names = models.map((candidate) => candidate.name);
	const meant = didYouMean(name, names);
	const fix =
		meant === undefined
			? `Its models are ${names.map((known) => quoteName(known)).join(", ")}.`
			: `Did you mean ${quoteName(meant)}?`;
	throw usageError(`${path} has no model ${quoteName(name)}.`, fix);
}

export function goldenOf(model: ModelConfig): string | undefined {
	return model.engines.find((engine) => engine.golden !== undefined)?.golden;
}

function wholeNumber(args: RecordArguments, name: "cases" | "seed", least: number, most: number): number {
	const text = args.text(name);
	const value = Number(text);
	if (/^\d+$/.test(text) && value >= least && value <= most) return value;
	throw usageError(
		`--${name} takes a whole number from ${least} to ${most}; got ${JSON.stringify(text)}.`,
		"Correct the number.",
	);
}

function parseShares(texts: readonly string[]): LeastShares {
	const entries = texts
		.flatMap((text) => text.split(","))
		.map((text): [string, number] => {
			const [, precision = "", share = ""] = /^(\w+)=(\d+(?:\.\d+)?)$/.exec(text) ?? [];
			if (Object.hasOwn(defaultTolerances, precision) && Number(share) <= 1)
				return [precision, Number(share)];
			throw usageError(
				`--notice takes PRECISION=SHARE, the share from 0 to 1; got ${JSON.stringify(text)}.`,
				"Write it as in --notice fp16=0.9.",
			);
		});
	return Object.fromEntries(entries);
}

const unitsMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

function duration(args: RecordArguments, name: "time-limit" | "timeout"): number {
	const text = args.text(name);
	const match = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(text);
	const unit = unitsMs[match?.[2] ?? ""];
	if (match !== null && unit !== undefined) return Number(match[1]) * unit;
	throw usageError(
		`--${name} takes a time with its unit; got ${JSON.stringify(text)}.`,
		`Write it as in --${name} 2m.`,
	);
}

export async function findAuthor(
	given: string | undefined,
	cwd: string,
	processes: Processes,
): Promise<string | undefined> {
	if (given !== undefined) return given;
	try {
		const git = gitIn(cwd, processes);
		const name = firstLine(await git(["config", "user.name"]));
		const email = firstLine(await git(["config", "user.email"]));
		if (name === "") return email === "" ? undefined : email;
		return email === "" ? name : `${name} <${email}>`;
	} catch {
		// Without git, there is no author.
		return undefined;
	}
}
