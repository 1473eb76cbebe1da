import { describe, expect, it } from "vitest";
import {
	diagnose,
	diagnoseHonestly,
	type Evidence,
	renderDiagnosis,
} from "../../../src/formats/trtexec/diagnose.ts";
import { createLogScan } from "../../../src/formats/trtexec/log-scan.ts";
import { expectSchema } from "../../support/expect-schema.ts";
import { parseLog, recordedEvidence, recordedLines, recordedRuns, recordedText } from "./recorded.ts";
import { recordedDiagnosis, recordedFailures, recordedKind } from "./recorded-diagnoses.ts";

const at = "[11/21/2026-08:03:56] ";

it("one hundred and sixty-six runs are recorded, all known failures among them", () => {
	expect(recordedRuns).toHaveLength(166);
	expect(recordedRuns).toEqual(expect.arrayContaining([...recordedFailures]));
});

describe.each(recordedRuns)("the recorded run %s", (name) => {
	const evidence = recordedEvidence(name);
	const lines = recordedLines(name);
	const { exitCode, signal, spawnError = null } = evidence;
	const code = recordedDiagnosis(name);
	const [out, err] = [recordedText(name, ["out"]), recordedText(name, ["err"])];

	it(`gets ${code}, with lines of its log`, () => {
		const diagnosis = diagnose(evidence);
		expect(diagnosis).toMatchObject({ code, kind: recordedKind(code) });
		const texts = new Map(lines.map((line) => [line.number, line.text]));
		for (const { line, text } of diagnosis.excerpt) expect(texts.get(line)?.startsWith(text)).toBe(true);
	});

	it("gets the same with other models, tensors, files and source lines", () => {
		const renamed = {
			lines: lines.map((line) => ({ ...line, text: rename(line.text) })),
			wrote: (evidence.wrote ?? []).map((file) => ({ ...file, path: rename(file.path) })),
			argv: (evidence.argv ?? []).map(rename),
			absent: (evidence.absent ?? []).map(rename),
		};
		expect(diagnose({ ...evidence, ...renamed }).code).toBe(code);
	});

	it("gets the same from a plain log with Windows line ends, and with stderr after stdout", () => {
		for (const text of [recordedText(name).replaceAll("\n", "\r\n"), out + err])
			expect(diagnose({ lines: parseLog(text), exitCode, signal, spawnError }).code).toBe(code);
	});

	it("gets the same from a job's log, in which each line begins with a time", () => {
		const text = recordedText(name).trimEnd();
		for (const start of ["", "build\tRun trtexec\t", "\ufeff"]) {
			const log = text.replaceAll(/^/gm, `${start}2026-11-21T08:03:42.1234567Z `);
			expect(diagnose({ lines: parseLog(log), exitCode, signal, spawnError })).toEqual(
				diagnose({ lines: parseLog(text), exitCode, signal, spawnError }),
			);
		}
	});

	it("is never called fine if it failed and only stderr was kept", () => {
		if (exitCode === 0) return;
		expect(diagnose({ lines: parseLog(err), exitCode, signal, spawnError }).kind).not.toBe("none");
	});

	it("is never called a success without its files that the gate would deny with them", () => {
		const scanner = createLogScan();
		for (const line of lines) scanner.feed(line);
		const alone = diagnoseHonestly({ ...evidence, scan: scanner.result() });
		const gate = diagnose({ ...evidence, lines, ...outside[name] });
		if (alone.code === "ok" || alone.code === "unverified")
			expect([gate.code === "ok", name in outside]).toContain(true);
		if (gate.code !== "ok") expect(alone.code).not.toBe("ok");
		if (alone.code === "ok") expect(alone.title).toBe(gate.title);
	});
});

const names: [from: string, to: string][] = [
	["models/", "/srv/mod els/"],
	["engines/", "/tmp/e/"],
	["images", "pixel_values:0"],
	["tokens", "input.ids"],
	["classifier", "resnet"],
	["SwishFusion", "GeluFast"],
	["determinant", "/model/layers.0/Op_3"],
	["pictures", "ünput"],
];

function rename(text: string) {
	const renamed = names.reduce((result, [from, to]) => result.replaceAll(from, to), text);
	return renamed.replace(/\b\w+\.cpp:\d+/g, "Other.cpp:1");
}

const longInput = { inputs: [{ path: "inputs/classifier-0-images.bin", bytes: 49_152 }] };
const damaged = { plan: { builtSha256: "aa", sha256: "bb" } };
const largestTensor = { name: "z", shape: "[300000, 300000]", bytes: 3.6e11 };
const tooBig = { model: { largestTensor, inputRanks: new Map() } };
const plan = "engines/superres-fp32.plan";

const outside: Record<string, Partial<Evidence>> = {
	"10.6/fail-bad-too-big": tooBig,
	"10.6/fail-engine-flipped": damaged,
	"10.6/fail-input-wrong-size": longInput,
};

it.each<[run: string, fact: Partial<Evidence>, code: string, title: RegExp]>([
	["fail-input-wrong-size", longInput, "input-file-longer", /49152 bytes.* takes 24576/],
	["golden-classifier-fp32-0", longInput, "ok", /./],
	["fail-engine-flipped", damaged, "plan-damaged", /./],
	["fail-bad-too-big", tooBig, "tensor-too-big", /"z" has the shape \[300000, 300000\]/],
	["build-superres-fp32", { wrote: [{ path: plan, bytes: 0 }] }, "plan-missing", /./],
	["build-superres-fp32", { absent: [plan] }, "plan-missing", /./],
])("diagnose finds what only a fact from outside the log shows: %s with %j", (run, fact, code, title) => {
	const diagnosis = diagnose({ ...recordedEvidence(`10.6/${run}`), ...fact });
	expect(diagnosis.code).toBe(code);
	expect(diagnosis.title).toMatch(title);
});

const passed = (argv: string, body: string[] = []) => {
	const mark = (word: string) => `&&&& ${word} TensorRT.trtexec [TensorRT v100600] [b26] # ${argv}`;
	return [mark("RUNNING"), ...body.map((line) => at + line), mark("PASSED")].join("\n");
};

const judged = (text: string, more: Partial<Evidence> = {}) =>
	diagnose({ lines: parseLog(text), exitCode: null, signal: null, ...more }).code;

const rawFile = "out_put__1_.output.2.10.fp16.raw";

it.each<[code: string, flags: string, body: string[], more?: Partial<Evidence>]>([
	["export-missing", "--exportTimes=absent/t.json", [], { wrote: [], absent: ["absent/t.json"] }],
	[
		"times-not-written",
		"--exportTimes=t.json --exportProfile=p.json",
		[],
		{ wrote: [{ path: "p.json", bytes: 100 }], absent: ["t.json"] },
	],
	["export-missing", "--exportLayerInfo=l.json", [], { wrote: [{ path: "l.json", bytes: 0 }] }],
	[
		"layers-unlisted",
		"--exportLayerInfo=layers.json",
		[
			"[E] Error[2]: [runner.cpp::getMyelinLayerInfo::840] Error Code 2: Internal Error (Assertion myelinGraph != nullptr failed. )",
		],
		{ wrote: [], absent: ["layers.json"] },
	],
	["plan-refused", "--skipInference", ["[E] Engine deserialization failed"]],
	[
		"inputs-random",
		"--loadInputs=left:a.bin",
		["[I] Using values loaded from a.bin for input left", "[I] Using random values for input right"],
	],
	["cuda-graph-refused", "--useCudaGraph", ["[W] The CUDA graph capture on the stream has failed."]],
	[
		"raw-dump-size",
		"",
		[
			`[I] Writing file for output binding out put (1) (with datatype fp16 and dimensions 2.10) to ${rawFile}`,
		],
		{ wrote: [{ path: rawFile, bytes: 38 }] },
	],
	["ok", "", ["[E] Error[2]: Error Code 2: OutOfMemory (Requested size was 99 bytes.)"]],
])("diagnose gives %s for a run that passed with %s", (code, flags, body, more) => {
	const command = `trtexec --loadEngine=e.plan ${flags}`;
	expect(judged(passed(command, body), { argv: command.trim().split(" "), exitCode: 0, ...more })).toBe(code);
});

it("diagnose trusts exit code 0 only with the last line PASSED", () => {
	const text = passed("trtexec --onnx=m.onnx");
	expect(judged(text.split("\n")[0] ?? "", { exitCode: 0 })).toBe("ended-early");
	expect(judged(text.replace("PASSED", "FAILED"), { exitCode: 0 })).toBe("unknown");
	expect(judged(text)).toBe("ok");
	expect(judged(text.replace("PASSED", "FAILED"))).toBe("unknown");
});

const failedBuild = "[E] Engine could not be created from network\n[E] Building engine failed";

const known = `
onnx-file-missing  Could not open file /models/über net.onnx
onnx-too-large  [E] [TRT] ModelImporter.cpp:1: exceeds maximum protobuf size of 2GB
onnx-unreadable  [E] [TRT] Failed to parse ONNX model from file: a.onnx
external-weights-size  [E] [TRT] Unexpected size for the external weights! Expected size: 4 bytes. Actual size: 2
external-weights-path  [E] [TRT] Relative paths to parent (../) are not allowed in ONNX external weights!
initializer-refused  [E] [TRT] ONNX initializer w cannot be imported into TensorRT!
plugin-not-found  [E] [TRT] 3: getPluginCreator could not find plugin: NMS_X version: 1
operator-unsupported  [E] [TRT] In node 3 with name: a and operator: Det (checkDet): UNSUPPORTED_NODE: Assertion failed: false
squeeze-axes  [E] [TRT] While parsing node number 41 [Squeeze -> "165"]:|[12] Assertion failed: !isDynamic(shape): Cannot infer squeeze dimensions from a dynamic shape!|[E] Failed to parse onnx file
dequantize-type  [E] Error[3]: (Parameter check failed. A DequantizeLayer can only run in DataType::kINT8)|[E] [TRT] While parsing node number 0 [DequantizeLinear -> "inner.bias"]:
dims-conflict  [E] Error[4]: API Usage Error (?: Input dimensions with this name have different constant values)|[E] Building engine failed
conditional-shapes  [E] Error[2]: Internal Error (Assertion tScope.getType() != ScopeType::kUNDEFINED failed. )|[E] Building engine failed
conditional-shapes  [E] Error[4]: IIfConditionalOutputLayer inputs must have the same shape.
topk-limit  [E] [TRT] This version of TensorRT: K exceeds the maximum value allowed (3840).
zero-point-unsupported  [8] Assertion failed: shiftIsAllZeros(zeroPoint) && "TensorRT only supports"
scale-not-positive  [E] Error[3]: Scale coefficients must all be positive
data-type-unsupported  [E] [TRT] Unsupported ONNX data type: UINT8 (2)
network-without-output  [E] Error[4]: Network must have at least one output
node-types-conflict  [E] Error[4]: element type (half) differs from (float)
node-refused  [E] [TRT] ModelImporter.cpp:9: While parsing node number 7 [Foo -> "z"]:
parse-failed  [E] Failed to parse onnx file
profile-missing  [E] Error[4]: Network has dynamic or shape inputs, but no optimization profile has been defined.
profile-missing  [E] Error[4]: input_ids: dynamic input is missing dimensions in profile 0.
profile-missing  [E] Found invalid or missing shape spec at profile index 1
profile-shape-values  [E] optimization profile is missing values for shape input
profile-violates-constraints  [E] Error[4]: kOPT values for profile 0 violate shape constraints: reshape
profile-rank-mismatch  [E] Error in set dimensions to profile MIN: Dimensions not provided
profile-rank-mismatch  [E] Error[4]: API Usage Error (x: number of dimensions is 4 but profile 0 has 3.)
profile-index  [E] Selected profile index 3 exceeds the number of profiles
shape-static-mismatch  [E] Error[3]: Static dimension mismatch while setting input shape.)
shape-outside-profile  [E] [TRT] Supplied binding dimension [9,3] for bindings[0] exceed min ~ max range at index 0
no-implementation  [E] Error[10]: (Could not find any implementation for node {ForeignNode[a...b]}.)
compiler-check-failed  [E] [TRT] MyelinCheckException: gpu.cpp:12: CHECK(x) failed.
io-type-mismatch  [E] Requested input type FP16 does not match the inferred type FP32
int8-scales-missing  [E] Error[4]: Calibration failure occurred with no scaling factors detected.
dla-layer-unsupported  [E] Error[9]: layer softmax_1 is not supported on DLA and falling back to GPU is not enabled.
dla-absent  [E] Trying to use DLA core on a platform that doesn't have any DLA cores
build-failed  [E] Engine could not be created from network
build-failed  [E] Assertion failure: false && "Attempting to access an empty engine!"
disk-full  [E] write failed: No space left on device
save-failed  [E] Cannot write to FileStreamWriter
plan-other-version  [E] Error[6]: The engine plan file is not compatible with this version of TensorRT, expecting 10.14.1.48 got \u0001\u0002
plan-other-gpu  [E] Error[6]: The engine plan file is generated on an incompatible device, expecting compute 8.6 got compute 9.0
plan-not-a-plan  [E] [TRT] 1: Serialization (Serialization assertion magicTagRead == kMAGIC_TAG failed.Magic tag does not match)
plan-plugin-missing  [E] Error[4]: Cannot deserialize plugin since corresponding IPluginCreator not found in Plugin Registry
plan-refused  [E] Engine deserialization failed
input-file-missing  [E] Uncaught exception detected: Cannot open file in/a.bin!
input-file-size  [E] Unexpected file size for input file: a.bin. Note: Input binding size is: 40 bytes but the file size is 44 bytes
accuracy-failed  [E] Accuracy validation FAILED: one or more tensors exceeded the threshold.
gpu-memory-run  [E] Unable to create execution context for stream 0.
gpu-memory-run  Cuda failure at src/common.h:77: out of memory
inference-failed  [E] Error occurred during inference
no-gpu  [E] [TRT] CUDA initialization failure with error: 100. Please check
driver-too-old  Cuda failure: CUDA driver version is insufficient for CUDA runtime version
gpu-lost  Cuda failure: system not yet initialized
gpu-fault  Cuda failure at a.cpp:9: an illegal memory access was encountered
cuda-error  Cuda failure: invalid argument
plugin-library-missing  [E] Could not load plugin library: libacme.so, due to: libacme.so: cannot open shared object file
builder-creation-failed  [E] Builder creation failed
precision-flag-removed  &&&& RUNNING TensorRT.trtexec [TensorRT v110100] [b1] # trtexec|[E] Unknown option: --fp16 
flag-unknown  &&&& RUNNING TensorRT.trtexec [TensorRT v100600] [b1] # trtexec|[E] Unknown option: --fp32 
flag-value-invalid  === Model Options ===|[E] Unknown profiling verbosity: lots
model-not-given  [E] Model missing or format not recognized
timing-cache-miss  [E] Error[4]: tactic not found in timing cache
unknown  [E] Error[2]: Something that nobody has seen
`
	.trim()
	.split("\n")
	.map((line) => line.split("  ", 2) as [code: string, text: string]);

const starting = "[I] Starting inference";
const library =
	"trtexec: error while loading shared libraries: libnvinfer.so.10: cannot open shared object file";

const lookup = "/trt/bin/trtexec: symbol lookup error:";

it.each<[code: string, text: string, more?: Partial<Evidence>]>([
	...known,
	["library-missing", library, { exitCode: 127 }],
	["library-missing", `${lookup} /trt/lib/libnvinfer_plugin.so.10: undefined symbol: f`, { exitCode: 127 }],
	[
		"plugin-library-missing",
		`${lookup} /opt/libmine.so: undefined symbol: getPluginRegistry`,
		{ exitCode: 127 },
	],
	["program-missing", "bash: line 1: trtexec: command not found", { exitCode: 127 }],
	["program-not-allowed", "", { exitCode: 126 }],
	["program-missing", "", { exitCode: 127 }],
	["program-not-allowed", "", { exitCode: null, spawnError: "spawn trtexec EACCES" }],
	["timed-out", starting, { exitCode: null, signal: "SIGKILL", timedOut: true }],
	["killed", starting, { exitCode: 137 }],
	["terminated", starting, { exitCode: 143 }],
	["interrupted", starting, { exitCode: 130 }],
	["crashed", starting, { exitCode: null, signal: "SEGV" }],
	["plan-crash", "", { exitCode: null, signal: "SIGABRT", argv: ["trtexec", "--loadEngine=text.plan"] }],
	[
		"inference-crash",
		`[I] Engine deserialized in 0.1 sec.|${starting}`,
		{ exitCode: null, signal: "SIGSEGV" },
	],
	["unknown", ""],
	["interrupted", "", { exitCode: null, signal: "SIGINT" }],
	["log-incomplete", "&&&& RUNNING TensorRT.trtexec [TensorRT v100600] # trtexec", { exitCode: null }],
])("diagnose gives %s: %s", (code, text, more) => {
	const dated = text.replaceAll("|", "\n").replace(/^\[([EWI])\]/gm, `${at}[$1]`);
	const diagnosis = diagnose({ lines: parseLog(dated), exitCode: 1, signal: null, ...more });
	expect(diagnosis.code).toBe(code);
	expect(diagnosis.title).not.toMatch(/undefined|\s{2}|\s[.,:]/);
	expect(diagnosis.fix).not.toBe("");
});

it("diagnose gives an unknown failure its last error lines and no cause", () => {
	const text = Array.from({ length: 40 }, (_, n) => `${at}[E] Odd thing number ${n}`).join("\n");
	const diagnosis = diagnose({ lines: parseLog(text), exitCode: 1, signal: null });
	expect(diagnosis.code).toBe("unknown");
	expect(diagnosis.excerpt.at(-1)).toEqual({ line: 40, text: `${at}[E] Odd thing number 39` });
	expect(diagnosis.excerpt.length).toBeLessThanOrEqual(8);
});

it("diagnose shows the node that the parser was at, far above what it says of it", () => {
	const { excerpt } = diagnose(recordedEvidence("10.6/fail-bad-unsupported-op"));
	expect(excerpt[0]?.text).toMatch(/While parsing node number \d+ \[Det -> /);
	expect(excerpt[1]?.text).toContain("[8] false");
});

it("diagnose shows the errors before a failure that no rule explains", () => {
	const strange = "[E] Error[2]: Something that nobody has seen";
	const text = `${strange}\n${failedBuild}`.replaceAll("[E]", `${at}[E]`);
	const { code, excerpt } = diagnose({ lines: parseLog(text), exitCode: 1, signal: null });
	expect([code, excerpt[0]?.text]).toEqual(["build-failed", at + strange]);
});

it("diagnose names the first cause and keeps the second, and shows how far a run came that was ended from outside", () => {
	expect(diagnose(recordedEvidence("10.15/fail-save-no-folder")).also).toEqual(["save-failed"]);
	const { excerpt } = diagnose(recordedEvidence("10.6/fail-killed-perf"));
	expect(excerpt.at(-1)?.text).toContain("Starting inference");
});

it("diagnose treats names that would poison an object as plain text", () => {
	const text = `${at}[E] Cannot find input tensor with name "__proto__" in the network inputs! Please`;
	expect(diagnose({ lines: parseLog(text), exitCode: 1, signal: null }).title).toContain('"__proto__"');
});

it("renderDiagnosis reports when the machine is at fault, and what else is wrong", () => {
	const text = renderDiagnosis(diagnose(recordedEvidence("11.2/fail-save-no-folder")));
	expect(text).toContain("a retry may help");
	expect(text).toContain("Also: save-failed");
});

it("renderDiagnosis colours only on request", () => {
	const diagnosis = diagnose(recordedEvidence("10.6/fail-no-gpu"));
	expect(renderDiagnosis(diagnosis)).not.toContain("\u001b");
	expect(renderDiagnosis(diagnosis, { color: true })).toContain("\u001b[31m");
});

it("renderDiagnosis lets no control character of a log or a command line through", () => {
	const path = "a\u001b[2J\u0007.plan";
	const evidence = { exitCode: 0, signal: null, argv: ["trtexec", `--saveEngine=${path}`], absent: [path] };
	expect(renderDiagnosis(diagnose(evidence))).not.toMatch(/[\u0000-\u0009\u000b-\u001f]/);
});

it("diagnose keeps to its schema for every recorded run", () => {
	for (const name of recordedRuns)
		expectSchema(JSON.parse(JSON.stringify(diagnose(recordedEvidence(name)))), "diagnose");
});
