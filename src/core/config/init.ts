// Writes trtgate.yml and the workflow for `trtgate init`.
import { findDecoder } from "../onnx/decoder.ts";
import type { OnnxModel } from "../onnx/model.ts";
import { cleanName, flowYaml, withoutInvisible, yamlText } from "../text/escape.ts";
import type { DimRange } from "./config.ts";
import { type FoundDim, type FoundDims, findDims, type KnownSizes, shortRange } from "./dims.ts";
import { folderName, isName } from "./values.ts";
import { workloadKeys } from "./workloads.ts";

interface StarterModel {
	name: string;
	onnxPath: string;
	known?: KnownSizes;
	comments?: readonly string[];
	isFirst?: boolean;
}

export function starterConfig(models: readonly (readonly string[])[], schema: string): string {
	const lines = [
		`# yaml-language-server: $schema=${schema}`,
		"# What trtgate checks on every change. All keys: https://github.com/trtgate/trtgate/blob/main/docs/configuration.md",
		"version: 1",
		"",
		"# auto: TensorRT where trtexec is found, else ONNX Runtime on the CPU.",
		"backend: auto",
		"",
		"models:",
		...models.flatMap((model, index) => (index === 0 ? model : ["", ...model])),
		"",
		"# Limits on the change from base to head, relative to the base. Without this, the defaults hold:",
		"# gates:",
		"#   latency: { warn: 2%, fail: 10% }",
		"#   work: { warn: 2% } # counted where there is no TensorRT",
		"#   memory: { fail: 5% }",
		"#   engine-size: { fail: 10% }",
		"#   max-latency: 5ms # none by default",
	];
	return `${lines.join("\n")}\n`;
}

export function starterModel(model: OnnxModel, options: StarterModel): string[] {
	const { name, onnxPath, known, comments, isFirst = true } = options;
	const all = findDims(model, known);
	const decoder = decoderLines(model, all);
	const found = { ...all, dims: all.dims.filter(({ name }) => !decoder.dims.has(name)) };
	const timed = [
		"    # Shapes to time, one row each in the report.",
		`    workloads: ${workloadList(found)}`,
	];
	const lines = [
		`  ${yamlText(name)}:`,
		`    onnx: ${yamlText(onnxPath)}`,
		...dimLines(found, comments ?? ["Guessed from names and places."]),
		...shapeLines(found),
		"    engines:",
		"      fp32: { precision: fp32 }",
		"      # fp16: { precision: fp16 }",
		"      # int8: { precision: int8, onnx: models/quantised.onnx, against: fp16 }",
		...(decoder.dims.size === 0 ? timed : decoder.lines),
		`    # Expected outputs; \`trtgate golden record --model ${name} --inputs FOLDER\` records them from real inputs.`,
		`    # golden: ${starterGolden(name)}`,
	];
	return isFirst ? lines : lines.filter((line) => !hints.test(line));
}

const hints = /^ {4,6}# (Optimization profile|Axes without|fp16:|int8:|Shapes to time|Expected outputs)/;

/** Of models that share a file's name, such as model.onnx, the folders tell which is which. */
export function starterName(onnxPath: string, taken: ReadonlySet<string>): string {
	const parts = onnxPath.replace(/\.onnx$/i, "").split("/");
	const names = parts.map((_, at) => cleaned(parts.slice(parts.length - 1 - at).join("-")));
	const free = names.find((name) => !taken.has(name));
	const last = names.at(-1) ?? "model";
	for (let number = 2; ; number += 1) {
		const name = free ?? `${last}-${number}`;
		if (!taken.has(name)) return name;
	}
}

function cleaned(name: string) {
	return isName(name) ? name : cleanName(withoutInvisible(name));
}

function dimLines({ dims }: FoundDims, comments: readonly string[]) {
	if (dims.length === 0) return ["    # Its shapes are fixed: no dims to bind."];
	const ranges = dims.map(
		({ name, range, where }) => `      ${yamlText(name)}: ${flowYaml(shortRange(range))} # ${where}`,
	);
	const about = "    # Optimization profile: the smallest, most common and largest size. Check them.";
	return [
		about,
		...comments.map((comment) => `    # ${cleanName(comment, mostCommentChars)}`),
		"    dims:",
		...ranges,
	];
}

const mostCommentChars = 600;

function shapeLines({ shapes, unshaped }: FoundDims) {
	const comments = unshaped.map(
		(name) => `    # ${cleanName(name, 40)} has no shape in the ONNX file: give it one under inputs.`,
	);
	if (shapes.length === 0) return comments;
	const rows = shapes.map(({ input, shape }) => `      ${yamlText(input)}: ${flowYaml({ shape })}`);
	return [...comments, "    # Axes without a name in the ONNX file.", "    inputs:", ...rows];
}

function workloadList({ dims }: FoundDims) {
	if (dims.length === 0) return "[{ name: fixed shapes }]";
	const batches = dims.filter(({ range, isBatch }) => isBatch && range.max > range.min);
	if (batches.length === 0) return flowYaml([workload(dims.slice(0, 3))]);
	const single = batches.map((batch) => ({ ...batch, range: { ...batch.range, opt: batch.range.min } }));
	return flowYaml([workload(single), workload(batches)]);
}

/** Of a decoder, for which one profile would serve two kinds of work. */
function decoderLines(model: OnnxModel, { dims, shapes }: FoundDims) {
	const inputs = Object.fromEntries(shapes.map(({ input, shape }) => [input, { shape }]));
	const { seq, past, total } = findDecoder(model, { inputs })?.dims ?? {};
	const found = dims.find(({ name }) => name === seq);
	if (found === undefined || past === undefined || !dims.some(({ name }) => name === past))
		return { lines: [], dims: new Set() };
	const cache = { min: 1, opt: 512, max: 1024 };
	const row = (ofSeq: DimRange, ofPast: DimRange) => {
		const sum = (end: keyof DimRange) => ofSeq[end] + ofPast[end];
		const both = { min: sum("min"), opt: sum("opt"), max: sum("max") };
		const ranges = [[found.name, ofSeq] as const, [past, ofPast] as const];
		const given = total === undefined ? ranges : [...ranges, [total, both] as const];
		return `      - ${flowYaml(Object.fromEntries(given))}`;
	};
	const batches = dims.filter(({ isBatch }) => isBatch).map(({ name, range }) => [name, range.min]);
	const single = Object.fromEntries(batches);
	const lines = [
		"    # The first tokens at once, then one after the other with a cache: ranges of tokens and cached positions.",
		"    profiles:",
		row(found.range, { min: 0, opt: 1, max: 1 }),
		row({ min: 1, opt: 1, max: 1 }, cache),
		"    # The first token, and each further one.",
		`    workloads: ${flowYaml([
			{ prefill: found.range.opt, ...single },
			{ decode: cache.opt, ...single },
		])}`,
	];
	return { lines, dims: new Set([found.name, past, ...(total === undefined ? [] : [total])]) };
}

function workload(dims: readonly FoundDim[]) {
	const sizes = Object.fromEntries(dims.map(({ name, range }) => [name, range.opt]));
	return dims.some(({ name }) => workloadKeys.includes(name)) ? { dims: sizes } : sizes;
}

export function starterGolden(name: string): string {
	return `golden/${folderName(name)}/golden.json`;
}

export function withStarterGolden(config: string, golden: string): string | null {
	const lines = config.split("\n");
	const at = lines.findIndex((line) => line.trim() === `# golden: ${golden}`);
	if (at < 0) return null;
	return lines.with(at, lines[at]?.replace("# ", "") ?? "").join("\n");
}

export function pinCommand(version: string): string {
	return `git ls-remote https://github.com/trtgate/trtgate 'refs/tags/v${version}^{}'`;
}

/** Actions are pinned by commit, because a tag can be moved. */
export function starterWorkflow({
	version = "0.1.0",
	commit,
}: {
	version?: string;
	commit?: string | undefined;
}): string {
	const todo =
		commit === undefined
			? `      # Pin to the commit that this prints, here and below: ${pinCommand(version)}\n`
			: "";
	const pin = commit === undefined ? `v${version}` : `${commit} # v${version}`;
	const rights = "      pull-requests: write # the comment\n      checks: write # the check run";
	const titleEdited = "github.event.action == 'edited' && !github.event.changes.base";
	return `# Compares the engines of a pull request with those of its target branch. More examples: workflows-examples.
name: trtgate
on:
  pull_request:
    types: [opened, synchronize, reopened, edited] # edited: also if the target branch changes
  merge_group:
permissions: {}
concurrency:
  # A new push or target branch cancels the previous run; an edited title does not.
  group: \${{ github.workflow_ref }}-\${{ ${titleEdited} }}
  cancel-in-progress: true
jobs:
  gate:
    # Skipped under another name if only the title is edited: a skipped job would count as passed.
    name: \${{ ${titleEdited} && 'title edited' || 'engine gate' }}
    if: github.event.action != 'edited' || github.event.changes.base
    # For TensorRT: the labels of a runner with a GPU, e.g. [self-hosted, gpu]; read docs/security.md first.
    runs-on: ubuntu-latest
    timeout-minutes: 60
    permissions:
      contents: read
${rights}
    outputs:
      outcome: \${{ steps.gate.outputs.outcome }}
    steps:
      - uses: actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1
        with:
          fetch-depth: 0 # the base is an earlier commit
          persist-credentials: false
${todo}      - id: gate
        uses: trtgate/trtgate@${pin}
        with:
          config: trtgate.yml
  # Runs only if the gate ended without an outcome: its runner was lost, or a step before trtgate failed.
  lost:
    name: after a lost runner
    needs: gate
    if: failure() && needs.gate.outputs.outcome == ''
    runs-on: ubuntu-latest
    timeout-minutes: 10
    permissions:
${rights}
    steps:
      - uses: trtgate/trtgate/report@${pin}
        with:
          config: trtgate.yml # config, name and artifact as above
`;
}
