// Public models: the same model in other bytes has to give the same count, and a convolution after each third one has to be found by its node.
import { appendFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Arm } from "../../generated/result.ts";
import { compareWork, type Work } from "../../src/core/compare/work.ts";
import { diffEngines } from "../../src/engine/core/diff.ts";
import { type EngineModel, engineModel } from "../../src/engine/core/model.ts";
import type { Backend } from "../../src/ports/backend.ts";
import { countModel, jobOf, open, runtime, type Subject, scratch, scriptOf, zooModels } from "./setup.ts";

const title = [
	"model",
	"million instructions",
	"other values",
	"same model again",
	"added",
	"run",
	"found",
	"change",
	"seconds",
];

export async function benchZoo(only: readonly string[], out: string): Promise<boolean> {
	const backend = runtime();
	writeFileSync(out, `${title.join("\t")}\n`);
	let isGood = true;
	for (const subject of zooModels(only)) {
		const row = await tryModel(backend, subject);
		appendFileSync(out, `${row.cells.join("\t")}\n`);
		console.log(row.cells.join("\t"));
		isGood &&= row.isGood;
	}
	return isGood;
}

async function tryModel(backend: Backend, subject: Subject): Promise<{ cells: string[]; isGood: boolean }> {
	const folder = join(scratch, subject.name);
	const added = scriptOf<string[]>("perturb", subject.path, folder);
	const at = (file: string): Subject => ({ ...subject, path: join(folder, file) });
	const started = performance.now();
	const [base, head] = await Promise.all([
		countModel(backend, subject),
		countModel(backend, at("changed.onnx")),
	]);
	const models = {
		base: await profiled(backend, subject, "base"),
		head: await profiled(backend, at("changed.onnx"), "head"),
	};
	const seconds = (performance.now() - started) / 1000;
	const again = await countModel(backend, at("again.onnx"));
	rmSync(folder, { recursive: true });
	// Others are in a branch that this input does not take.
	const ran = added.filter((node) => models.head.layers.some(({ name }) => name === node));
	const named = ran.filter((node) => isNamed(models, node));
	const difference = again.instructions / base.instructions - 1;
	const change = compareWork({ base, head }, 1e-5).estimate ?? 0;
	const cells = [
		subject.name,
		(base.instructions / 1e6).toFixed(3),
		spreadOf(base).toExponential(1),
		difference === 0 ? "0" : difference.toExponential(1),
		...[added.length, ran.length, named.length].map(String),
		`${(100 * change).toFixed(2)} %`,
		seconds.toFixed(1),
	];
	return {
		cells,
		isGood: Math.abs(difference) < 1e-5 && named.length === ran.length && (ran.length === 0 || change > 0),
	};
}

function spreadOf({ instructions, otherInput }: Work): number {
	return Math.abs(otherInput / instructions - 1);
}

async function profiled(backend: Backend, subject: Subject, arm: Arm): Promise<EngineModel> {
	const opened = await open(subject, arm);
	const places = { profilePath: join(scratch, `${arm}.profile.json`), layersPath: "", nodesPath: "" };
	const result = await backend.profile?.({ ...jobOf(opened), ...places });
	if (result?.state !== "done" || result.times === undefined)
		throw new Error(`${subject.path} was not profiled`);
	return engineModel({
		info: result.info ?? null,
		profiles: [result.times],
		graph: opened.engine.model.onnx.graph,
	});
}

function isNamed(engines: { base: EngineModel; head: EngineModel }, node: string): boolean {
	const { rows } = diffEngines(engines, { gpu: null, enginesMs: null, unit: "M instructions" });
	return rows.some(
		({ isSignificant, changeMs, members }) =>
			isSignificant && (changeMs ?? 0) > 0 && members.some((name) => name.includes(node)),
	);
}
