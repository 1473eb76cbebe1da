// The golden worker and its client, with a stand-in for TensorRT and CUDA behind them.
import { spawnSync } from "node:child_process";
import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import type { DType } from "../../../generated/golden.ts";
import { createProcesses } from "../../../src/adapters/process/processes.ts";
import { tensorRtWorker, type WorkerJob } from "../../../src/adapters/tensorrt-worker/worker.ts";
import type { Tensor } from "../../../src/core/golden/tensor/tensor.ts";
import { createFrameDecoder } from "../../../src/formats/worker/frames.ts";
import { encodeCase } from "../../../src/formats/worker/messages.ts";
import type { InferCase, InferResult } from "../../../src/ports/backend.ts";
import { temporaryFolder } from "../../support/project.ts";
import {
	type FakePlan,
	fakeEnvironment,
	fakeWorker,
	float32,
	int64,
	missing,
	python,
	workerPath,
	writePlan,
} from "../../support/tensorrt-worker.ts";

const suite = missing === null ? describe : describe.skip;

const negation: FakePlan = {
	inputs: [{ name: "x", dtype: "FLOAT", shape: [-1, 2] }],
	outputs: [{ name: "y", dtype: "FLOAT", shape: [-1, 2], op: "negate", from: "x" }],
	profiles: [
		{
			x: [
				[1, 2],
				[4, 2],
				[8, 2],
			],
		},
	],
};

function numbered(count: number): InferCase[] {
	return Array.from({ length: count }, (_, index) => ({
		id: `case ${index}`,
		inputs: { x: float32([1, 2], [index, 0.5]) },
	}));
}

interface Extra extends Partial<WorkerJob> {
	payloadBytes?: number;
}

function infer(plan: FakePlan, cases: readonly InferCase[], extra: Extra = {}): Promise<InferResult> {
	const folder = temporaryFolder();
	const { payloadBytes, ...job } = extra;
	return fakeWorker(payloadBytes).infer({
		enginePath: writePlan(folder, plan),
		cases,
		device: 0,
		plugins: [],
		timeoutMs: 600_000,
		logPath: join(folder, "worker.log"),
		...job,
	});
}

function outputsOf(result: InferResult): (Readonly<Record<string, Tensor>> | string)[] {
	if (result.state === "failed") throw new Error(`${result.failure.code}: ${result.failure.message}`);
	return result.cases.map((answer) => (answer.state === "done" ? answer.outputs : answer.message));
}

function withHeader(text: string): Uint8Array {
	const head = Buffer.alloc(20);
	head.write("TGWF");
	head[4] = 1;
	head.writeUInt32LE(text.length, 8);
	return Buffer.concat([head, Buffer.from(text)]);
}

function failureOf(result: InferResult): { code: string; message: string } {
	if (result.state !== "failed") throw new Error("the job was done");
	return result.failure;
}

suite(missing === null ? "the golden worker" : `the golden worker (skipped: ${missing})`, () => {
	it("the golden worker answers many cases in their order, several in flight", async () => {
		const counts: number[] = [];
		const result = await infer(negation, numbered(300), { onCase: (done) => counts.push(done) });
		expect(outputsOf(result).map((outputs) => outputs)).toEqual(
			Array.from({ length: 300 }, (_, index) => ({ y: float32([1, 2], [-index, -0.5]) })),
		);
		expect(counts).toEqual(Array.from({ length: 300 }, (_, index) => index + 1));
	});

	it.each<[DType, string, number]>([
		["float32", "FLOAT", 4],
		["float16", "HALF", 2],
		["bfloat16", "BF16", 2],
		["int64", "INT64", 8],
		["int32", "INT32", 4],
		["int8", "INT8", 1],
		["uint8", "UINT8", 1],
		["bool", "BOOL", 1],
	])("the golden worker carries every byte of %s", async (dtype, member, size) => {
		const plan: FakePlan = {
			inputs: [{ name: "x", dtype: member, shape: [32] }],
			outputs: [{ name: "y", dtype: member, shape: [32], op: "same", from: "x" }],
		};
		const data = Uint8Array.from({ length: 32 * size }, (_, index) => (index * 37 + 200) % 256);
		expect(outputsOf(await infer(plan, [{ id: "a", inputs: { x: { dtype, shape: [32], data } } }]))).toEqual([
			{ y: { dtype, shape: [32], data } },
		]);
	});

	it("the golden worker says of an output that no golden can hold which type it has", async () => {
		const plan: FakePlan = {
			inputs: [{ name: "x", dtype: "INT8", shape: [3] }],
			outputs: [{ name: "scales", dtype: "E8M0", shape: [3], op: "same", from: "x" }],
		};
		const x: Tensor = { dtype: "int8", shape: [3], data: new Uint8Array(3) };
		expect(outputsOf(await infer(plan, [{ id: "a", inputs: { x } }]))).toEqual([
			"output scales has type float8_e8m0, which goldens do not support",
		]);
	});

	it("the golden worker narrows int64 to the int32 that an engine of TensorRT 8 takes, where the values fit", async () => {
		const plan: FakePlan = {
			inputs: [{ name: "x", dtype: "INT32", shape: [2] }],
			outputs: [{ name: "y", dtype: "INT32", shape: [2], op: "same", from: "x" }],
		};
		const cases = [int64([2], [-1, 2_147_483_647]), int64([2], [0, 2_147_483_648])].map((x) => ({
			id: "a",
			inputs: { x },
		}));
		const [fits, wide] = outputsOf(await infer(plan, cases));
		expect(fits).toEqual({
			y: { dtype: "int32", shape: [2], data: new Uint8Array(Int32Array.of(-1, 2_147_483_647).buffer) },
		});
		expect(wide).toBe("input x holds 2147483648, which the engine's int32 does not hold");
	});

	it("the golden worker follows shapes from case to case, empty ones too, and picks the profile that holds them", async () => {
		const profiles = [
			{
				x: [
					[0, 2],
					[1, 2],
					[2, 2],
				],
			},
			{
				x: [
					[3, 2],
					[3, 2],
					[5, 2],
				],
			},
		];
		const rows = [1, 5, 2, 0, 3];
		const cases = rows.map((row) => ({
			id: `${row}`,
			inputs: { x: float32([row, 2], new Array(row * 2).fill(row)) },
		}));
		const expected = rows.map((row) => ({ y: float32([row, 2], new Array(row * 2).fill(-row)) }));
		expect(outputsOf(await infer({ ...negation, profiles }, cases))).toEqual(expected);
	});

	it("the golden worker names the input whose shape no profile holds", async () => {
		const cases = [9, 1].map((rows) => ({
			id: "a",
			inputs: { x: float32([rows, 2], new Array(rows * 2).fill(1)) },
		}));
		const [refused, fine] = outputsOf(await infer(negation, cases));
		expect(refused).toBe("input x has the shape [9, 2], the engine's profiles hold [1, 2] to [8, 2]");
		expect(fine).toEqual({ y: float32([1, 2], [-1, -1]) });
	});

	it("the golden worker brings outputs whose shape only the data decides, an empty one too", async () => {
		const plan: FakePlan = {
			inputs: [{ name: "x", dtype: "FLOAT", shape: [2, 2] }],
			outputs: [{ name: "at", dtype: "INT64", shape: [2, -1], op: "nonzero", from: "x" }],
		};
		const cases = [
			[1, 0, 0, 2],
			[0, 0, 0, 0],
			[1, 1, 1, 1],
		].map((values) => ({ id: "a", inputs: { x: float32([2, 2], values) } }));
		const expected = [
			int64([2, 2], [0, 1, 0, 1]),
			int64([2, 0], []),
			int64([2, 4], [0, 0, 1, 1, 0, 1, 0, 1]),
		];
		expect(outputsOf(await infer(plan, cases))).toEqual(expected.map((at) => ({ at })));
	});

	it("the golden worker feeds shape tensors from host memory", async () => {
		const plan: FakePlan = {
			inputs: [
				{ name: "x", dtype: "FLOAT", shape: [6] },
				{ name: "to", dtype: "INT64", shape: [2], host: true },
			],
			outputs: [{ name: "y", dtype: "FLOAT", shape: [-1, -1], op: "reshape", from: "x", to: "to" }],
			profiles: [
				{
					"to values": [
						[1, 1],
						[2, 3],
						[6, 6],
					],
				},
			],
		};
		const x = float32([6], [1, 2, 3, 4, 5, 6]);
		const cases = [
			[2, 3],
			[3, 2],
		].map((shape) => ({ id: "a", inputs: { x, to: int64([2], shape) } }));
		expect(outputsOf(await infer(plan, cases))).toEqual([
			{ y: { ...x, shape: [2, 3] } },
			{ y: { ...x, shape: [3, 2] } },
		]);
	});

	it("the golden worker shows bytes that the engine never wrote as NaN, not as the last case's answer", async () => {
		const plan = { ...negation, outputs: negation.outputs.map((output) => ({ ...output, op: "nothing" })) };
		for (const outputs of outputsOf(await infer(plan, numbered(2)))) {
			expect(typeof outputs !== "string" && outputs["y"]?.data).toEqual(new Uint8Array(8).fill(255));
		}
	});

	it("the golden worker names case and tensor of inputs that do not fit, and goes on", async () => {
		const cases: InferCase[] = [
			{ id: "a", inputs: {} },
			{ id: "b", inputs: { x: float32([1, 2], [1, 2]), z: float32([1], [1]) } },
			{ id: "c", inputs: { x: int64([1, 2], [1, 2]) } },
			{ id: "d", inputs: { x: { ...float32([1, 2], [1, 2]), shape: [1, 3] } } },
			{ id: "e", inputs: { x: float32([1, 2], [1, 2]) } },
		];
		expect(outputsOf(await infer(negation, cases))).toEqual([
			"input x is missing",
			"the engine has no input z; it has x",
			"input x is int64, the engine takes float32",
			"input x has 8 bytes, its shape [1, 3] of float32 has 12",
			{ y: float32([1, 2], [-1, -2]) },
		]);
	});

	it.each<[string, string]>([
		[
			"refuse",
			"TensorRT did not run the case: IExecutionContext::enqueueV3: Error Code 1: Cuda Runtime (a stub refused)",
		],
		["raise", "TensorRT raised an error (a binding raised): API Usage Error"],
		["confuse", "KeyError: 'a bug'"],
	])("the golden worker loses one case and not the others where TensorRT does %s", async (what, message) => {
		const [first, second, third] = outputsOf(
			await infer({ ...negation, behave: [{ run: 2, do: what }] }, numbered(3)),
		);
		expect([first, second, third]).toEqual([
			{ y: float32([1, 2], [-0, -0.5]) },
			message,
			{ y: float32([1, 2], [-2, -0.5]) },
		]);
	});

	it("the golden worker loses one case where GPU memory is short", async () => {
		const plan = {
			...negation,
			bytesLeft: 256,
			profiles: [
				{
					x: [
						[1, 2],
						[4, 2],
						[99, 2],
					],
				},
			],
		};
		const cases = [99, 1].map((rows) => ({
			id: "a",
			inputs: { x: float32([rows, 2], new Array(rows * 2).fill(1)) },
		}));
		const [short, fine] = outputsOf(await infer(plan, cases));
		expect(short).toBe("792 bytes of GPU memory for x could not be had");
		expect(fine).toEqual({ y: float32([1, 2], [-1, -1]) });
	});

	it("the golden worker refuses inputs and answers above the limit, and goes on", async () => {
		const rows = (count: number): InferCase => ({
			id: "a",
			inputs: { x: float32([count, 2], new Array(count * 2).fill(1)) },
		});
		const z = { name: "z", dtype: "FLOAT", shape: [-1, 2], op: "same", from: "x" };
		const plan = { ...negation, outputs: [...negation.outputs, z] };
		const [wide, tall, fine] = outputsOf(
			await infer(plan, [rows(8), rows(5), rows(1)], { payloadBytes: 60 }),
		);
		expect(wide).toBe("the inputs have 64 bytes, a case may have 60");
		expect(tall).toBe("output z has 80 bytes, an answer may have 60");
		expect(fine).toEqual({ y: float32([1, 2], [-1, -1]), z: float32([1, 2], [1, 1]) });
	});

	it("the golden worker stops at the case at which the GPU was lost", async () => {
		const result = await infer({ ...negation, behave: [{ run: 2, do: "lose the GPU" }] }, numbered(4));
		expect(failureOf(result)).toMatchObject({
			code: "tool-crashed",
			message: `TensorRT's Python worker at case "case 1" stopped: cuStreamSynchronize: CUDA error 700, CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered.`,
		});
	});

	it("the golden worker reports at which case the process crashed", async () => {
		const result = await infer({ ...negation, behave: [{ run: 3, do: "crash" }] }, numbered(4));
		expect(failureOf(result)).toMatchObject({
			code: "tool-crashed",
			message: `TensorRT's Python worker at case "case 2" was ended by SIGSEGV.`,
		});
	});

	it("the golden worker is killed at its timeout, with the case named", async () => {
		const result = await infer({ ...negation, behave: [{ run: 2, do: "hang" }] }, numbered(3), {
			timeoutMs: 4_500,
		});
		expect(failureOf(result)).toMatchObject({
			code: "tool-timeout",
			message: expect.stringContaining(`at case "case 1" did not finish within 4.5 s`),
		});
	});

	it("the golden worker keeps a plugin's printf out of the frames and in the log", async () => {
		const logPath = join(temporaryFolder(), "worker.log");
		const result = await infer({ ...negation, behave: [{ run: 1, do: "printf" }] }, numbered(2), { logPath });
		expect(outputsOf(result)).toHaveLength(2);
		expect(readFileSync(logPath, "utf8")).toBe("a plugin says hello\n");
	});

	it.each<[string, string | null, string]>([
		["is absent", null, "cannot be read: No such file or directory"],
		["is empty", "", "is empty"],
		["is text", "not a plan", "is not a TensorRT plan"],
		[
			"is damaged",
			`ftrt${"\0".repeat(24)}{`,
			"a plan of version 0.0.0.0: IRuntime::deserializeCudaEngine: the plan is damaged",
		],
	])("the golden worker reports that an engine %s", async (_, content, message) => {
		const enginePath = join(temporaryFolder(), "other.plan");
		if (content !== null) writeFileSync(enginePath, content);
		expect(failureOf(await infer(negation, numbered(1), { enginePath }))).toMatchObject({
			code: "tool-output",
			message: expect.stringContaining(message),
		});
	});

	it("the golden worker refuses memory formats that it cannot feed, plugins, devices and profiles that are not there", async () => {
		const packed = { ...negation, inputs: negation.inputs.map((input) => ({ ...input, format: "CHW4" })) };
		const messages = [
			await infer(packed, numbered(1)),
			await infer(negation, numbered(1), { plugins: ["/no/plugin.so"] }),
			await infer(negation, numbered(1), { device: 3 }),
			await infer(negation, numbered(1), { profile: 5 }),
		].map((result) => failureOf(result).message);
		expect(messages).toEqual([
			expect.stringContaining("x has the memory format CHW4"),
			expect.stringContaining("The plugin library /no/plugin.so cannot be loaded"),
			expect.stringContaining("There is no CUDA device 3: the driver shows 1."),
			expect.stringContaining("The engine has no profile 5, it has 1."),
		]);
	});

	it.each<[string, (good: Buffer) => Uint8Array, number, string]>([
		[
			"text",
			() => Buffer.from("GET / HTTP/1.1\r\nHost: example.org\r\n\r\n"),
			4,
			"the input is not made of frames",
		],
		["nothing", () => Buffer.alloc(0), 4, "ended without an end frame"],
		["half a prefix", (good) => good.subarray(0, 9), 4, "ends inside a frame"],
		["half a header", (good) => good.subarray(0, 30), 4, "ends inside a frame"],
		["half a payload", (good) => good.subarray(0, good.length - 3), 4, "ends inside a frame"],
		[
			"a header of 4 GB",
			(good) => Buffer.concat([good.subarray(0, 8), Buffer.alloc(4, 255), good.subarray(12)]),
			4,
			"a header of 4294967295 bytes",
		],
		[
			"a payload of 2^64 bytes",
			(good) => Buffer.concat([good.subarray(0, 12), Buffer.alloc(8, 255)]),
			4,
			"a payload of 18446744073709551615 bytes",
		],
		["deep JSON", () => withHeader("[".repeat(100_000)), 4, "is not JSON"],
		["a case without an id", () => withHeader(`{"kind":"case"}`), 4, "a case has no id"],
		["a frame of another kind", () => withHeader(`{"kind":"hello"}`), 4, "a frame of kind 'hello'"],
		["a case without tensors", () => withHeader(`{"kind":"case","id":"a"}`), 4, "no list of at most"],
		[
			"an absurd shape",
			() =>
				withHeader(
					`{"kind":"case","id":"a","tensors":[{"name":"x","dtype":"float32","shape":[9e99],"bytes":1}]}`,
				),
			4,
			"has no shape",
		],
		[
			"huge sizes",
			() =>
				withHeader(
					`{"kind":"case","id":"a","tensors":[{"name":"x","dtype":"float32","shape":[${"9007199254740991,".repeat(15)}2],"bytes":8}]}`,
				),
			4,
			"has 8 bytes",
		],
	])("the golden worker answers %s with an error frame", (_, make, status, message) => {
		const input = make(Buffer.concat(encodeCase("a", { x: float32([1, 2], [1, 2]) })));
		const engine = writePlan(temporaryFolder(), negation);
		const done = spawnSync(python, [workerPath, `--engine=${engine}`], { input, env: fakeEnvironment() });
		const said = createFrameDecoder({ payloadBytes: 1_000 })
			.push(done.stdout)
			.map(({ header }) => header);
		expect(said[0]).toMatchObject({ kind: "hello" });
		expect(said[1]).toMatchObject({ kind: "error", message: expect.stringContaining(message) });
		expect(done.status).toBe(status);
	});

	it("the golden worker does not take itself for TensorRT where a link leads to it", async () => {
		const folder = temporaryFolder();
		symlinkSync(workerPath, join(folder, "link.py"));
		symlinkSync(dirname(workerPath), join(folder, "worker"));
		// The worker's folder by another name, before the one that has TensorRT.
		const PYTHONPATH = [join(folder, "worker"), dirname(workerPath), fakeEnvironment()["PYTHONPATH"]].join(
			delimiter,
		);
		const processes = createProcesses({ env: { ...fakeEnvironment(), PYTHONPATH } });
		for (const path of [workerPath, join(folder, "link.py"), join(folder, "worker/tensorrt.py")]) {
			const probed = await tensorRtWorker({ python, workerPath: path, processes }).probe();
			expect([path, probed]).toEqual([path, { tensorrt: "10.6.0", device: "Fake GPU" }]);
		}
	});

	it("the golden worker finds TensorRT, or explains why there is none", async () => {
		expect(await fakeWorker().probe()).toEqual({ tensorrt: "10.6.0", device: "Fake GPU" });
		const broken = temporaryFolder();
		writeFileSync(
			join(broken, "tensorrt.py"),
			"raise ImportError('libnvinfer.so.10: cannot open shared object file')",
		);
		const old = temporaryFolder();
		writeFileSync(join(old, "tensorrt.py"), "__version__ = '8.2.1'");
		const absent = (program: string, PYTHONPATH: string): Promise<unknown> =>
			tensorRtWorker({
				python: program,
				workerPath,
				processes: createProcesses({ env: { ...fakeEnvironment(), PYTHONPATH } }),
			}).probe();
		expect(await absent(python, broken)).toEqual({
			absent: expect.stringContaining("has no TensorRT: libnvinfer.so.10: cannot open"),
		});
		expect(await absent(python, old)).toEqual({
			absent: expect.stringContaining("TensorRT 8.2.1 is too old"),
		});
		expect(await absent("/no/python3", "")).toEqual({ absent: expect.stringContaining("did not start") });
	});
});

describe("the client of the golden worker", () => {
	const talkTo = (script: string): Promise<InferResult> =>
		tensorRtWorker({
			python: process.execPath,
			workerPath: scriptFile(script),
			processes: createProcesses(),
		}).infer({
			enginePath: "engine.plan",
			cases: numbered(1),
			device: 0,
			plugins: [],
			timeoutMs: 600_000,
			logPath: join(temporaryFolder(), "worker.log"),
		});
	const scriptFile = (script: string): string => {
		const path = join(temporaryFolder(), "worker.mjs");
		writeFileSync(path, script);
		return path;
	};
	const hello = `{"kind":"hello","protocol":1,"tensorrt":"10.6.0","device":{"name":"x"},"engine":{"profiles":1,"inputs":[],"outputs":[]}}`;
	const says = (...headers: string[]): string =>
		`${headers.map((header) => `process.stdout.write(Buffer.from("${Buffer.from(withHeader(header)).toString("base64")}", "base64"));`).join("\n")}\nsetInterval(() => {}, 1000);`;

	it.each<[string, string, string]>([
		[
			"text",
			`console.log("Hello, I am not a worker at all"); setInterval(() => {}, 1000);`,
			"the output is not made of frames",
		],
		["a frame of no kind", says("{}"), "a frame of unknown kind"],
		["two hellos", says(hello, hello), "a second hello"],
		[
			"a hello without an engine",
			says(hello.replace(/"engine":.*/, `"engine":null}`)),
			"a hello without an engine",
		],
		[
			"answers to a case that was not sent",
			says(hello, `{"kind":"result","id":"7","tensors":[]}`),
			"an answer to a case that was not sent",
		],
		[
			"one answer twice",
			says(hello, ...new Array(2).fill(`{"kind":"result","id":"0","tensors":[]}`)),
			"an answer to a case that was not sent",
		],
	])("the client of the golden worker ends a worker that says %s", async (_, script, fault) => {
		expect(failureOf(await talkTo(script))).toMatchObject({
			code: "tool-output",
			message: expect.stringContaining(fault),
		});
	});

	it("the client of the golden worker does not take an early end for an answer", async () => {
		const script = `${says(hello, `{"kind":"end","cases":0}`).split("\nsetInterval")[0]}`;
		expect(failureOf(await talkTo(script))).toMatchObject({
			code: "tool-output",
			message: expect.stringContaining(`at case "case 0" ended before it had answered`),
		});
	});
});
