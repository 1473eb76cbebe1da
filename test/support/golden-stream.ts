import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { GoldenCase, GoldenManifest, TensorFile } from "../../generated/golden.ts";
import type { Arm } from "../../generated/result.ts";
import type { GoldenSet } from "../../src/golden/stages/load-goldens.ts";
import type { Backend, BuiltEngine, InferJob, InferResult, InferredCase } from "../../src/ports/backend.ts";
import type { Files, TensorReader } from "../../src/ports/world.ts";
import { fakeEngine, silent } from "./fakes.ts";
import { float32, manifestOf, modelSha256 } from "./golden-tensors.ts";

const shape = [4];

function fileOf(path: string): TensorFile {
	return { path, sha256: "b".repeat(64), dtype: "float32", shape: [...shape] };
}

export function streamedSet(cases: number): GoldenSet {
	const plain = manifestOf({});
	const all = Array.from(
		{ length: cases },
		(_, index): GoldenCase => ({
			id: `case-${index}`,
			inputs: { x: fileOf(`${index}.x.raw`) },
			outputs: { y: fileOf(`${index}.y.raw`) },
		}),
	);
	const [first, ...others] = all;
	return { manifest: { ...plain, cases: [first!, ...others] } satisfies GoldenManifest, folder: "/golden" };
}

function tensorAt(path: string) {
	const index = Number.parseInt(path.slice(path.lastIndexOf("/") + 1), 10);
	return float32([index, index + 0.5, 1, 2], shape);
}

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

export function countingReader(): TensorReader & { reads: string[]; alive(): Promise<number> } {
	const given: WeakRef<object>[] = [];
	const reads: string[] = [];
	return {
		reads,
		async read(path) {
			const tensor = tensorAt(path);
			given.push(new WeakRef(tensor));
			reads.push(path);
			return tensor;
		},
		async alive() {
			let fewest = given.length;
			// A compiler's thread may hold one for a moment; what the stage itself holds is there each time.
			for (let round = 0; round < 3; round += 1) {
				// What was dereferenced lives to the end of its job.
				await new Promise((resolve) => setImmediate(resolve));
				collectGarbage();
				fewest = Math.min(fewest, given.filter((reference) => reference.deref() !== undefined).length);
			}
			return fewest;
		},
	};
}

export const allFiles: Pick<Files, "realPath"> = { realPath: async (path) => path };

export type Answer = (job: InferJob, nth: number) => InferResult | Promise<InferResult>;

function inferBackend(
	answer: Answer,
): Pick<Backend, "infer"> & { jobs: { arm: Arm; ids: string[]; logPath: string }[] } {
	const jobs: { arm: Arm; ids: string[]; logPath: string }[] = [];
	return {
		jobs,
		async infer(job) {
			jobs.push({ arm: job.engine.arm, ids: job.cases.map(({ id }) => id), logPath: job.logPath });
			job.onCase?.(job.cases.length);
			return answer(job, jobs.length - 1);
		},
	};
}

export function echo(job: InferJob): InferResult {
	const cases = job.cases.map(({ id, inputs }): InferredCase => {
		const { dtype, shape: size, data } = inputs["x"]!;
		return { id, state: "done", outputs: { y: { dtype, shape: size, data: data.slice() } } };
	});
	return { state: "done", cases, wallMs: 1 };
}

export function streamedEngine(arm: Arm): BuiltEngine {
	const engine = fakeEngine(arm, arm);
	return { ...engine, model: { ...engine.model, sha256: modelSha256 } };
}

export const crash: InferResult = {
	state: "failed",
	failure: { code: "tool-crashed", message: "it died" },
	wallMs: 1,
};

export function withoutFirst(job: InferJob): InferResult {
	const all = echo(job);
	return all.state === "done" ? { ...all, cases: all.cases.slice(1) } : all;
}

export function streamedRun(answer: Answer, set: GoldenSet, reader = countingReader()) {
	const engines = [streamedEngine("base"), streamedEngine("head")] as const;
	const backend = inferBackend(answer);
	const input = {
		engines: engines as readonly BuiltEngine[],
		goldens: new Map([[engines[0].spec.id, set]]),
		modelSha256: new Map([["net", modelSha256]]),
		...{ outFolder: "/out", threads: 1, timeoutMs: 1000 },
	};
	const ports = {
		backend: backend as never,
		files: allFiles as Files,
		tensors: reader,
		progress: silent,
	};
	return { input, ports, jobs: backend.jobs };
}

export async function collect<Value>(all: AsyncIterable<Value>): Promise<Value[]> {
	const values: Value[] = [];
	for await (const one of all) values.push(one);
	return values;
}
