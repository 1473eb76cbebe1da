// Keeps the outputs of slow cases on disk, so that a run that its time ended goes on where it stopped.
import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fieldsOf } from "../../core/found.ts";
import { type Tensor, tensorBytes } from "../../golden/core/tensor/tensor.ts";
import type { InferCase, InferResult, InferredCase } from "../../ports/backend.ts";
import type { EmulationJob, ReferenceJob } from "../../ports/reference.ts";
import type { FileCache } from "../../ports/world.ts";
import { inNewFolder } from "../process/write-error.ts";
import { parseCaseReply } from "./protocol.ts";
import type { Runtime } from "./runtime.ts";
import { drawsRandomly } from "./worker-process.ts";

export interface KeptCases {
	store: FileCache;
	/** Of trtgate: another may rewrite a graph differently. */
	version: string;
}

/** Faster runs are sooner done again than kept. */
const slowMs = 2_000;

/** The answer holds the cases up to the first that is not done. */
export async function resumeCases(
	job: ReferenceJob,
	runtime: Runtime,
	{ store, version }: KeptCases,
	run: (job: ReferenceJob) => Promise<InferResult>,
): Promise<InferResult> {
	if (drawsRandomly(job.model.onnx)) return run(job);
	const keyOf = caseKeys(job, [version, runtime.flavour, runtime.version, runtime.folder]);
	const done = await recallCases(job.cases, keyOf, store);
	const open = job.cases.filter(({ id }) => !done.has(id));
	const none: InferResult = { state: "done", cases: [], wallMs: 0 };
	const ran = open.length === 0 ? none : await run({ ...job, cases: open });
	if (ran.state === "failed" && (ran.failure.code !== "tool-timeout" || done.size === 0)) return ran;
	const found = ran.state === "done" ? ran.cases : [];
	for (const one of found) done.set(one.id, one);
	if (ran.wallMs >= slowMs) await keepCases(open, found, keyOf, store);
	const missing = job.cases.findIndex(({ id }) => !done.has(id));
	const cases = job.cases.slice(0, missing < 0 ? undefined : missing).flatMap(({ id }) => done.get(id) ?? []);
	return cases.length === 0 ? ran : { state: "done", cases, wallMs: ran.wallMs };
}

type KeyOf = (one: InferCase) => string;

async function recallCases(cases: readonly InferCase[], keyOf: KeyOf, store: FileCache) {
	const kept = new Set(await store.list(""));
	const done = new Map<string, InferredCase>();
	if (kept.size === 0) return done;
	for (const one of cases) {
		const outputs = kept.has(keyOf(one)) ? await recall(keyOf(one), store) : null;
		if (outputs !== null) done.set(one.id, { id: one.id, state: "done", outputs });
	}
	return done;
}

async function keepCases(
	asked: readonly InferCase[],
	found: readonly InferredCase[],
	keyOf: KeyOf,
	store: FileCache,
) {
	for (const one of asked) {
		const answer = found.find(({ id }) => id === one.id);
		if (answer?.state === "done") await keep(keyOf(one), answer.outputs, store);
	}
}

function caseKeys(job: ReferenceJob & Partial<EmulationJob>, runtime: readonly string[]) {
	const { model, variant, precision = null } = job;
	const shared = [...runtime, model.sha256, variant, precision];
	return ({ inputs }: InferCase) => {
		const hash = createHash("sha256").update(JSON.stringify(shared));
		for (const [name, { dtype, shape, data }] of Object.entries(inputs))
			hash.update(JSON.stringify([name, dtype, shape])).update(data);
		return hash.digest("hex");
	};
}

const fileName = "outputs.bin";

async function recall(key: string, store: FileCache) {
	return inNewFolder("trtgate-kept-", async (folder) => {
		const path = join(folder, fileName);
		const { reply } = fieldsOf(await store.fetch(key, { [fileName]: path }));
		const layout = parseCaseReply(JSON.stringify(reply ?? null));
		if (layout?.state !== "done") return null;
		const bytes = await readFile(path);
		const outputs: Record<string, Tensor> = Object.create(null);
		let at = 0;
		for (const { name, dtype, shape } of layout.outputs) {
			const size = tensorBytes({ dtype, shape });
			outputs[name] = { dtype, shape, data: new Uint8Array(bytes.subarray(at, at + size)) };
			at += size;
		}
		return at === bytes.length ? outputs : null;
	});
}

async function keep(key: string, tensors: Readonly<Record<string, Tensor>>, store: FileCache) {
	await inNewFolder("trtgate-kept-", async (folder) => {
		const path = join(folder, fileName);
		await writeFile(path, Buffer.concat(Object.values(tensors).map(({ data }) => data)));
		const outputs = Object.entries(tensors).map(([name, { dtype, shape }]) => {
			return { name, dtype, shape, path: fileName };
		});
		await store.keep(key, { files: { [fileName]: path }, facts: { reply: { state: "done", outputs } } });
	});
}
