// `trtgate tune`: tries what TensorRT can do with a model, by runs of the gate, and shows which variants are worth having.
import { existsSync } from "node:fs";
import { basename, join, relative, resolve } from "node:path";
import type { Result, WorkloadResult } from "../../../generated/result.ts";
import { systemClock } from "../../adapters/clock.ts";
import { readModel, readPatterns } from "../../adapters/files/model-reader.ts";
import { fileStore } from "../../adapters/files/store.ts";
import { findDims } from "../../core/config/dims.ts";
import {
	modelLines,
	precisionVariants,
	sparseVariant,
	type Tuned,
	tuneConfig,
	type Variant,
} from "../../core/config/tune.ts";
import { ConfigError, usageError } from "../../core/errors.ts";
import { joinRuns } from "../../core/merge/join.ts";
import { reportContext } from "../../core/report/highlights.ts";
import { fullDetail } from "../../core/report/section.ts";
import { siblingFamilies, siblingSection } from "../../core/report/sections/siblings.ts";
import { drawTerminal } from "../../core/report/terminal.ts";
import { cleanMessage, jsonText } from "../../core/text/escape.ts";
import { formatCount, formatMs } from "../../core/text/units.ts";
import type { Ports } from "../../ports/ports.ts";
import type { ModelOnDisk } from "../../ports/world.ts";
import { reportList, writeReport } from "../../stages/report.ts";
import { pathInside } from "../config-file.ts";
import { exitCodes, exitOfResult } from "../exit.ts";
import { progressFor, type Terminal } from "../terminal.ts";
import { type ArgumentsOf, parseArguments, parseTime } from "./arguments.ts";
import { chooseInitSizes } from "./init-sizes.ts";
import { tuneTable } from "./machine-tables.ts";
import { showResult } from "./run.ts";
import { givenSizes, sizeOptions } from "./sizes.ts";
import { readBackend, recordTrialGolden, runTrial } from "./trial.ts";

/** What answers in place of this machine's TensorRT. */
type Replayed = Pick<Ports, "backend" | "telemetry" | "clock">;

interface Tuning {
	args: ArgumentsOf<typeof tuneTable>;
	terminal: Terminal;
	out: string;
	endMs: number;
	replayed?: Replayed | undefined;
}

const clock = systemClock();
/** A build at the highest level takes several times as long. */
const slowerBuild = 3;
const otherMs = 60_000;
const mostRefined = 2;
const shareOfBuilds = 0.6;

export async function tune(
	argv: readonly string[],
	terminal: Terminal,
	replayed?: Replayed,
): Promise<number> {
	const args = parseArguments(argv, tuneTable);
	const endMs = clock.now() + parseTime("--time-limit", args.text("time-limit"));
	const out = resolve(terminal.cwd, pathInside(args.text("out"), terminal.cwd));
	pathInside(args.text("golden") ?? ".", terminal.cwd);
	const tuning: Tuning = { args, terminal, out, endMs, replayed };
	const { onnx, model } = await readInside(args.positionals[0] ?? "", terminal);
	const file = args.text("quantised");
	const quantised = file === undefined ? undefined : await readInside(file, terminal);
	const { version, computeCapability } = await tensorRtOf(tuning);
	const found = precisionVariants(model, { tensorrt: version, computeCapability }, quantised);
	// With one precision, there is only the builder to turn.
	const levels = found.length === 1 ? found.map(refined) : [];
	const sparse = sparseVariant(found, await readPatterns(model));
	const variants = [...found, ...levels, ...(sparse === null ? [] : [sparse])];
	const given = givenSizes(args);
	const known = await chooseInitSizes(model, given, { ...terminal, quiet: true });
	await fileStore().makeFolder(tuning.out);
	const golden = await goldenOf(model, tuning);
	if (clock.now() >= endMs)
		throw usageError("--time-limit was over before a build began.", "Give more time, such as 10m.");
	const tuned: Tuned = {
		name: basename(onnx).replace(/\.onnx$/i, ""),
		onnx,
		found: findDims(model.onnx, known),
		golden,
	};
	return conclude(await tryAll(tuning, tuned, variants), tuned, tuning);
}

async function readInside(path: string, terminal: Terminal) {
	const onnx = pathInside(path, terminal.cwd);
	return { onnx, model: await readModel(resolve(terminal.cwd, onnx)) };
}

/** @throws ConfigError backend-mismatch without TensorRT. */
async function tensorRtOf({ args, terminal, replayed }: Tuning) {
	const given = args.given("device", "trtexec");
	const facts = await (replayed?.backend.facts() ?? readBackend(given, terminal));
	if (facts.kind === "tensorrt") return facts;
	throw new ConfigError({
		code: "backend-mismatch",
		message:
			"There is nothing to tune here: no trtexec with a GPU was found, and ONNX Runtime runs a model in the types of its file and is not timed.",
		fix: "Run it on a machine with TensorRT and a GPU; `trtgate doctor` says what is missing.",
	});
}

function refined(variant: Variant) {
	return { ...variant, name: `${variant.name}-level5`, level: 5 };
}

async function goldenOf({ path, sha256 }: ModelOnDisk, tuning: Tuning) {
	const { args, terminal, out } = tuning;
	const given = args.text("golden");
	const folder =
		given === undefined ? join(out, `golden-${sha256.slice(0, 12)}`) : resolve(terminal.cwd, given);
	const manifest = join(folder, "golden.json");
	const shown = relative(terminal.cwd, manifest);
	if (given !== undefined || existsSync(manifest)) return shown;
	terminal.err("tune: golden\n");
	const argv = [path, `--out=${folder}`, ...sizeOptions(args)];
	return (await recordTrialGolden(argv, { ...terminal, echo: terminal.err })) ? shown : undefined;
}

/** One at a time, so that a slow builder costs variants and not the table. Later runs find the engines in the cache. */
async function buildInTime(tuning: Tuning, tuned: Tuned, variants: readonly Variant[]) {
	const begunMs = clock.now();
	const endMs = begunMs + (tuning.endMs - begunMs) * shareOfBuilds;
	const built: Variant[] = [];
	let longestMs = 0;
	for (const variant of variants) {
		const startMs = clock.now();
		const hasTime = built.length === 0 || startMs + longestMs <= endMs;
		const text = tuneConfig({ ...tuned, golden: undefined }, [variant], { streams: [] });
		const builds = hasTime
			? (await runStage({ ...tuning, endMs }, `build-${variant.name}`, text)).builds
			: [];
		if (builds.some(({ failure }) => failure?.code !== "interrupted")) built.push(variant);
		else tuning.terminal.err(`note: No time was left to build ${variant.name}; --time-limit gives more.\n`);
		longestMs = Math.max(longestMs, clock.now() - startMs);
	}
	return built;
}

/** Precisions first; then the builder's level for the best of them; then the load of the fastest. */
async function tryAll(tuning: Tuning, tuned: Tuned, variants: readonly Variant[]) {
	const built = await buildInTime(tuning, tuned, variants);
	const first = built.length === 0 ? variants : built;
	let result = await runStage(tuning, "variants", tuneConfig(tuned, first));
	const plain = bestOf(result, first).filter(({ level }) => level === undefined);
	const isTried = ({ name }: Variant) => first.some((known) => known.name === name);
	const more = plain
		.slice(0, mostRefined)
		.map(refined)
		.filter((variant) => !isTried(variant));
	const buildMs = Math.max(0, ...result.builds.map(({ durationMs }) => durationMs));
	if (more.length > 0 && hasTime(tuning, more.length * slowerBuild * buildMs, "optimization level 5")) {
		const text = tuneConfig(tuned, [...first.slice(0, 1), ...more]);
		result = joinRuns(result, await runStage(tuning, "levels", text));
	}
	const [chosen] = bestOf(result, [...first, ...more]);
	const loads: WorkloadResult[] = [];
	for (const cudaGraph of chosen === undefined ? [] : [true, false]) {
		const what = `streams ${cudaGraph ? "with" : "without"} CUDA graph`;
		if (chosen === undefined || !hasTime(tuning, 0, what)) break;
		const text = tuneConfig(tuned, [chosen], { streams: [1, 2, 4], cudaGraph });
		loads.push(...(await runStage(tuning, what.replaceAll(" ", "-"), text)).workloads);
	}
	const workloads = [...result.workloads, ...loads];
	return { result: { ...result, workloads, files: reportList }, reference: first[0], chosen, loads };
}

function hasTime({ endMs, terminal }: Tuning, buildMs: number, what: string) {
	const isEnough = clock.now() + buildMs + otherMs <= endMs;
	if (!isEnough) terminal.err(`note: No time was left for ${what}; --time-limit gives more.\n`);
	return isEnough;
}

/** Fastest first; what is not slower beyond doubt stands with the reference. */
function bestOf(result: Result, variants: readonly Variant[]) {
	const best = siblingFamilies(result)
		.flat()
		.filter(({ isBest }) => isBest);
	const timeOf = ({ place }: (typeof best)[number]) => {
		const [low, high] = place ?? [0, 0];
		return low < 0 && high > 0 ? 0 : low + high;
	};
	const sorted = best.sort((a, b) => timeOf(a) - timeOf(b));
	return sorted.flatMap(({ engine }) => variants.find(({ name }) => name === engine) ?? []);
}

async function runStage({ args, terminal, out, endMs, replayed }: Tuning, name: string, text: string) {
	terminal.err(`tune: ${name}\n`);
	const config = join(out, `${name}.yml`);
	await fileStore().writeText(config, text);
	const options = {
		...{ head: ".", config, out: join(out, name), ...args.given("trtexec"), inputs: args.given("device") },
		progress: progressFor(terminal, { quiet: args.flag("quiet"), json: args.flag("json") }),
		...(replayed && { inputs: { backend: "onnxruntime" }, ports: replayed, isFresh: true }),
	};
	return runTrial(options, endMs, terminal);
}

async function conclude(
	tried: {
		result: Result;
		reference: Variant | undefined;
		chosen: Variant | undefined;
		loads: readonly WorkloadResult[];
	},
	tuned: Tuned,
	{ args, terminal, out }: Tuning,
) {
	const { result, reference, chosen, loads } = tried;
	await writeReport(result, out, fileStore());
	const json = args.flag("json");
	const view = { format: "terminal", detail: fullDetail } as const;
	const shown = siblingSection.show(reportContext(result, []), view);
	if (shown === null || chosen === undefined) {
		showResult(result, { json, outFolder: out }, terminal);
		return exitOfResult(result) || exitCodes.failed;
	}
	const lines = modelLines(tuned, [...new Set([reference ?? chosen, chosen])]);
	await fileStore().writeText(join(out, "chosen.yml"), lines);
	const refusals = result.builds.flatMap(({ engine, failure }) =>
		failure === undefined ? [] : [`${engine} was not built: ${cleanMessage(failure.title)}`],
	);
	// An engine in name only, as TensorRT found no faster kernels in its precision; or one that contradicts itself.
	const others = result.gates.flatMap(({ gate, engine, status, message }) =>
		(gate === "precision-coverage" || gate === "probe") && status !== "pass"
			? [`${engine}: ${cleanMessage(message)}`]
			: [],
	);
	const table = drawTerminal(shown.blocks, { color: terminal.color.out, columns: terminal.columns });
	const loadLines = loads.map(({ workload, head, latency }) => {
		const rate = head === null ? "" : `, ${formatCount(Math.round(head.throughputPerSecond ?? 0))} / s`;
		return `  ${workload}: ${head === null ? (latency.reason ?? "not timed") : formatMs(head.medianMs)}${rate}`;
	});
	const ofLoads = loads.length === 0 ? [] : [`${chosen.name}, not in pairs:`, ...loadLines, ""];
	const text = [
		...table,
		...refusals,
		...others,
		"",
		...ofLoads,
		`Fastest of the best: ${chosen.name}. For trtgate.yml:`,
		"",
		lines,
	];
	terminal.echo(json ? jsonText(result) : text.join("\n"));
	terminal.err(`Picture: ${out}/report.html\n`);
	return exitCodes.ok;
}
