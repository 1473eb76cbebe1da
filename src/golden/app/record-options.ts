// The options of `trtgate golden record`, completed from a config file.
import { basename, dirname, join, resolve } from "node:path";
import { fileStore } from "../../adapters/files/store.ts";
import { firstLine, gitIn } from "../../adapters/git/run-git.ts";
import type { Processes } from "../../adapters/process/processes.ts";
import { type ArgumentsOf, misused, parseArguments, parseTime } from "../../app/commands/arguments.ts";
import { recordTable } from "../../app/commands/golden-tables.ts";
import { givenSizes } from "../../app/commands/sizes.ts";
import { readConfigFile } from "../../app/config-file.ts";
import type { Terminal } from "../../app/terminal.ts";
import type { Config, ModelConfig } from "../../core/config/config.ts";
import { starterGolden } from "../../core/config/init.ts";
import { usageError } from "../../core/errors.ts";
import { didYouMean } from "../../core/found.ts";
import type { DecoderSource } from "../../core/onnx/decoder.ts";
import type { GivenShapes } from "../../core/onnx/input-shapes/open-axes.ts";
import { quoteName } from "../../core/text/escape.ts";
import { confine } from "../../stages/resolve-in-workspace.ts";
import { defaultTolerances } from "../core/compare/tolerances.ts";
import { sizesAt } from "../core/probes/subject.ts";
import { defaultLeastShares, type LeastShares } from "../core/record/defects/record.ts";
import type { NamedSizes } from "../core/timed/compose.ts";

export interface GivenSizes {
	dims: Readonly<Record<string, number>>;
	inputs: GivenShapes;
}

type RecordArguments = ArgumentsOf<typeof recordTable>;
export type RecordOptions = Awaited<ReturnType<typeof parseRecordOptions>>;

export const defaultCases = Number(recordTable.options.cases.default);

export async function parseRecordOptions(argv: readonly string[], { cwd }: Terminal, keepsRecorded = false) {
	const byConfig = argv.some((argument) => argument === "--model" || argument.startsWith("--model="));
	const args = parseArguments(argv, recordTable, byConfig ? { positionals: [] } : {});
	const configured: Configured = byConfig
		? await readModelConfig(args.text("config"), args.text("model") ?? "", cwd)
		: {
				home: cwd,
				sizes: { dims: {}, inputs: {} },
				timed: [],
				mayBeOne: [],
				notice: defaultLeastShares,
				decoder: {},
			};
	const given = args.text("out");
	const out = given ?? (configured.golden === undefined ? undefined : dirname(configured.golden));
	if (out === undefined)
		throw usageError("golden record needs --out.", "Name the golden's folder, as in --out golden/resnet50.");
	const whether = args.text("sizes") ?? "";
	if (!["", "config", "none"].includes(whether)) throw misused("--sizes", "config or none", whether);
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
		configured: configured.sizes,
		mayBeOne: configured.mayBeOne,
		timed: whether === "none" ? [] : configured.timed,
		addsTimed: whether === "config",
		steps: wholeNumber(args, "steps", 0, 65_536),
		decoder: configured.decoder,
		given: givenSizes(args),
		seed: wholeNumber(args, "seed", 0, Number.MAX_SAFE_INTEGER),
		reason: args.text("reason"),
		author: args.text("author"),
		onnxruntime: args.text("onnxruntime"),
		onnxruntimeFolder: args.text("onnxruntime-folder"),
		propose: args.flag("propose"),
		keepsRecorded,
		timeLimitMs: parseTime("--time-limit", args.text("time-limit")),
		leastShares: { ...configured.notice, ...parseShares(args.texts("notice")) },
		timeoutMs: parseTime("--timeout", args.text("timeout")),
		quiet: args.flag("quiet"),
		/** Nobody records this golden again or reviews it. */
		isTrial: false as boolean,
		command: `trtgate golden record ${argv.join(" ")}`.slice(0, 1000),
	};
}

function preprocessPath(args: RecordArguments, cwd: string) {
	const path = args.text("preprocess");
	if (path === undefined) return undefined;
	if (args.texts("inputs").length > 0) return resolve(cwd, path);
	throw usageError(
		"--preprocess applies to files among --inputs, and there are no --inputs.",
		"Name the files with --inputs.",
	);
}

interface Configured {
	home: string;
	unnamed?: { config: string; golden: string };
	onnx?: string;
	golden?: string;
	sizes: GivenSizes;
	timed: readonly NamedSizes[];
	mayBeOne: readonly string[];
	notice: LeastShares;
	decoder: Pick<DecoderSource, "decoder" | "pointer">;
}

async function readModelConfig(path: string, name: string, cwd: string) {
	const { config, home } = await readConfigFile({ cwd, path });
	const model = findModel(config, name);
	const onnx = (await confine(fileStore(), home, model.onnx)) ?? join(home, model.onnx);
	const named = goldenOf(model);
	const golden = named ?? starterGolden(name);
	await confine(fileStore(), home, dirname(golden));
	const ranges = Object.entries(model.engines[0]?.dims ?? {});
	// The golden is recorded at fp32; other precisions count if an engine has them, or the config names them.
	const judged = new Set<string>(["fp32", ...model.engines.map(({ precision }) => precision)]);
	const shares = Object.entries(defaultLeastShares).filter(([precision]) => judged.has(precision));
	return {
		onnx,
		home,
		golden,
		unnamed: named === undefined ? { config: join(home, basename(path)), golden } : undefined,
		sizes: { dims: Object.fromEntries(ranges.map(([dim, { opt }]) => [dim, opt])), inputs: model.inputs },
		timed: timedSizes(model),
		mayBeOne: ranges.flatMap(([dim, { min }]) => (min <= 1 ? [dim] : [])),
		notice: { ...Object.fromEntries(shares), ...model.notice },
		decoder: { decoder: model.decoder, pointer: `${model.pointer}/decoder` },
	};
}

function timedSizes({ engines }: ModelConfig) {
	const ends = engines.flatMap(({ profiles }) =>
		profiles.flatMap((profile) => [sizesAt(profile, "min"), sizesAt(profile, "max")]),
	);
	const timed = engines.flatMap(({ workloads }) => workloads.map(({ dims }) => dims));
	return [...timed, ...ends.map((sizes) => Object.fromEntries(sizes))];
}

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

function wholeNumber(args: RecordArguments, name: "cases" | "seed" | "steps", least: number, most: number) {
	const text = args.text(name);
	const value = Number(text);
	if (/^\d+$/.test(text) && value >= least && value <= most) return value;
	throw misused(`--${name}`, `a whole number from ${least} to ${most}`, text);
}

function parseShares(texts: readonly string[]) {
	const parts = texts.flatMap((text) => text.split(","));
	return Object.fromEntries(
		parts.map((text) => {
			const [, precision = "", share = ""] = /^(\w+)=(\d+(?:\.\d+)?)$/.exec(text) ?? [];
			if (Object.hasOwn(defaultTolerances, precision) && Number(share) <= 1)
				return [precision, Number(share)];
			throw misused("--notice", "PRECISION=SHARE with a share from 0 to 1, such as fp16=0.9", text);
		}),
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
		if (name === "" || email === "") return name || email || undefined;
		return `${name} <${email}>`;
	} catch {
		return undefined;
	}
}
