// One model of the zoo through the product, step by step, as a user would go: each step is a command of dist/cli.js.
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, cpus } from "node:os";
import { dirname, join, resolve } from "node:path";
import { type Document, isMap, isSeq, parseDocument } from "yaml";
import { type Fetching, fetchModel, runTool, type ZooModel } from "./fetch.ts";

export interface Step {
	exit: number | null;
	seconds: number;
	/** The last lines, where it did not succeed. */
	said?: string;
}

interface Variant {
	name: string;
	kind: "right" | "defect";
	precision: "fp32" | "fp16";
	folder: string;
	moved: Record<string, number>;
	timesRounding?: number;
}

interface Count {
	counting: number;
	noticed: number;
	/** Names of those that passed. */
	missed: string[];
}

export interface ZooResult {
	model: string;
	product: string;
	/** The CPU, and how many cores of it the model had. */
	machine?: string;
	steps: Record<string, Step>;
	/** Right answers that the golden refuses. */
	falseAlarms?: string[];
	defects?: Record<"fp32" | "fp16", Count>;
	rounding?: Record<"fp32" | "fp16", Record<string, number>>;
	/** What the recording said. */
	says?: string[];
	/** What the golden says of itself: of the defects that its own trial found to count, how many it notices. */
	own?: Partial<Record<"fp32" | "fp16", { counting: number; noticed: number }>>;
	/** Precisions at which it says that it says little. */
	saysLittleAt?: string[];
	/** The defect of the head that `run` judged. */
	head?: string | null;
	config?: string;
}

export interface Setting extends Fetching {
	/** Folder of the product, as a build makes it. */
	dist: string;
	work: string;
	product: string;
	/** Whether `run` is tried too. */
	runsGate: boolean;
	/** Further arguments of `golden record`. */
	recordOptions: readonly string[];
}

type Product = (folder: string, ...args: string[]) => Step & { output: string };

function productOf({ dist }: Setting): Product {
	return (folder, ...args) => runProduct(join(dist, "cli.js"), folder, args);
}

function runProduct(cli: string, folder: string, args: readonly string[]): Step & { output: string } {
	const started = performance.now();
	const { status, stdout, stderr } = spawnSync(process.execPath, [cli, ...args], {
		cwd: folder,
		encoding: "utf8",
		maxBuffer: 2 ** 28,
	});
	const seconds = Math.round(performance.now() - started) / 1000;
	const lines = `${stderr}\n${stdout}`.split("\n").filter((line) => line.trim() !== "");
	return {
		exit: status,
		seconds,
		...(status === 0 ? {} : { said: lines.slice(-6).join("\n").replaceAll(folder, ".") }),
		output: stdout,
	};
}

function noted({ output: _, ...step }: Step & { output: string }): Step {
	return step;
}

/** Of a config with one model, whose golden `golden record` has put there. */
function readConfig(path: string): { name: string; golden: string; text: string; short: string } {
	const text = readFileSync(path, "utf8");
	const document = parseDocument(text);
	const models = document.get("models");
	const name = isMap(models) ? String(models.items[0]?.key) : "";
	const golden = String(document.getIn(["models", name, "golden"]) ?? "");
	shorten(document, name);
	return { name, golden, text, short: document.toString({ lineWidth: 0 }) };
}

/** The zoo is about outputs: it times one workload, and that little. */
function shorten(document: Document, name: string): void {
	const workloads = document.getIn(["models", name, "workloads"]);
	if (isSeq(workloads)) workloads.items.splice(1);
	document.set("measure", { pairs: [5], "warm-up": "50ms", duration: "100ms" });
}

/** Python writes numbers that JSON does not have. */
function readTrial(path: string): Prepared["trial"] {
	return JSON.parse(readFileSync(path, "utf8").replaceAll(/\b(?:Infinity|NaN)\b/g, "1e300"));
}

interface Prepared {
	/** Path of the model's file. */
	model: string;
	inputs: string;
	/** Folder of the answers of native ONNX Runtime. */
	answers: string;
	trial: { head: string | null; rounding: NonNullable<ZooResult["rounding"]>; variants: Variant[] };
}

/** Inputs and native answers: they depend on the model and on these scripts alone, and are kept. */
export function prepareModel(model: ZooModel, { python, cache, ...fetching }: Fetching): Prepared {
	const fetched = fetchModel(model, { python, cache, ...fetching });
	const scripts = ["inputs.py", "trial.py"].map((name) => join(import.meta.dirname, name));
	const state = [
		model.sha256,
		model.recipe,
		...(model.classes ?? []),
		...scripts.map((path) => readFileSync(path, "utf8")),
	].join("\n");
	const folder = join(cache, "answers", model.name);
	const [inputs, answers, stamp] = ["inputs", "trial", "made-from"].map((name) => resolve(folder, name)) as [
		string,
		string,
		string,
	];
	if (!existsSync(stamp) || readFileSync(stamp, "utf8") !== state) {
		rmSync(folder, { recursive: true, force: true });
		const [makeInputs = "", makeAnswers = ""] = scripts;
		runTool(python, [makeInputs, model.recipe, fetched.folder, inputs]);
		runTool(python, [makeAnswers, fetched.path, inputs, answers, ...(model.classes ?? [])]);
		writeFileSync(stamp, state);
	}
	return { model: fetched.path, inputs, answers, trial: readTrial(join(answers, "trial.json")) };
}

function judge(
	{ base, golden }: { base: string; golden: string },
	trtgate: Product,
	prepared: Prepared,
): Pick<ZooResult, "falseAlarms" | "defects"> & { slowest: number } {
	let slowest = 0;
	const { variants } = prepared.trial;
	const passes = ({ folder, precision }: Variant): boolean => {
		const outputs = join(prepared.answers, folder);
		const step = trtgate(base, "golden", "check", golden, "--outputs", outputs, "--precision", precision);
		slowest = Math.max(slowest, step.seconds);
		if (step.exit !== 0 && step.exit !== 1) throw new Error(`golden check: exit ${step.exit}\n${step.said}`);
		return step.exit === 0;
	};
	const counted = (precision: "fp32" | "fp16"): Count => {
		const all = variants.filter(
			(each) => each.kind === "defect" && each.precision === precision && (each.timesRounding ?? 0) > 3,
		);
		const missed = all
			.filter(passes)
			.map(({ name, timesRounding }) => `${name} (${timesRounding?.toPrecision(2)} × the rounding)`);
		return { counting: all.length, noticed: all.length - missed.length, missed };
	};
	const falseAlarms = variants
		.filter((each) => each.kind === "right" && !passes(each))
		.map(({ name }) => name);
	return { falseAlarms, defects: { fp32: counted("fp32"), fp16: counted("fp16") }, slowest };
}

/** `run` of the base against itself, and against a head with a defect. */
function runGate(
	base: string,
	trtgate: Product,
	{ answers, file }: { answers: string; file: string },
): Record<string, Step> {
	const work = dirname(base);
	const run = (head: string): Step =>
		noted(
			trtgate(
				base,
				"run",
				"--backend",
				"onnxruntime",
				"--base",
				base,
				"--head",
				head,
				"--out",
				join(work, "out"),
			),
		);
	const steps: Record<string, Step> = { "run, same": run(base) };
	const defective = join(answers, "defective.onnx");
	if (!existsSync(defective)) return steps;
	const head = join(work, "head");
	runTool("cp", ["-r", base, head]);
	copyFileSync(defective, join(head, file));
	return { ...steps, "run, defective": run(head) };
}

interface Sensitivity {
	precisions?: Record<string, { kinds: Record<string, { moving: number; noticed: number }> }>;
}

function ownCount(path: string): NonNullable<ZooResult["own"]> {
	const { sensitivity }: { sensitivity?: Sensitivity } = JSON.parse(readFileSync(path, "utf8"));
	const own: NonNullable<ZooResult["own"]> = {};
	for (const precision of ["fp32", "fp16"] as const) {
		const kinds = Object.values(sensitivity?.precisions?.[precision]?.kinds ?? {});
		const sum = (of: (kind: (typeof kinds)[number]) => number): number =>
			kinds.reduce((total, kind) => total + of(kind), 0);
		if (kinds.length > 0)
			own[precision] = { counting: sum(({ moving }) => moving), noticed: sum(({ noticed }) => noticed) };
	}
	return own;
}

/** A folder that holds the model alone, as a user begins. */
function freshFolder(work: string, model: string, file: string): string {
	rmSync(work, { recursive: true, force: true });
	const folder = join(work, "base");
	mkdirSync(folder, { recursive: true });
	copyFileSync(model, join(folder, file));
	return folder;
}

export function tryModel(model: ZooModel, setting: Setting): ZooResult {
	const trtgate = productOf(setting);
	const prepared = prepareModel(model, setting);
	const file = `${model.name}.onnx`;
	const folder = freshFolder(join(setting.work, model.name), prepared.model, file);
	const steps: Record<string, Step> = {};
	const machine = `${cpus()[0]?.model.trim() || "unknown CPU"}, ${availableParallelism()} cores`;
	const result: ZooResult = { model: model.name, product: setting.product, machine, steps };
	steps["preflight"] = noted(trtgate(folder, "preflight", file));
	steps["init"] = noted(trtgate(folder, "init", file));
	if (steps["init"].exit !== 0) return result;
	const path = join(folder, "trtgate.yml");
	const { name } = readConfig(path);
	const record = trtgate(
		folder,
		"golden",
		"record",
		"--model",
		name,
		"--inputs",
		prepared.inputs,
		...setting.recordOptions,
	);
	steps["record"] = noted(record);
	result.says = record.output.split("\n").filter((line) => line.startsWith("  "));
	result.saysLittleAt = result.says.flatMap((line) =>
		line.includes("says little") ? [...(line.match(/\b(?:fp32|fp16|tf32|bf16)\b/g) ?? [])] : [],
	);
	const { golden, text, short } = readConfig(path);
	result.config = text;
	writeFileSync(path, short);
	if (record.exit !== 0 || !existsSync(join(folder, golden))) return result;
	result.own = ownCount(join(folder, golden));
	const { slowest, ...judged } = judge({ base: folder, golden }, trtgate, prepared);
	steps["check"] = { exit: 0, seconds: slowest };
	const { head, rounding } = prepared.trial;
	const gate = setting.runsGate ? runGate(folder, trtgate, { answers: prepared.answers, file }) : {};
	return Object.assign(result, { head, rounding, ...judged, steps: { ...steps, ...gate } });
}

/** Names the product by what is in its folder. */
export function productDigest(dist: string): string {
	const files = runTool("find", [dist, "-name", "*.js", "-type", "f"]).trim().split("\n").sort();
	return runTool("sh", ["-c", 'cat "$@" | sha256sum', "sh", ...files]).slice(0, 12);
}
