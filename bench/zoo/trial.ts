// One model of the zoo through the product, step by step, as a user would go: each step is a command of dist/cli.js.
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { isMap, parseDocument } from "yaml";
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
	steps: Record<string, Step>;
	/** Right answers that the golden refuses. */
	falseAlarms?: string[];
	defects?: Record<"fp32" | "fp16", Count>;
	rounding?: Record<"fp32" | "fp16", Record<string, number>>;
	/** What the golden says of itself. */
	says?: string[];
	/** The defect of the head that `run` judged. */
	head?: string | null;
	config?: string;
}

export interface Setting extends Fetching {
	/** Folder of the product, as a build makes it. */
	dist: string;
	work: string;
	product: string;
	/** Further arguments of `golden record`. */
	recordOptions: readonly string[];
}

type Product = (folder: string, ...args: string[]) => Step & { output: string };

function productOf({ dist }: Setting): Product {
	return (folder, ...args) => runProduct(join(dist, "cli.js"), folder, args);
}

function runProduct(cli: string, folder: string, args: readonly string[]): Step & { output: string } {
	const started = performance.now();
	const { status, stdout, stderr } = spawnSync(process.execPath, [cli, ...args], { cwd: folder, encoding: "utf8", maxBuffer: 2 ** 28 });
	const seconds = Math.round(performance.now() - started) / 1000;
	const lines = `${stderr}\n${stdout}`.split("\n").filter((line) => line.trim() !== "");
	return { exit: status, seconds, ...(status === 0 ? {} : { said: lines.slice(-6).join("\n") }), output: stdout };
}

function noted({ output: _, ...step }: Step & { output: string }): Step {
	return step;
}

/** The zoo is about outputs: it times little. */
const shortMeasuring = "\nmeasure: { pairs: [5], warm-up: 100ms, duration: 200ms }\n";

/** The config with the golden of its only model. */
function withGolden(config: string): { name: string; text: string } {
	const document = parseDocument(config);
	const models = document.get("models");
	const name = isMap(models) ? String(models.items[0]?.key) : "";
	document.setIn(["models", name, "golden"], "golden/golden.json");
	return { name, text: document.toString({ lineWidth: 0 }) };
}

function prepare(model: ZooModel, setting: Setting): { folder: string; file: string; inputs: string; source: string } {
	const fetched = fetchModel(model, setting);
	const work = join(setting.work, model.name);
	rmSync(work, { recursive: true, force: true });
	const folder = join(work, "base");
	mkdirSync(folder, { recursive: true });
	const inputs = resolve(work, "inputs");
	runTool(setting.python, [join(import.meta.dirname, "inputs.py"), model.recipe, fetched.folder, inputs]);
	const file = `${model.name}.onnx`;
	copyFileSync(fetched.path, join(folder, file));
	return { folder, file, inputs, source: fetched.path };
}

function tryVariants(
	model: ZooModel,
	work: string,
	setting: Setting,
): { head: string | null; rounding: ZooResult["rounding"]; variants: Variant[] } {
	const out = join(work, "trial");
	runTool(setting.python, [
		join(import.meta.dirname, "trial.py"),
		join(work, "base", `${model.name}.onnx`),
		join(work, "inputs"),
		out,
		...(model.classes ?? []),
	]);
	return JSON.parse(readFileSync(join(out, "trial.json"), "utf8"));
}

function judge(
	work: string,
	trtgate: Product,
	variants: readonly Variant[],
): Pick<ZooResult, "falseAlarms" | "defects"> & { slowest: number } {
	let slowest = 0;
	const passes = (variant: Variant): boolean => {
		const outputs = resolve(work, "trial", variant.folder);
		const step = trtgate(
			join(work, "base"),
			"golden",
			"check",
			"golden/golden.json",
			"--outputs",
			outputs,
			"--precision",
			variant.precision,
		);
		slowest = Math.max(slowest, step.seconds);
		if (step.exit !== 0 && step.exit !== 1) throw new Error(`golden check: exit ${step.exit}\n${step.said}`);
		return step.exit === 0;
	};
	const counted = (precision: "fp32" | "fp16"): Count => {
		const all = variants.filter((each) => each.kind === "defect" && each.precision === precision && (each.timesRounding ?? 0) > 3);
		const missed = all.filter(passes).map(({ name, timesRounding }) => `${name} (${timesRounding?.toPrecision(2)} × the rounding)`);
		return { counting: all.length, noticed: all.length - missed.length, missed };
	};
	const falseAlarms = variants.filter((each) => each.kind === "right" && !passes(each)).map(({ name }) => name);
	return { falseAlarms, defects: { fp32: counted("fp32"), fp16: counted("fp16") }, slowest };
}

/** `run` of the base against itself, and against a head with a defect. */
function runGate(work: string, trtgate: Product, file: string): Record<string, Step> {
	const base = join(work, "base");
	const run = (head: string): Step =>
		noted(trtgate(base, "run", "--backend", "onnxruntime", "--base", base, "--head", head, "--out", join(work, "out")));
	const steps: Record<string, Step> = { "run, same": run(base) };
	const defective = join(work, "trial", "defective.onnx");
	if (!existsSync(defective)) return steps;
	const head = join(work, "head");
	runTool("cp", ["-r", base, head]);
	copyFileSync(defective, join(head, file));
	return { ...steps, "run, defective": run(head) };
}

export function tryModel(model: ZooModel, setting: Setting): ZooResult {
	const trtgate = productOf(setting);
	const { folder, file, inputs } = prepare(model, setting);
	const work = join(setting.work, model.name);
	const steps: Record<string, Step> = {};
	const result: ZooResult = { model: model.name, product: setting.product, steps };
	steps["preflight"] = noted(trtgate(folder, "preflight", file));
	steps["init"] = noted(trtgate(folder, "init", file));
	if (steps["init"].exit !== 0) return result;
	const path = join(folder, "trtgate.yml");
	const { name, text } = withGolden(readFileSync(path, "utf8"));
	result.config = text;
	writeFileSync(path, text + shortMeasuring);
	const record = trtgate(folder, "golden", "record", "--model", name, "--inputs", inputs, ...setting.recordOptions);
	steps["record"] = noted(record);
	result.says = record.output.split("\n").filter((line) => line.startsWith("  "));
	if (record.exit !== 0 || !existsSync(join(folder, "golden", "golden.json"))) return result;
	const { head, rounding, variants } = tryVariants(model, work, setting);
	const { slowest, ...judged } = judge(work, trtgate, variants);
	steps["check"] = { exit: 0, seconds: slowest };
	Object.assign(result, { head, rounding, ...judged }, { steps: { ...steps, ...runGate(work, trtgate, file) } });
	return result;
}

/** Names the product by what is in its folder. */
export function productDigest(dist: string): string {
	const files = runTool("find", [dist, "-name", "*.js", "-type", "f"]).trim().split("\n").sort();
	return runTool("sh", ["-c", 'cat "$@" | sha256sum', "sh", ...files]).slice(0, 12);
}
