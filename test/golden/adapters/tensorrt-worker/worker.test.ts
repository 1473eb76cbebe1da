import { spawnSync } from "node:child_process";
import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import type { DType } from "../../../../generated/golden.ts";
import { createProcesses } from "../../../../src/adapters/process/processes.ts";
import { tensorRtWorker } from "../../../../src/golden/adapters/tensorrt-worker/worker.ts";
import { createFrameDecoder } from "../../../../src/golden/formats/worker/frames.ts";
import { encodeCase } from "../../../../src/golden/formats/worker/messages.ts";
import type { GoldenWorkerJob, InferCase, InferResult } from "../../../../src/ports/backend.ts";
import type { Outputs, Tensor } from "../../../support/golden-tensors.ts";
import { temporaryFolder } from "../../../support/project.ts";
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
} from "../../../support/tensorrt-worker.ts";

const suite = missing === null ? describe : describe.skip;

const profile = (...rows: number[]) => rows.map((count) => [count, 2]);

function plan(dtype: string, shape: number[], op: string, more: Partial<FakePlan> = {}) {
	const outputs = [{ name: "y", dtype, shape, op, from: "x" }];
	return { inputs: [{ name: "x", dtype, shape }], outputs, ...more };
}

const negation = plan("FLOAT", [-1, 2], "negate", { profiles: [{ x: profile(1, 4, 8) }] });

const caseOf = (x: Tensor) => ({ id: "a", inputs: { x } });
const filled = (rows: number, value = 1) => float32([rows, 2], new Array(rows * 2).fill(value));

function numbered(count: number) {
	return Array.from({ length: count }, (_, index) => {
		return { id: `case ${index}`, inputs: { x: float32([1, 2], [index, 0.5]) } };
	});
}

interface Extra extends Partial<GoldenWorkerJob> {
	payloadBytes?: number;
}

const jobOf = (folder: string, cases: InferCase[]) => ({
	...{ cases, device: 0, plugins: [], timeoutMs: 600_000, onnxPath: "model.onnx", isStripped: false },
	logPath: join(folder, "worker.log"),
});

function infer(engine: FakePlan, cases: InferCase[], { payloadBytes, ...job }: Extra = {}) {
	const folder = temporaryFolder();
	const enginePath = writePlan(folder, engine);
	return fakeWorker(payloadBytes).infer({ ...jobOf(folder, cases), enginePath, ...job });
}

async function answers(engine: FakePlan, cases: InferCase[], extra?: Extra) {
	const result = await infer(engine, cases, extra);
	if (result.state === "failed") throw new Error(`${result.failure.code}: ${result.failure.message}`);
	return result.cases.map((answer) => (answer.state === "done" ? answer.outputs : answer.message));
}

function expectFailure(result: InferResult, code: string, words: string) {
	expect(result).toMatchObject({ failure: { code, message: expect.stringContaining(words) } });
}

function withHeader(text: string) {
	const head = Buffer.alloc(20);
	head.write("TGWF");
	head[4] = 1;
	head.writeUInt32LE(text.length, 8);
	return Buffer.concat([head, Buffer.from(text)]);
}

suite(missing === null ? "the golden worker" : `the golden worker (skipped: ${missing})`, () => {
	it("answers many cases in their order, several in flight", async () => {
		const counts: number[] = [];
		const all = Array.from({ length: 300 }, (_, index) => index);
		expect(await answers(negation, numbered(300), { onCase: (done) => counts.push(done) })).toEqual(
			all.map((index) => ({ y: float32([1, 2], [-index, -0.5]) })),
		);
		expect(counts).toEqual(all.map((index) => index + 1));
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
	])("carries every byte of %s", async (dtype, member, size) => {
		const data = Uint8Array.from({ length: 32 * size }, (_, index) => (index * 37 + 200) % 256);
		const tensor: Tensor = { dtype, shape: [32], data };
		expect(await answers(plan(member, [32], "same"), [caseOf(tensor)])).toEqual([{ y: tensor }]);
	});

	it("names the type of an output that no golden can hold", async () => {
		const outputs = [{ name: "scales", dtype: "E8M0", shape: [3], op: "same", from: "x" }];
		const x: Tensor = { dtype: "int8", shape: [3], data: new Uint8Array(3) };
		const [answer] = await answers(plan("INT8", [3], "same", { outputs }), [caseOf(x)]);
		expect(answer).toBe("output scales has type float8_e8m0, which goldens do not support");
	});

	it("narrows int64 to the int32 that an engine of TensorRT 8 takes, if the values fit", async () => {
		const cases = [int64([2], [-1, 2_147_483_647]), int64([2], [0, 2_147_483_648])].map(caseOf);
		expect(await answers(plan("INT32", [2], "same"), cases)).toEqual([
			{ y: { dtype: "int32", shape: [2], data: new Uint8Array(Int32Array.of(-1, 2_147_483_647).buffer) } },
			"input x holds 2147483648, which the engine's int32 does not hold",
		]);
	});

	it("follows shapes from case to case, empty ones too, and picks the profile that holds them", async () => {
		const rows = [1, 5, 2, 0, 3];
		const engine = { ...negation, profiles: [{ x: profile(0, 1, 2) }, { x: profile(3, 3, 5) }] };
		const cases = rows.map((row) => caseOf(filled(row, row)));
		expect(await answers(engine, cases)).toEqual(rows.map((row) => ({ y: filled(row, -row) })));
	});

	it("names the input whose shape no profile holds", async () => {
		expect(await answers(negation, [caseOf(filled(9)), caseOf(filled(1))])).toEqual([
			"input x has the shape [9, 2], the engine's profiles hold [1, 2] to [8, 2]",
			{ y: filled(1, -1) },
		]);
	});

	it("refuses shapes that contradict the network, on which TensorRT's own inference crashes, and goes on", async () => {
		const engine = {
			...plan("FLOAT", [-1, 2], "negate", { profiles: [{ x: profile(1, 4, 8) }] }),
			multiple: 2,
		};
		const found = await answers(engine, [filled(3), filled(4)].map(caseOf));
		expect(found).toEqual([
			expect.stringMatching(/^the network takes no inputs of these shapes together: .*Error Code 7/),
			{ y: filled(4, -1) },
		]);
	});

	it("returns outputs whose shape only the data decides, an empty one too", async () => {
		const outputs = [{ name: "at", dtype: "INT64", shape: [2, -1], op: "nonzero", from: "x" }];
		const cases = ["1002", "0000", "1111"].map((digits) => caseOf(float32([2, 2], [...digits].map(Number))));
		expect(await answers(plan("FLOAT", [2, 2], "same", { outputs }), cases)).toEqual([
			{ at: int64([2, 2], [0, 1, 0, 1]) },
			{ at: int64([2, 0], []) },
			{ at: int64([2, 4], [0, 0, 1, 1, 0, 1, 0, 1]) },
		]);
	});

	it("feeds shape tensors from host memory", async () => {
		const engine: FakePlan = {
			inputs: [
				{ name: "x", dtype: "FLOAT", shape: [6] },
				{ name: "to", dtype: "INT64", shape: [2], host: true },
			],
			outputs: [{ name: "y", dtype: "FLOAT", shape: [-1, -1], op: "reshape", from: "x", to: "to" }],
			profiles: [{ "to values": [1, 2, 6].map((size) => [size, size]) }],
		};
		const x = float32([6], [1, 2, 3, 4, 5, 6]);
		const cases = [2, 3].map((rows) => ({ id: "a", inputs: { x, to: int64([2], [rows, 6 / rows]) } }));
		expect(await answers(engine, cases)).toEqual(
			[2, 3].map((rows) => ({ y: { ...x, shape: [rows, 6 / rows] } })),
		);
	});

	it("shows bytes that the engine never wrote as NaN, not as the last case's answer", async () => {
		for (const outputs of await answers(plan("FLOAT", [1, 2], "nothing"), numbered(2)))
			expect(typeof outputs !== "string" && outputs["y"]?.data).toEqual(new Uint8Array(8).fill(255));
	});

	it("names case and tensor of inputs that do not fit, and goes on", async () => {
		const x = float32([1, 2], [1, 2]);
		const inputs: Outputs[] = [
			{},
			{ x, z: float32([1], [1]) },
			{ x: int64([1, 2], [1, 2]) },
			{ x: { ...x, shape: [1, 3] } },
			{ x },
		];
		const cases = inputs.map((one) => ({ id: "a", inputs: one }));
		expect(await answers(negation, cases)).toEqual([
			"input x is missing",
			"the engine has no input z; it has x",
			"input x is int64, the engine takes float32",
			"input x has 8 bytes, its shape [1, 3] of float32 has 12",
			{ y: float32([1, 2], [-1, -2]) },
		]);
	});

	const refused = "IExecutionContext::enqueueV3: Error Code 1: Cuda Runtime (a stub refused)";
	it.each([
		["refuse", `TensorRT did not run the case: ${refused}`],
		["raise", "TensorRT raised an error (a binding raised): API Usage Error"],
		["confuse", "KeyError: 'a bug'"],
	])("loses one case and not the others when TensorRT does %s", async (what, message) => {
		expect(await answers({ ...negation, behave: [{ run: 2, do: what }] }, numbered(3))).toEqual([
			{ y: float32([1, 2], [-0, -0.5]) },
			message,
			{ y: float32([1, 2], [-2, -0.5]) },
		]);
	});

	it("loses one case when GPU memory is short", async () => {
		const engine = { ...negation, bytesLeft: 256, profiles: [{ x: profile(1, 4, 99) }] };
		expect(await answers(engine, [caseOf(filled(99)), caseOf(filled(1))])).toEqual([
			"792 bytes of GPU memory for x could not be had",
			{ y: filled(1, -1) },
		]);
	});

	it("refuses inputs and answers above the limit, and goes on", async () => {
		const z = { name: "z", dtype: "FLOAT", shape: [-1, 2], op: "same", from: "x" };
		const engine = { ...negation, outputs: [...negation.outputs, z] };
		const cases = [8, 5, 1].map((rows) => caseOf(filled(rows)));
		expect(await answers(engine, cases, { payloadBytes: 60 })).toEqual([
			"the inputs have 64 bytes, a case may have 60",
			"output z has 80 bytes, an answer may have 60",
			{ y: filled(1, -1), z: filled(1) },
		]);
	});

	const lost = "CUDA error 700, CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered.";
	it.each<[string, number, Extra, string, string]>([
		["lose the GPU", 2, {}, "tool-crashed", `at case "case 1" stopped: cuStreamSynchronize: ${lost}`],
		["crash", 3, {}, "tool-crashed", 'at case "case 2" was ended by SIGSEGV.'],
		["hang", 2, { timeoutMs: 4_500 }, "tool-timeout", 'at case "case 1" did not finish within 4.5 s'],
	])("names the current case when TensorRT does %s", async (what, run, extra, code, words) => {
		expectFailure(await infer({ ...negation, behave: [{ run, do: what }] }, numbered(4), extra), code, words);
	});

	it("keeps a plugin's printf out of the frames and in the log", async () => {
		const logPath = join(temporaryFolder(), "worker.log");
		const engine = { ...negation, behave: [{ run: 1, do: "printf" }] };
		expect(await answers(engine, numbered(2), { logPath })).toHaveLength(2);
		expect(readFileSync(logPath, "utf8")).toBe("a plugin says hello\n");
	});

	const damaged = "IRuntime::deserializeCudaEngine: the plan is damaged";
	it.each<[string, string | null, string]>([
		["is absent", null, "cannot be read: No such file or directory"],
		["is empty", "", "is empty"],
		["is text", "not a plan", "is not a TensorRT plan"],
		["is damaged", `ftrt${"\0".repeat(24)}{`, `a plan of version 0.0.0.0: ${damaged}`],
	])("reports that an engine %s", async (_, content, message) => {
		const enginePath = join(temporaryFolder(), "other.plan");
		if (content !== null) writeFileSync(enginePath, content);
		expectFailure(await infer(negation, numbered(1), { enginePath }), "tool-output", message);
	});

	const packed = { ...negation, inputs: negation.inputs.map((input) => ({ ...input, format: "CHW4" })) };
	it.each<[string, FakePlan, Extra, string, string]>([
		["a memory format that it cannot feed", packed, {}, "tool-output", "x has the memory format CHW4"],
		["an absent plugin", negation, { plugins: ["/no.so"] }, "tool-output", "library /no.so cannot be loaded"],
		["an absent device", negation, { device: 3 }, "tool-missing", "no CUDA device 3: the driver shows 1."],
	])("refuses %s", async (_, engine, extra, code, words) => {
		expectFailure(await infer(engine, numbered(1), extra), code, words);
	});

	const caseOfA = `{"kind":"case","id":"a"`;
	const tensorHeader = (shape: string, bytes: number) =>
		withHeader(`${caseOfA},"tensors":[{"name":"x","dtype":"float32","shape":[${shape}],"bytes":${bytes}}]}`);
	const good = Buffer.concat(encodeCase("a", { x: float32([1, 2], [1, 2]) }));
	it.each<[string, Uint8Array, string]>([
		["text", Buffer.from("GET / HTTP/1.1\r\nHost: example.org\r\n\r\n"), "the input is not made of frames"],
		["nothing", Buffer.alloc(0), "ended without an end frame"],
		["half a prefix", good.subarray(0, 9), "ends inside a frame"],
		["half a header", good.subarray(0, 30), "ends inside a frame"],
		["half a payload", good.subarray(0, good.length - 3), "ends inside a frame"],
		["a header of 4 GB", Buffer.from(good).fill(255, 8, 12), "a header of 4294967295 bytes"],
		[
			"a payload of 2^64 bytes",
			Buffer.from(good).fill(255, 12, 20),
			"a payload of 18446744073709551615 bytes",
		],
		["deep JSON", withHeader("[".repeat(100_000)), "is not JSON"],
		["a case without an id", withHeader(`{"kind":"case"}`), "a case has no id"],
		["a frame of another kind", withHeader(`{"kind":"hello"}`), "a frame of kind 'hello'"],
		["a case without tensors", withHeader(`${caseOfA}}`), "no list of at most"],
		["an absurd shape", tensorHeader("9e99", 1), "has no shape"],
		["huge sizes", tensorHeader(`${"9007199254740991,".repeat(15)}2`, 8), "has 8 bytes"],
	])("answers %s with an error frame", (_, input, message) => {
		const engine = writePlan(temporaryFolder(), negation);
		const done = spawnSync(python, [workerPath, `--engine=${engine}`], { input, env: fakeEnvironment() });
		const frames = createFrameDecoder({ payloadBytes: 1_000 }).push(done.stdout);
		expect(frames[0]?.header).toMatchObject({ kind: "hello" });
		expect(frames[1]?.header).toMatchObject({ kind: "error", message: expect.stringContaining(message) });
		expect(done.status).toBe(4);
	});

	const probe = (program: string, path: string, PYTHONPATH: string) => {
		const processes = createProcesses({ env: { ...fakeEnvironment(), PYTHONPATH } });
		return tensorRtWorker({ python: program, workerPath: path, processes }).probe();
	};
	const found = { tensorrt: "10.6.0", device: "Fake GPU" };

	it("does not take itself for TensorRT when a link leads to it", async () => {
		const folder = temporaryFolder();
		symlinkSync(workerPath, join(folder, "link.py"));
		symlinkSync(dirname(workerPath), join(folder, "worker"));
		// The worker's folder by another name, before the one that has TensorRT.
		const folders = [join(folder, "worker"), dirname(workerPath), fakeEnvironment()["PYTHONPATH"]];
		for (const path of [workerPath, join(folder, "link.py"), join(folder, "worker/tensorrt.py")])
			expect([path, await probe(python, path, folders.join(delimiter))]).toEqual([path, found]);
	});

	const noLibrary = "libnvinfer.so.10: cannot open";
	it.each([
		[
			"a broken one",
			python,
			`raise ImportError('${noLibrary} shared object file')`,
			`has no TensorRT: ${noLibrary}`,
		],
		["an old one", python, "__version__ = '8.2.1'", "TensorRT 8.2.1 is too old"],
		["no Python", "/no/python3", "", "did not start"],
	])("explains why there is no TensorRT: %s", async (_, program, module, words) => {
		const folder = temporaryFolder();
		writeFileSync(join(folder, "tensorrt.py"), module);
		expect(await probe(program, workerPath, folder)).toEqual({ absent: expect.stringContaining(words) });
		expect(await fakeWorker().probe()).toEqual(found);
	});
});

const scaling = plan("FLOAT", [-1, 2], "scale", { profiles: [{ x: profile(1, 4, 8) }] });

suite("probes in the golden worker", () => {
	it("runs cases that belong together at the same time, each with an answer", async () => {
		const [one, two] = [filled(1, 2), filled(1, 3)];
		const cases: InferCase[] = [
			{ id: "alone", inputs: { x: one } },
			...["a", "b", "c"].map((id, at) => ({
				id,
				inputs: { x: two },
				...(at > 0 && { together: true as const }),
			})),
			{ id: "after", inputs: { x: one } },
		];
		const minus = (x: Tensor) => ({
			y: float32(
				[...x.shape],
				[...new Float32Array(x.data.buffer)].map((v) => -v),
			),
		});
		expect(await answers(negation, cases)).toEqual([one, two, two, two, one].map(minus));
		const shared = plan("FLOAT", [-1, 2], "share", { profiles: [{ x: profile(1, 4, 8) }] });
		const [, first, second] = await answers(shared, cases);
		expect(first).not.toEqual(second);
	});

	it("refuses all that belong together", async () => {
		const x = filled(9);
		const cases: InferCase[] = [
			{ id: "a", inputs: { x } },
			{ id: "b", inputs: { x }, together: true },
		];
		const says = expect.stringContaining("the engine's profiles hold");
		expect(await answers(negation, cases)).toEqual([says, says]);
	});

	it("gives the engine the model's weights or zeros, and a stripped one the model's before the first case", async () => {
		const x = filled(1, 2);
		const ask = (id: string) => ({ id, inputs: { x } });
		const give = (refit: "model" | "zeros") => ({ id: refit, inputs: {}, refit });
		const cases = [ask("a"), give("zeros"), ask("b"), give("model"), ask("c")];
		const zero = { y: filled(1, 0) };
		const usual = [{ y: x }, {}, zero, {}, { y: x }];
		expect(await answers(scaling, cases)).toEqual(usual);
		expect(await answers({ ...scaling, stripped: true }, cases, { isStripped: true })).toEqual(usual);
		expect(await answers({ ...scaling, stripped: true }, cases.slice(0, 1))).toEqual([zero]);
		const refused = await infer(scaling, [give("model")], { onnxPath: "absent.onnx" });
		expect(refused).toMatchObject({ cases: [{ state: "failed", code: "refit", message: /absent/ }] });
	});
});

describe("the client of the golden worker", () => {
	const talkTo = (script: string) => {
		const folder = temporaryFolder();
		const workerPath = join(folder, "worker.mjs");
		writeFileSync(workerPath, script);
		return tensorRtWorker({ python: process.execPath, workerPath, processes: createProcesses() }).infer({
			...jobOf(folder, numbered(1)),
			enginePath: "engine.plan",
		});
	};
	const hello = `{"kind":"hello","protocol":1,"tensorrt":"10.6.0","device":{"name":"x"},"engine":{"profiles":1,"inputs":[],"outputs":[]}}`;
	const result = (id: number) => `{"kind":"result","id":"${id}","tensors":[]}`;
	const stay = "setInterval(() => {}, 1000);";
	const says = (...headers: string[]) =>
		`process.stdout.write(Buffer.from("${Buffer.concat(headers.map(withHeader)).toString("hex")}", "hex"));`;

	it.each([
		["text", `console.log("Hello, I am not a worker at all");`, "the output is not made of frames"],
		["a frame of no kind", says("{}"), "a frame of unknown kind"],
		["two hellos", says(hello, hello), "a second hello"],
		["no engine", says(hello.replace(/"engine":.*/, `"engine":null}`)), "a hello without an engine"],
		["answers to a case that was not sent", says(hello, result(7)), "an answer to a case that was not sent"],
		["one answer twice", says(hello, result(0), result(0)), "an answer to a case that was not sent"],
	])("ends a worker that says %s", async (_, script, fault) => {
		expectFailure(await talkTo(`${script}\n${stay}`), "tool-output", fault);
	});

	it("does not take an early end for an answer", async () => {
		const script = says(hello, `{"kind":"end","cases":0}`);
		expectFailure(await talkTo(script), "tool-output", `at case "case 0" ended before it had answered`);
	});
});
