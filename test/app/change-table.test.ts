// UPDATE_DOCS=1 npx vitest run test/app/change-table.test.ts writes the table in bench/changes.md.
import {
	cpSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	rmSync,
	symlinkSync,
	truncateSync,
	writeFileSync,
} from "node:fs";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";
import type { GoldenManifest } from "../../generated/golden.ts";
import type { GateResult } from "../../generated/result.ts";
import { systemClock } from "../../src/adapters/clock.ts";
import { openRecording, replay, unpackFolder } from "../../src/adapters/replay/backend.ts";
import { silentProgress } from "../../src/adapters/terminal/progress.ts";
import { gate } from "../../src/app/gate.ts";
import { temporaryFolder, writeProject } from "../support/project.ts";

/** The rules of the target branch: the recorded classifier is 4.1 % slower in the head, the segmenter 3.3e-2 off its golden. */
const base = `version: 1
backend: tensorrt
models:
  segmenter:
    onnx: models/segmenter.onnx
    engines: { fp32: { precision: fp32 } }
    workloads: [{ name: batch 1 }]
    golden: golden/segmenter/golden.json
    golden-notice: { fp32: 0.9 }
  classifier:
    onnx: models/classifier.onnx
    dims: { batch: { min: 1, opt: 8, max: 8 } }
    engines: { fp16: { precision: fp16 } }
    workloads: [{ batch: 8 }]
probes: off
preflight: { tensorrt: "10.6", strict: false }
baseline: { from: base-ref }
comparators: { mine: { command: [python3, compare.py] } }
runners: [{ name: h200, labels: [self-hosted, h200] }]
measure: { pairs: [5, 8], warm-up: 1s, duration: 1s, timeout: 5m, build-timeout: 10m, threads: 1, rebuilds: 1, unchanged-models: verify, identical-engines: skip, cuda-graph: true, transfers: false, spin-wait: true, start-up: nightly, memory-growth: nightly }
gates:
  latency: { warn: 2%, fail: 3% }
  p99: { warn: 10%, fail: 20% }
  memory: { fail: 5% }
  engine-size: { fail: 300% }
  build-time: { warn: 500% }
  precision-coverage: { warn: 90%, fail: 50% }
  precision-drop: { warn: 5%, fail: 20% }
  max-latency: 1s
  start-up: { warn: 5% }
  memory-growth: 2MiB
  slo: { p99: 1s, rate: 100/s }
  golden: { relative-l2: 0.001, existing: fail, error-growth: { warn: 2, fail: 10 } }
  inconclusive: fail
  not-comparable: fail
  work: { warn: 2%, fail: 10% }
  payoff: { warn: 5%, fail: 3% }
  probes: { fail: 2 }
  interface: fail
  golden-change: fail
  limit-change: fail
  sparsity: fail
  coverage: fail
  vanished: fail
`;

interface Row {
	change: string;
	config?: readonly (readonly [from: string, to: string])[];
	files?(at: (name: string) => string): void;
}
const row = (change: string, from: string, to: string): Row => ({ change, config: [[from, to]] });
const filed = (change: string, files: NonNullable<Row["files"]>): Row => ({ change, files });

/** Lines `key: value → key: value`, or `key: value → value`. */
const edits = (text: string): Row[] =>
	text
		.split("\n")
		.slice(1, -1)
		.map((line) => {
			const [from = "", to = ""] = line.split(" → ");
			const key = from.slice(0, from.indexOf(": ") + 2);
			return {
				change: `\`${from}\` → \`${to}\``,
				config: [[from, to.startsWith(key) ? to : `${key}${to}`]],
			};
		});

const fileKey = (text: string, change = `\`${text}\``): Row => ({
	change,
	config: [["probes: off", `${text}\nprobes: off`]],
});
const engineKey = (text: string, change = `\`${text}\``): Row => ({
	change,
	config: [["{ precision: fp16 }", `{ precision: fp16, ${text} }`]],
});
const accepted = (recipe: string) =>
	`accept: [{ engine: classifier/fp16, figure: latency, at-most: 50%, recipe: ${recipe}, reason: fast enough }]`;

const allRows: readonly Row[] = [
	{ change: "nothing else" },
	...edits(`
latency: { warn: 2%, fail: 3% } → latency: { fail: 90% }
latency: { warn: 2%, fail: 3% } → latency: { warn: off, fail: off }
p99: { warn: 10%, fail: 20% } → p99: { fail: off }
memory: { fail: 5% } → memory: { fail: off }
engine-size: { fail: 300% } → engine-size: { fail: off }
build-time: { warn: 500% } → build-time: { warn: off }
precision-coverage: { warn: 90%, fail: 50% } → precision-coverage: { warn: 50%, fail: 1% }
precision-drop: { warn: 5%, fail: 20% } → precision-drop: { fail: off }
max-latency: 1s → 10m
start-up: { warn: 5% } → start-up: { fail: 50% }
memory-growth: 2MiB → 1GiB
slo: { p99: 1s, rate: 100/s } → slo: { p99: 2s, rate: 50/s }
relative-l2: 0.001 → 10
existing: fail → warn
error-growth: { warn: 2, fail: 10 } → error-growth: { fail: off }
inconclusive: fail → neutral
not-comparable: fail → neutral
work: { warn: 2%, fail: 10% } → work: { fail: off }
payoff: { warn: 5%, fail: 3% } → payoff: { fail: 1% }
  probes: { fail: 2 } → { warn: 5, fail: off }
interface: fail → off
golden-change: fail → off
limit-change: fail → off
sparsity: fail → off
coverage: fail → off
vanished: fail → off
`),
	row("all of `gates` removed", base.slice(base.indexOf("gates:")), ""),
	engineKey("gates: { latency: { fail: 90% } }", "`gates` of one engine"),
	row("`gates` of one workload", "[{ batch: 8 }]", "[{ batch: 8, gates: { latency: { fail: 90% } } }]"),
	...edits(`
pairs: [5, 8] → pairs: [5]
warm-up: 1s → 1ms
 duration: 1s → 1ms
 timeout: 5m → 1m
build-timeout: 10m → 1h
threads: 1 → 2
rebuilds: 1 → 3
unchanged-models: verify → skip
identical-engines: skip → measure
cuda-graph: true → false
transfers: false → true
spin-wait: true → false
start-up: nightly → off
memory-growth: nightly → always
memory-growth: nightly → off
tensorrt: "10.6" → tensorrt: "8.6"
strict: false → true
baseline: { from: base-ref } → baseline: { from: pinned, ref: HEAD }
baseline: { from: base-ref } → baseline: { from: tag }
baseline: { from: base-ref } → baseline: { from: pin }
command: [python3, compare.py] → command: ["true"]
labels: [self-hosted, h200] → labels: [ubuntu-latest]
`),
	row("`runners` removed", "runners: [{ name: h200, labels: [self-hosted, h200] }]\n", ""),
	fileKey("history: { folder: kept, when: nightly }", "`history` added"),
	...edits(`
golden-notice: { fp32: 0.9 } → { fp32: 0.1 }
backend: tensorrt → onnxruntime
`),
	fileKey("onnxruntime: native"),
	fileKey("device: 1"),
	fileKey("base: { trtexec: /opt/tensorrt/bin/trtexec }", "`base: { trtexec: … }`"),
	fileKey("profile: { nsys: never }"),
	fileKey("explain: { bisect: off }"),
	fileKey("cache: { engines: false }"),
	...edits(`
precision: fp16 → precision: int8
`),
	engineKey("optimization-level: 0"),
	engineKey("workspace: 1MiB"),
	engineKey("flags: [--stripWeights]"),
	engineKey("dla: { core: 0 }"),
	...edits(`
max: 8 } → max: 16 }
`),
	{
		change: "`dims` max 8 → 4, workload too",
		config: [
			["opt: 8, max: 8", "opt: 4, max: 4"],
			["batch: 8 }]", "batch: 4 }]"],
		],
	},
	row(
		"`inputs: { images: { fill: zeros } }`",
		"    dims:",
		"    inputs: { images: { fill: zeros } }\n    dims:",
	),
	row("`prepare: cp old.onnx …`", "    dims:", '    prepare: "true"\n    dims:'),
	row(
		"`build: { command: cp old.plan … }`",
		"{ fp16: { precision: fp16 } }",
		'{ fp16: { precision: fp16, build: { command: "true", plan: old.plan } } }',
	),
	{
		change: "`onnx` names another file",
		config: [["onnx: models/classifier.onnx", "onnx: models/other.onnx"]],
		files: (at) => cpSync(at("models/classifier.onnx"), at("models/other.onnx")),
	},
	...edits(`
workloads: [{ batch: 8 }] → workloads: [{ batch: 1 }]
workloads: [{ batch: 8 }] → workloads: []
`),
	row("`golden` removed", "    golden: golden/segmenter/golden.json\n", ""),
	row("model removed", base.slice(base.indexOf("  classifier:"), base.indexOf("probes: off")), ""),
	row("engine renamed, same network", "engines: { fp32: { precision", "engines: { plain: { precision"),
	row("model renamed, same network", "  segmenter:\n    onnx", "  masks:\n    onnx"),
	{
		change: "model file renamed",
		config: [["models/segmenter.onnx", "models/masks.onnx"]],
		files: (at) => cpSync(at("models/segmenter.onnx"), at("models/masks.onnx")),
	},
	row("engine renamed, another network", "{ fp16: { precision", "{ half: { precision"),
	{
		change: "engine and model file renamed, another network",
		config: [
			["{ fp16: { precision", "{ half: { precision"],
			["onnx: models/classifier.onnx", "onnx: models/other.onnx"],
		],
		files: (at) => cpSync(at("models/classifier.onnx"), at("models/other.onnx")),
	},
	fileKey(accepted("0123456789abcdef"), "`accept` without the engine's hash"),
	fileKey(accepted("RECIPE"), "`accept` of more than the change needs, hash right"),
	filed("`golden.json`: looser limits", (at) => editGolden(at(manifest), loosen)),
	filed("`golden.json`: comparators removed", (at) =>
		editGolden(at(manifest), (golden) => ({ ...golden, outputs: {} })),
	),
	filed("`golden.json`: the only case renamed", (at) => editGolden(at(manifest), renameCases)),
	filed("`golden.json`: not JSON", (at) => writeFileSync(at(manifest), "{")),
	filed("golden tensors overwritten", (at) => overwriteTensors(at("golden/segmenter"))),
	filed("golden folder removed", (at) => rmSync(at("golden"), { recursive: true })),
	filed("ONNX file removed", (at) => rmSync(at("models/classifier.onnx"))),
	filed("ONNX file replaced by a link out of the checkout", (at) => linkOut(at("models/classifier.onnx"))),
	filed("ONNX file truncated", (at) => truncateSync(at("models/classifier.onnx"), 100)),
	filed("`trtgate.yml` that cannot be read", (at) =>
		writeFileSync(at("trtgate.yml"), "version: 1\nmodels: 7\n"),
	),
	filed("`trtgate.yml` removed", (at) => rmSync(at("trtgate.yml"))),
];

const manifest = "golden/segmenter/golden.json";

function editGolden(path: string, change: (golden: GoldenManifest) => object): void {
	writeFileSync(path, JSON.stringify(change(JSON.parse(readFileSync(path, "utf8")))));
}

function loosen(golden: GoldenManifest): object {
	const outputs = Object.entries(golden.outputs).map(([name, output]) => {
		const comparators = output.comparators ?? [{ kind: "relative-l2" }];
		return [
			name,
			{ ...output, comparators: comparators.map((comparator) => ({ ...comparator, tolerance: 1e9 })) },
		];
	});
	return { ...golden, outputs: Object.fromEntries(outputs) };
}

function renameCases(golden: GoldenManifest): object {
	return { ...golden, cases: golden.cases.map((one) => ({ ...one, id: `${one.id}-renamed` })) };
}

function overwriteTensors(root: string): void {
	for (const name of readdirSync(root, { recursive: true, encoding: "utf8" }))
		if (name.endsWith(".gz")) writeFileSync(join(root, name), "x");
}

function linkOut(path: string): void {
	rmSync(path);
	symlinkSync(resolve("package.json"), path);
}

const examples = resolve("examples/recorded");

/** The recording answers by the names that it was made with. */
async function recordingUnderAnyName() {
	const recording = await openRecording(examples);
	const names = new Map([
		["segmenter/plain", "segmenter/fp32"],
		["masks/fp32", "segmenter/fp32"],
		["classifier/half", "classifier/fp16"],
	]);
	return { ...recording, engine: (id) => recording.engine(names.get(id) ?? id) } satisfies typeof recording;
}

async function unpack() {
	const sides = temporaryFolder();
	for (const arm of ["base", "head"]) await unpackFolder(join(examples, arm), join(sides, arm));
	cpSync(join(sides, "head/golden"), join(sides, "base/golden"), { recursive: true });
	return { sides, recording: await recordingUnderAnyName() };
}

async function judge({ config = [], files }: Row, { sides, recording }: Awaited<ReturnType<typeof unpack>>) {
	const folder = temporaryFolder();
	cpSync(sides, folder, { recursive: true });
	const head = config.reduce((text, [from, to]) => {
		expect(text, from).toContain(from);
		return text.replace(from, to);
	}, base);
	writeProject(folder, { "base/trtgate.yml": base, "head/trtgate.yml": head });
	files?.((name) => join(folder, "head", name));
	const clock = systemClock();
	const { backend, telemetry } = replay(recording, clock);
	const gpuLease = { take: async () => ({ release: async () => {} }) };
	mkdirSync(join(folder, "out"));
	const done = await gate({
		...{ cwd: folder, base: "base", head: "head", out: "out", inputs: {} },
		environment: { toolCache: join(folder, "cache") } as never,
		progress: silentProgress(),
		isFresh: true,
		ports: { backend, telemetry, clock, gpuLease: gpuLease as never },
	}).catch((error: unknown) => error as Error);
	if (done instanceof Error) {
		const all: Error[] = done instanceof AggregateError ? done.errors : [done];
		const errors = all.map(({ message }) => message);
		return { outcome: "refused", gates: [] as GateResult[], recipes: [] as string[], recipe: "", errors };
	}
	if (done.state !== "ran") throw new Error("planned");
	const { result } = done;
	return {
		outcome: result.outcome,
		gates: result.gates.map((one) => ({ ...one, message: one.message.replaceAll(folder, "…") })),
		recipes: (result.recipeChanges ?? []).flatMap(({ rows, was }) => [
			...(was === undefined ? [] : [`was ${was}`]),
			...rows.map(({ what, base: old, head: now }) => `${what} ${old} → ${now}`),
		]),
		errors: result.errors.map(({ message }) => message),
		recipe:
			result.builds.find(({ arm, model }) => arm === "head" && model === "classifier")?.recipeHash ?? "",
	};
}

function gatesText(gates: readonly GateResult[]) {
	const failing = gates.filter(({ gate, status }) => status !== "pass" && gate !== "limit-change");
	const names = failing.map(({ gate, status }) => (status === "fail" ? gate : `${gate} (${status})`));
	const rules = gates.filter(({ gate }) => gate === "limit-change");
	const [first, ...more] = rules.map(
		({ status, message }) => `${message.split(". It ")[0]} (${status === "pass" ? "listed" : status})`,
	);
	const shown =
		first === undefined
			? []
			: [`limit-change: ${first}${more.length === 0 ? "" : ` and ${more.length} more`}`];
	return [...new Set(names), ...shown].join("; ");
}

const cell = (text: string) => text.replaceAll("|", "\\|").replaceAll("\n", " ");

const docs = resolve("bench/changes.md");
const marks = ["<!-- begin: what a change can do -->\n", "<!-- end: what a change can do -->"] as const;

it("a slower and wrong head fails whatever else it changes, as bench/changes.md says", async () => {
	const unpacked = await unpack();
	const { recipe, outcome: unchanged } = await judge({ change: "" }, unpacked);
	// A base that cannot be read would be refused in every row.
	expect(unchanged).toBe("fail");
	const lines: string[] = [];
	for (const { config = [], ...row } of allRows) {
		const given = config.map(([from, to]) => [from, to.replace("RECIPE", recipe)] as const);
		const { outcome, gates, recipes, errors } = await judge({ ...row, config: given }, unpacked);
		expect(["fail", "refused"], row.change).toContain(outcome);
		const says = outcome === "refused" ? (errors[0] ?? "") : gatesText(gates);
		lines.push(`| ${[row.change, outcome, says, recipes.join("; ") || "–"].map(cell).join(" | ")} |\n`);
	}
	expect(lines.length).toBeGreaterThan(60);
	const head =
		"| the change also has | outcome | gates that do not pass, and rules that are listed | built differently |\n|---|---|---|---|\n";
	const [before, rest = ""] = readFileSync(docs, "utf8").split(marks[0]);
	const [shown, after = ""] = rest.split(marks[1]);
	const table = `${head}${lines.join("")}`;
	if (process.env["UPDATE_DOCS"] === "1")
		writeFileSync(docs, `${before}${marks[0]}${table}${marks[1]}${after}`);
	else expect(shown).toBe(table);
}, 600_000);
