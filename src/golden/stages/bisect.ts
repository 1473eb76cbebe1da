// If an output does not match its golden, finds the first inner tensor that diverges, by marking some as outputs.
import type { Bisection, GoldenVerdict } from "../../../generated/result.ts";
import { folderName } from "../../core/config/values.ts";
import { ConfigError, ToolError } from "../../core/errors.ts";
import { counted } from "../../core/text/labels.ts";
import type { Backend, BuiltEngine, InferCase, InferResult } from "../../ports/backend.ts";
import type { Ports } from "../../ports/ports.ts";
import type { Clock, ModelOnDisk } from "../../ports/world.ts";
import {
	type BisectGraph,
	beginSearch,
	bisectGraph,
	describeAgreement,
	describeFound,
	describeHealed,
	describeUnfinished,
	deviates,
	type Finding,
	nextTensors,
	type Search,
	settle,
	type TensorErrors,
} from "../core/bisect/search.ts";
import { distanceBetween } from "../core/probes/distance.ts";
import type { Tensors } from "../core/tensor/tensor.ts";
import { type GoldenSet, readTensors } from "./load-goldens.ts";

interface BisectInput {
	engines: readonly BuiltEngine[];
	goldens: ReadonlyMap<string, GoldenSet>;
	verdicts: readonly GoldenVerdict[];
	outFolder: string;
	threads: number;
	timeoutMs: number;
	buildTimeoutMs: number;
	budgetMs: number;
}

type BisectPorts = Required<Pick<Ports, "reference" | "files" | "tensors" | "progress" | "interrupt">> & {
	backend: Pick<Backend, "build" | "infer">;
	clock: Pick<Clock, "now">;
};

/** Marked tensors take memory and may break a fusion, but fewer at once need more builds. */
const mostMarked = 8;
const mostRounds = 16;

export async function* bisect(input: BisectInput, ports: BisectPorts): AsyncGenerator<Bisection> {
	const wrong = input.engines.flatMap((head) => wrongOutput(head, input));
	if (wrong.length === 0) return;
	ports.progress.stage("bisect", wrong.length);
	const endMs = ports.clock.now() + input.budgetMs;
	for (const one of wrong) {
		const { model, engine, id } = one.head.spec;
		ports.progress.item(id);
		const tally = { rounds: 0, compared: 0 };
		const finding = await search({ ...one, input, ports, endMs, tally }).catch((error: unknown) => {
			if (!(error instanceof ToolError) && !(error instanceof ConfigError)) throw error;
			return impossible(error.message);
		});
		const place = { model: model.name, engine: engine.name, case: one.caseId, output: one.output };
		yield { ...place, ...tally, ...finding };
	}
	ports.progress.done("searched");
}

interface WrongOutput {
	head: BuiltEngine;
	base: BuiltEngine | null;
	set: GoldenSet;
	caseId: string;
	output: string;
}

/** The first failing output that the base does not get wrong too. */
function wrongOutput(head: BuiltEngine, { engines, goldens, verdicts }: BisectInput) {
	const { spec, arm, record, model } = head;
	const set = goldens.get(spec.id);
	if (arm !== "head" || set === undefined) return [];
	const outputs = new Set(model.onnx.graph.outputs.map(({ name }) => name));
	const first = verdicts
		.filter(
			(one) => one.model === spec.model.name && one.engine === spec.engine.name && one.scope === undefined,
		)
		.flatMap(({ case: caseId, checks }) => checks.map((check) => ({ caseId, ...check })))
		.find(({ pass, existing, output }) => !pass && existing !== true && outputs.has(output));
	if (first === undefined) return [];
	const isBase = (other: BuiltEngine) => other.arm === "base" && other.spec.id === spec.id;
	const base = record.sharedWithBase === true ? null : (engines.find(isBase) ?? null);
	return [{ head, base, set, caseId: first.caseId, output: first.output }];
}

interface Work extends WrongOutput {
	input: BisectInput;
	ports: BisectPorts;
	endMs: number;
	tally: { rounds: number; compared: number };
}

function impossible(why: string): Finding {
	return { state: "impossible", message: `The search ended without a node: ${why}` };
}

interface Round extends Work {
	graph: BisectGraph;
	reference: ModelOnDisk;
	cases: readonly InferCase[];
}

async function search(work: Work) {
	const { head, base, set, caseId, output } = work;
	if ((head.spec.engine.build ?? base?.spec.engine.build) !== undefined)
		return impossible("a plan of `build` cannot be built again with other outputs.");
	if (set.manifest.sequence !== undefined) return impossible("it does not follow a sequence of steps.");
	const reference = base !== null && base.model.sha256 !== head.model.sha256 ? base.model : head.model;
	const golden = set.manifest.cases.find(({ id }) => id === caseId);
	const cases = [{ id: caseId, inputs: await readTensors(golden?.inputs ?? {}, set.folder, work.ports) }];
	const round: Round = { ...work, graph: bisectGraph(head.model.onnx, reference.onnx), reference, cases };
	const first = await compareTensors(round, []);
	if (typeof first === "string") return impossible(first);
	const errors = first.get(output);
	const { gates, precision } = head.spec.engine;
	const begun = errors === undefined ? null : beginSearch(output, errors, gates.relativeL2[precision]);
	return begun === null ? describeAgreement(output, reference === head.model) : narrow(round, begun);
}

async function narrow(round: Round, begun: Search) {
	const { graph, reference, head, output, ports, endMs, tally } = round;
	let current = begun;
	for (;;) {
		const next = nextTensors(graph, current, mostMarked);
		if (next.length === 0) break;
		const left = { search: current, graph };
		if (ports.clock.now() > endMs || tally.rounds >= mostRounds || ports.interrupt.reason() !== null)
			return describeUnfinished(left, "The search ran out of time (`explain.budget`).");
		const found = await compareTensors(round, next);
		if (typeof found === "string")
			return describeUnfinished(left, `The search ended: ${found.replace(/\.$/, "")}.`);
		const again = found.get(output);
		if (again !== undefined && !deviates(again, current.allowed)) return describeHealed(left, next);
		current = settle(graph, current, found);
	}
	return describeFound({ search: current, graph, head: head.model.onnx, reference: reference.onnx });
}

async function compareTensors(round: Round, marked: readonly string[]) {
	const { base, head, output, tally } = round;
	if (marked.length > 0) tally.rounds += 1;
	tally.compared += marked.length;
	const expected = await referenceOutputs(round, marked);
	if (typeof expected === "string") return expected;
	const got = await engineOutputs(round, head, marked);
	if (typeof got === "string") return got;
	const before = base === null ? "none" : await engineOutputs(round, base, marked);
	const errors = new Map<string, TensorErrors>();
	for (const name of [...marked, output]) {
		const ofHead = distance(expected, got, name);
		const ofBase = typeof before === "string" ? null : distance(expected, before, name);
		if (ofHead !== null) errors.set(name, { head: ofHead, base: ofBase });
	}
	return errors;
}

function distance(expected: Tensors, got: Tensors, name: string) {
	const [right, own] = [expected[name], got[name]];
	return right === undefined || own === undefined ? null : distanceBetween(right, own, null);
}

async function referenceOutputs(round: Round, marked: readonly string[]) {
	const { cases, ports, input } = round;
	const [build] = await ports.reference.builds();
	const scratchFolder = folderOf(round, "reference");
	const result = await ports.reference.run({
		model: await markModel(round, round.reference, marked, scratchFolder),
		cases,
		variant: { flavour: build?.flavour ?? "wasm", level: "basic", threads: 1 },
		scratchFolder,
		logPath: logOf(round, "reference"),
		timeoutMs: input.timeoutMs,
	});
	return outputsOf(result);
}

async function engineOutputs(round: Round, engine: BuiltEngine, marked: readonly string[]) {
	const { cases, ports, tally } = round;
	const { threads, timeoutMs } = round.input;
	ports.progress.detail(`round ${tally.rounds}, ${engine.arm}`);
	const built = marked.length === 0 ? engine : await buildMarked(round, engine, marked);
	if (typeof built === "string") return built;
	const scratchFolder = folderOf(round, `${engine.arm}-run`);
	const logPath = logOf(round, engine.arm);
	const job = { engine: built, cases, scratchFolder, logPath, threads, timeoutMs };
	return outputsOf(await ports.backend.infer(job));
}

async function buildMarked(round: Round, engine: BuiltEngine, marked: readonly string[]) {
	const { input, ports, endMs } = round;
	const { spec, arm, assets } = engine;
	const folder = folderOf(round, arm);
	const model = await markModel(round, engine.model, marked, folder);
	const record = await ports.backend.build({
		spec,
		arm,
		model,
		assets,
		engineFolder: `${folder}/engine`,
		cacheFolder: `${input.outFolder}/cache`,
		logPath: logOf(round, `build-${arm}`),
		timeoutMs: Math.max(1000, Math.min(input.buildTimeoutMs, endMs - ports.clock.now())),
	});
	if (record.state === "built" && record.enginePath !== undefined)
		return { ...engine, model, record, path: record.enginePath };
	return `the ${arm}'s engine with ${counted(marked.length, "tensor")} marked as outputs was not built: ${record.failure?.title ?? record.state}`;
}

async function markModel(
	{ graph, ports }: Round,
	model: ModelOnDisk,
	marked: readonly string[],
	folder: string,
) {
	if (marked.length === 0) return model;
	const outputs = marked.map((name) => ({ name, dtype: graph.comparable.get(name) ?? ("float" as const) }));
	return ports.reference.mark({ model, outputs, folder: `${folder}/model` });
}

function outputsOf(result: InferResult) {
	if (result.state === "failed") return result.failure.message;
	const [first] = result.cases;
	return first?.state === "done" ? first.outputs : (first?.message ?? "nothing came back");
}

const folderOf = ({ input, head, tally }: Work, what: string) =>
	`${input.outFolder}/scratch/bisect-${folderName(head.spec.id)}/${tally.rounds}-${what}`;
const logOf = ({ input, head, tally }: Work, what: string) =>
	`${input.outFolder}/logs/bisect-${folderName(head.spec.id)}-${tally.rounds}-${what}.log`;
