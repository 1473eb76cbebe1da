import { spawnSync } from "node:child_process";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { createProcesses } from "../../src/adapters/process/processes.ts";
import { tensorRtWorker } from "../../src/golden/adapters/tensorrt-worker/worker.ts";
import { judgeCase } from "../../src/golden/core/compare/judge.ts";
import type { Tensor } from "../../src/golden/core/tensor/tensor.ts";
import { manifestOf, modelSha256 } from "../support/golden-tensors.ts";
import { temporaryFolder } from "../support/project.ts";
import { lookForReal } from "./real.ts";

const real = await lookForReal();
const shape = [4, 3, 32, 32];
const caseCount = 4_000;

function buildPlan(program: string): string {
	const plan = join(temporaryFolder(), "classifier.plan");
	const profile = shape.join("x");
	const shapes = ["min", "opt", "max"].map((end) => `--${end}Shapes=images:${profile}`);
	const built = spawnSync(
		program,
		[
			`--onnx=${resolve("test/fixtures/models/classifier.onnx")}`,
			`--saveEngine=${plan}`,
			"--skipInference",
			...shapes,
		],
		{
			encoding: "utf8",
		},
	);
	expect(built.status, built.stdout).toBe(0);
	return plan;
}

function inputOf(seed: number): Tensor {
	const values = Float32Array.from({ length: shape.reduce((product, size) => product * size, 1) }, (_, at) =>
		Math.sin(seed + at * 0.37),
	);
	return { dtype: "float32", shape, data: new Uint8Array(values.buffer) };
}

describe.skipIf(!real.python || real.trtexec === null)("the worker on a real GPU", () => {
	it("the worker on a real GPU repeats its first answer to each of two inputs, byte for byte", async () => {
		const enginePath = buildPlan(real.trtexec ?? "");
		const worker = tensorRtWorker({
			python: "python3",
			workerPath: resolve("worker/tensorrt.py"),
			processes: createProcesses(),
		});
		const inputs = [inputOf(1), inputOf(2)] as const;
		const cases = Array.from({ length: caseCount }, (_, at) => ({
			id: String(at),
			inputs: { images: inputs[at % 2 === 0 ? 0 : 1] },
		}));
		const infer = {
			enginePath,
			device: 0,
			plugins: [],
			onnxPath: "",
			isStripped: false,
			timeoutMs: 300_000,
			logPath: join(temporaryFolder(), "worker.log"),
		};
		const alone = await worker.infer({ ...infer, cases: cases.slice(0, 2) });
		const started = performance.now();
		const answered = await worker.infer({ ...infer, cases });
		if (alone.state !== "done" || answered.state !== "done")
			throw new Error(JSON.stringify([alone, answered]));
		const outputs = answered.cases.map((answer) => (answer.state === "done" ? answer.outputs : {}));
		const states = outputs.map((got, at) => {
			const expected = outputs[at % 2] ?? {};
			const place = {
				manifest: manifestOf(expected),
				caseId: "only",
				model: "net",
				engine: "fp32",
				precision: "fp32",
				modelSha256,
			} as const;
			return judgeCase({ ...place, expected, got, relativeL2: { fp32: 0 } }).state;
		});
		const wallMs = performance.now() - started;
		expect(new Set(states)).toEqual(new Set(["match"]));
		const rate = Math.round((1000 * caseCount) / Math.max(1, wallMs - alone.wallMs));
		process.stderr.write(
			`The worker answered and compared ${caseCount} cases in ${Math.round(wallMs)} ms: ${rate} a second, without its start.\n`,
		);
	});
});
