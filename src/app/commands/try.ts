// `trtgate try`: what trtgate can say of a model, without git or a config, in a temporary folder.
import { basename, dirname, join, relative, resolve } from "node:path";
import type { LoadResult, Result } from "../../../generated/result.ts";
import { systemClock } from "../../adapters/clock.ts";
import { readModel } from "../../adapters/files/model-reader.ts";
import { fileStore } from "../../adapters/files/store.ts";
import { placeModel } from "../../adapters/onnxruntime/model-files.ts";
import { inNewFolder } from "../../adapters/process/write-error.ts";
import { findDims } from "../../core/config/dims.ts";
import { modelLines, precisionVariants, type Variant } from "../../core/config/tune.ts";
import { costFacts } from "../../core/onnx/cost/compare.ts";
import { bindShapes, fillShapes } from "../../core/onnx/input-shapes/bind.ts";
import { runnableShapes } from "../../core/onnx/input-shapes/search.ts";
import { reportContext } from "../../core/report/highlights.ts";
import { fullDetail, type ReportSection, shownSections } from "../../core/report/section.ts";
import { buildSection, errorSection } from "../../core/report/sections/builds.ts";
import { renderCosts } from "../../core/report/sections/graph-costs.ts";
import { highlightSection } from "../../core/report/sections/overview.ts";
import { probeSection } from "../../core/report/sections/probes.ts";
import { loadName } from "../../core/report/sections/serving.ts";
import { siblingSection } from "../../core/report/sections/siblings.ts";
import { workloadSection } from "../../core/report/sections/workloads.ts";
import { drawTerminal } from "../../core/report/terminal.ts";
import { shellWord } from "../../core/text/escape.ts";
import { paint } from "../../core/text/paint.ts";
import { formatCount, formatMs, formatPercent } from "../../core/text/units.ts";
import type { ModelOnDisk } from "../../ports/world.ts";
import { exitCodes, exitOfResult } from "../exit.ts";
import { progressFor, type Terminal } from "../terminal.ts";
import { type ArgumentsOf, parseArguments, parseTime } from "./arguments.ts";
import { countedAt } from "./cost.ts";
import { chooseInitSizes, type InitSizes } from "./init-sizes.ts";
import { tryTable } from "./machine-tables.ts";
import { preflight } from "./preflight.ts";
import { givenSizes, sizeOptions } from "./sizes.ts";
import { readBackend, recordTrialGolden, runTrial } from "./trial.ts";

const mostNodes = 3;

interface Trial {
	args: ArgumentsOf<typeof tryTable>;
	terminal: Terminal;
	model: ModelOnDisk;
	known: InitSizes;
	backend: Result["backend"];
	endMs: number;
}

export async function tryModel(argv: readonly string[], terminal: Terminal): Promise<number> {
	const args = parseArguments(argv, tryTable);
	const endMs = systemClock().now() + parseTime("--time-limit", args.text("time-limit"));
	const path = resolve(terminal.cwd, args.positionals[0] ?? "");
	const model = await readModel(path);
	const given = givenSizes(args);
	const backend = await readBackend(args.given("device", "trtexec"), terminal);
	const version = backend.kind === "tensorrt" ? ["--tensorrt", backend.version] : [];
	heading("Preflight", terminal);
	const ready = await preflight([path, ...sizeOptions(args), ...version], terminal);
	if (ready !== exitCodes.ok) {
		terminal.out("\nFix this first; then try it again.\n");
		return ready;
	}
	const known = await chooseInitSizes(model, given, { ...terminal, quiet: args.flag("quiet") });
	const trial: Trial = { args, terminal, model, known, backend, endMs };
	terminal.out("\n");
	heading("Cost", terminal);
	const shapes = fillShapes(bindShapes(model.onnx, given), known.sizes) ?? runnableShapes(model.onnx, given);
	const counted = countedAt(basename(path), model.onnx, shapes);
	terminal.out(`${renderCosts(costFacts({ head: counted, base: null }), mostNodes)}\n`);
	const exit = await inNewFolder("trtgate-try-", (folder) => runIn(folder, shapes, trial));
	const inside = relative(terminal.cwd, path);
	const words = [inside, ...sizeOptions(args)].map(shellWord).join(" ");
	const below = inside.startsWith("..") ? ` (in a folder above ${dirname(path)})` : "";
	terminal.out(`To check it on every change: trtgate init ${words}${below}\n`);
	return exit;
}

function heading(title: string, { out, color }: Terminal) {
	out(`${paint(title, "bold", color.out)}\n`);
}

async function runIn(folder: string, shapes: Parameters<typeof countedAt>[2], trial: Trial) {
	const { args, model, known, backend, terminal, endMs } = trial;
	const own: Terminal = { ...terminal, cwd: folder, echo: terminal.out };
	// The gate reads nothing outside its folder.
	const onnx = basename((await placeModel(model, folder)).path);
	heading("Golden, of generated inputs", terminal);
	const found = findDims(model.onnx, known);
	const sizes = Object.entries(shapes).map(([name, shape]) => `--shape=${name}=${shape.join(",")}`);
	const leftMs = endMs - systemClock().now();
	const hasGolden = await recordTrialGolden([onnx, "--out=golden", ...sizes], own, leftMs);
	const single = found.dims.map(({ name, range, isBatch }) => [name, isBatch ? range.min : range.opt]);
	const tuned = {
		...{ name: basename(onnx).replace(/\.onnx$/i, ""), onnx, found },
		golden: hasGolden ? "golden/golden.json" : undefined,
	};
	const workloads = single.length === 0 ? undefined : [{ dims: Object.fromEntries(single) }];
	const lines = modelLines(tuned, variantsOf(model, backend), workloads);
	await fileStore().writeText(
		join(folder, "trtgate.yml"),
		`version: 1\n${lines}probes: on\nmeasure: { pairs: [5, 8] }\n`,
	);
	const progress = progressFor(terminal, { quiet: args.flag("quiet") });
	const result = await runTrial(
		{
			head: ".",
			config: "trtgate.yml",
			out: "out",
			progress,
			...args.given("trtexec"),
			inputs: args.given("device"),
		},
		endMs,
		own,
	);
	show(result, trial);
	return exitOfResult(result);
}

/** With TensorRT, fp16 against fp32: the choice that most have to make. */
function variantsOf(model: ModelOnDisk, { kind, version, computeCapability }: Result["backend"]) {
	const plain: Variant = { name: "fp32", precision: "fp32" };
	if (kind !== "tensorrt") return [plain];
	const allowed = precisionVariants(model, { tensorrt: version, computeCapability });
	const pair = allowed.filter(({ name }) => name === "fp32" || name === "fp16").reverse();
	return pair.length === 2 ? pair : allowed.slice(0, 1);
}

const usual: readonly ReportSection[] = [errorSection, workloadSection, siblingSection, probeSection];
const failed: readonly ReportSection[] = [highlightSection, buildSection, ...usual];

function show(result: Result, { terminal, backend }: Trial) {
	const hasFailed = result.outcome === "fail" || result.outcome === "error";
	const view = { format: "terminal", detail: fullDetail } as const;
	const context = reportContext(result, failed);
	terminal.out("\n");
	heading(backend.kind === "tensorrt" ? `TensorRT ${backend.version}` : "ONNX Runtime on the CPU", terminal);
	for (const { id, title, blocks } of shownSections(hasFailed ? failed : usual, context, view)) {
		// What is left out would be in a report, and there is none.
		const told = id === highlightSection.id ? blocks.filter(({ kind }) => kind === "highlight") : blocks;
		const lines = drawTerminal(told, { color: terminal.color.out, columns: terminal.columns });
		terminal.out(`${[...(title === undefined ? [] : [title]), ...lines].join("\n")}\n\n`);
	}
	const loads = (result.loads ?? []).flatMap((load) => loadLines(load));
	if (loads.length > 0)
		terminal.out(`At load, computed: the 99th percentile of what a request waits\n${loads.join("")}\n`);
}

const shownShares: readonly number[] = [0.5, 0.8, 0.9];

function loadLines(load: LoadResult) {
	return load.points
		.filter(({ share }) => shownShares.includes(share))
		.map(({ share, ratePerSecond, head }) => {
			const waits = head === null ? "more than it can serve" : formatMs(head.p99Ms);
			return `  ${loadName(load)}: ${waits} at ${formatPercent(share, { digits: 0 })} (${formatCount(Math.round(ratePerSecond))} / s)\n`;
		});
}
