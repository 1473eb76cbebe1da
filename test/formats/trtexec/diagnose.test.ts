// The diagnosis of every recorded run, of the lies that need a fact from outside, and of logs made for one rule each.
import { describe, expect, it } from "vitest";
import { diagnose, type Evidence } from "../../../src/formats/trtexec/diagnose.ts";
import { diagnosisCodes } from "../../../src/formats/trtexec/failures/catalogue.ts";
import { createLogScan } from "../../../src/formats/trtexec/log-scan.ts";
import { diagnoseHonestly } from "../../../src/formats/trtexec/unverified.ts";
import { parseLog, recordedCases, recordedEvidence, recordedVersions } from "./recorded.ts";
import { recordedDiagnoses } from "./recorded-diagnoses.ts";

describe("recorded runs", () => {
	for (const version of recordedVersions) {
		it(`diagnose lists every folder of ${version}`, () => {
			expect(Object.keys(recordedDiagnoses[version] ?? {}).sort()).toEqual(recordedCases(version));
		});

		for (const [name, code] of Object.entries(recordedDiagnoses[version] ?? {})) {
			it(`diagnose says ${code} of ${version}/${name}`, () => {
				const evidence = recordedEvidence(`${version}/${name}`);
				const diagnosis = diagnose(evidence);
				expect(diagnosis.code).toBe(code);
				expect(diagnosis.kind === "none").toBe(code === "ok");
				const texts = new Map([...(evidence.lines ?? [])].map((line) => [line.number, line.text]));
				for (const { line, text } of diagnosis.excerpt) expect(texts.get(line)?.startsWith(text)).toBe(true);
			});
		}
	}

	it("recorded runs counts one hundred and sixty-six folders", () => {
		expect(recordedVersions.flatMap((version) => recordedCases(version))).toHaveLength(166);
	});
});

describe("a recorded run of which the files are not at hand", () => {
	/** What the gate sees beside these runs: sizes, digests, the model. */
	const outside: Readonly<Record<string, Partial<Evidence>>> = {
		"10.6/fail-bad-too-big": {
			model: {
				largestTensor: { name: "z", shape: "[300000, 300000]", bytes: 3.6e11 },
				inputRanks: new Map(),
			},
		},
		"10.6/fail-engine-flipped": { plan: { builtSha256: "aa", sha256: "bb" } },
		"10.6/fail-input-wrong-size": { inputs: [{ path: "inputs/classifier-0-images.bin", bytes: 49_152 }] },
	};

	it.each(recordedVersions.flatMap((version) => recordedCases(version).map((name) => `${version}/${name}`)))(
		"a recorded run of which the files are not at hand %s is never called a success that the gate would deny",
		(name) => {
			const { lines, ...evidence } = recordedEvidence(name);
			const scanner = createLogScan();
			for (const line of lines ?? []) scanner.feed(line);
			const alone = diagnoseHonestly({ ...evidence, scan: scanner.result() });
			const gate = diagnose({ ...evidence, lines: lines ?? [], ...outside[name] });
			if (alone.code === "ok" || alone.code === "unverified")
				expect([gate.code === "ok", name in outside]).toContain(true);
			if (gate.code !== "ok") expect(alone.code).not.toBe("ok");
			if (alone.code === "ok") expect(alone.title).toBe(gate.title);
		},
	);
});

it("diagnose, with a fact from outside the log, finds an input file that is too long by its size", () => {
	const inputs = [{ path: "inputs/classifier-0-images.bin", bytes: 49_152 }];
	const diagnosis = diagnose({ ...recordedEvidence("10.6/fail-input-wrong-size"), inputs });
	expect(diagnosis.code).toBe("input-file-longer");
	expect(diagnosis.title).toContain("49152");
	expect(diagnosis.title).toContain("24576");
});

it("diagnose, with a fact from outside the log, leaves an input file of the right size alone", () => {
	const inputs = [{ path: "inputs/classifier-0-images.bin", bytes: 49_152 }];
	expect(diagnose({ ...recordedEvidence("10.6/golden-classifier-fp32-0"), inputs }).code).toBe("ok");
});

it("diagnose, with a fact from outside the log, finds a damaged plan by its digest", () => {
	const plan = { builtSha256: "aa", sha256: "bb" };
	expect(diagnose({ ...recordedEvidence("10.6/fail-engine-flipped"), plan }).code).toBe("plan-damaged");
});

it("diagnose, with a fact from outside the log, finds a tensor that no GPU of this kind can hold", () => {
	const largestTensor = { name: "z", shape: "[300000, 300000]", bytes: 300_000 * 300_000 * 4 };
	const diagnosis = diagnose({
		...recordedEvidence("10.6/fail-bad-too-big"),
		model: { largestTensor, inputRanks: new Map() },
	});
	expect(diagnosis).toMatchObject({
		code: "tensor-too-big",
		title: expect.stringContaining('"z" has the shape [300000, 300000]'),
	});
});

it("diagnose, with a fact from outside the log, finds a plan of no bytes behind exit code 0", () => {
	const evidence = recordedEvidence("10.6/build-superres-fp32");
	const wrote = [...(evidence.wrote ?? []), { path: "engines/superres-fp32.plan", bytes: 0 }];
	expect(diagnose({ ...evidence, wrote }).code).toBe("plan-empty");
});

it("diagnose, with a fact from outside the log, finds a plan that is not there behind exit code 0", () => {
	const absent = ["engines/superres-fp32.plan"];
	expect(diagnose({ ...recordedEvidence("10.6/build-superres-fp32"), absent }).code).toBe("plan-missing");
});

const passed = (argv: string, body: readonly string[] = []): string => {
	const mark = (word: string): string => `&&&& ${word} TensorRT.trtexec [TensorRT v100600] [b26] # ${argv}`;
	return [mark("RUNNING"), ...body, mark("PASSED")].join("\n");
};

const at = "[11/21/2026-08:03:56] ";

function judged(text: string, more: Partial<Evidence> = {}): string {
	return diagnose({ lines: parseLog(text), exitCode: null, signal: null, ...more }).code;
}

it("diagnose, for a run that passed, misses an export in a folder that is not there", () => {
	const argv = ["trtexec", "--loadEngine=e.plan", "--exportTimes=absent/t.json"];
	expect(judged(passed(argv.join(" ")), { argv, exitCode: 0, wrote: [], absent: ["absent/t.json"] })).toBe(
		"export-missing",
	);
});

it("diagnose, for a run that passed, explains why times are missing beside a profile", () => {
	const argv = ["trtexec", "--loadEngine=e.plan", "--exportTimes=t.json", "--exportProfile=p.json"];
	const wrote = [{ path: "p.json", bytes: 100 }];
	expect(judged(passed(argv.join(" ")), { argv, exitCode: 0, wrote, absent: ["t.json"] })).toBe(
		"times-not-written",
	);
});

it("diagnose, for a run that passed, sees an export of no bytes", () => {
	const argv = ["trtexec", "--loadEngine=e.plan", "--exportLayerInfo=l.json"];
	expect(judged(passed(argv.join(" ")), { argv, exitCode: 0, wrote: [{ path: "l.json", bytes: 0 }] })).toBe(
		"export-empty",
	);
});

it("diagnose, for a run that passed, sees an engine that cannot be loaded behind --skipInference", () => {
	const body = [
		`${at}[E] Engine deserialization failed`,
		`${at}[I] Skipped inference phase since --skipInference is added.`,
	];
	expect(judged(passed("trtexec --loadEngine=e.plan --skipInference", body), { exitCode: 0 })).toBe(
		"plan-unloaded",
	);
});

it("diagnose, for a run that passed, sees an input that was filled with random numbers beside one that was given", () => {
	const body = [
		`${at}[I] Using values loaded from a.bin for input left`,
		`${at}[I] Using random values for input right`,
	];
	expect(judged(passed("trtexec --loadEngine=e.plan --loadInputs=left:a.bin", body), { exitCode: 0 })).toBe(
		"inputs-random",
	);
});

it("diagnose, for a run that passed, sees a CUDA graph that was given up", () => {
	const body = [`${at}[W] The CUDA graph capture on the stream has failed.`];
	expect(judged(passed("trtexec --loadEngine=e.plan --useCudaGraph", body), { exitCode: 0 })).toBe(
		"cuda-graph-refused",
	);
});

it("diagnose, for a run that passed, sees a raw file shorter than its shape", () => {
	const body = [
		`${at}[I] Writing file for output binding out put (1) (with datatype fp16 and dimensions 2.10) to out_put__1_.output.2.10.fp16.raw`,
	];
	const wrote = [{ path: "out_put__1_.output.2.10.fp16.raw", bytes: 38 }];
	expect(judged(passed("trtexec --loadEngine=e.plan", body), { exitCode: 0, wrote })).toBe("raw-dump-size");
});

it("diagnose, for a run that passed, does not trust exit code 0 without the last line", () => {
	const text = "&&&& RUNNING TensorRT.trtexec [TensorRT v100600] # trtexec --onnx=m.onnx\n";
	expect(judged(text, { exitCode: 0 })).toBe("ended-early");
});

it("diagnose, for a run that passed, trusts the last line FAILED more than exit code 0", () => {
	expect(judged(passed("trtexec --onnx=m.onnx").replace("PASSED", "FAILED"), { exitCode: 0 })).toBe(
		"unknown",
	);
});

it("diagnose, for a run that passed, lets errors pass that the builder recovered from", () => {
	const body = [`${at}[E] Error[2]: Error Code 2: OutOfMemory (Requested size was 99 bytes.)`];
	expect(judged(passed("trtexec --onnx=m.onnx --saveEngine=e.plan", body), { exitCode: 0 })).toBe("ok");
});

// TensorRT 10.6 of public models: a Squeeze of a speech model, an int32 bias, axes named "?" by their exporter, an If of two ranks.
const failedBuild = `${at}[E] Engine could not be created from network\n${at}[E] Building engine failed`;
const squeezed = `[E] [TRT] ModelImporter.cpp:946: While parsing node number 41 [Squeeze -> "165"]:
[12] Assertion failed: !isDynamic(shape): Cannot infer squeeze dimensions from a dynamic shape! Please re-export your model with the Squeeze axes input set.
${at}[E] Failed to parse onnx file`;
const int32Bias = `[E] Error[3]: IDequantizeLayer::setPrecision: Error Code 3: API Usage Error (Parameter check failed, condition: isQuantized(dataType). A DequantizeLayer can only run in DataType::kINT8, DataType::kFP8 or DataType::kINT4precision)
${at}[E] [TRT] ModelImporter.cpp:946: While parsing node number 0 [DequantizeLinear -> "inner.classifier.0.bias"]:`;
const sharedName = `[E] Error[4]: IBuilder::buildSerializedNetwork: Error Code 4: API Usage Error (?: Input dimensions with this name have different constant values or have contradictory IOptimizationProfile kMIN/kMAX constraints.)
${failedBuild}`;
const unscoped = `[E] Error[2]: [graphScope.cpp::analyze::460] Error Code 2: Internal Error (Assertion tScope.getType() != ScopeType::kUNDEFINED failed. )
${failedBuild}`;

/** One line, as other versions and other models print it, to the code that it must give. Exit code 1 unless the row says more. */
const lines: readonly (readonly [code: string, text: string, more?: Partial<Evidence>])[] = [
	["onnx-file-missing", "Could not open file /models/über net.onnx"],
	["onnx-too-large", "[E] [TRT] ModelImporter.cpp:1: exceeds maximum protobuf size of 2GB"],
	["onnx-unreadable", "[E] [TRT] Failed to parse ONNX model from file: a.onnx"],
	[
		"external-weights-size",
		"[E] [TRT] Unexpected size for the external weights! Expected size: 4 bytes. Actual size: 2",
	],
	[
		"external-weights-path",
		"[E] [TRT] Relative paths to parent (../) are not allowed in ONNX external weights!",
	],
	["initializer-refused", "[E] [TRT] ONNX initializer w cannot be imported into TensorRT!"],
	["plugin-not-found", "[E] [TRT] 3: getPluginCreator could not find plugin: NMS_X version: 1"],
	[
		"operator-unsupported",
		"[E] [TRT] In node 3 with name: a and operator: Det (checkDet): UNSUPPORTED_NODE: Assertion failed: false",
	],
	["conditional-shapes", "[E] Error[4]: IIfConditionalOutputLayer inputs must have the same shape."],
	["squeeze-axes", squeezed],
	["dequantize-type", int32Bias],
	["dims-conflict", sharedName],
	["conditional-shapes", unscoped],
	["topk-limit", "[E] [TRT] This version of TensorRT: K exceeds the maximum value allowed (3840)."],
	["zero-point-unsupported", '[8] Assertion failed: shiftIsAllZeros(zeroPoint) && "TensorRT only supports"'],
	["scale-not-positive", "[E] Error[3]: Scale coefficients must all be positive"],
	["data-type-unsupported", "[E] [TRT] Unsupported ONNX data type: UINT8 (2)"],
	["network-without-output", "[E] Error[4]: Network must have at least one output"],
	["node-types-conflict", "[E] Error[4]: element type (half) differs from (float)"],
	["node-refused", '[E] [TRT] ModelImporter.cpp:9: While parsing node number 7 [Foo -> "z"]:'],
	["parse-failed", "[E] Failed to parse onnx file"],
	[
		"profile-missing",
		"[E] Error[4]: Network has dynamic or shape inputs, but no optimization profile has been defined.",
	],
	["profile-input-missing", "[E] Error[4]: input_ids: dynamic input is missing dimensions in profile 0."],
	["profile-shape-values", "[E] optimization profile is missing values for shape input"],
	[
		"profile-violates-constraints",
		"[E] Error[4]: kOPT values for profile 0 violate shape constraints: reshape",
	],
	["profile-rank-mismatch", "[E] Error in set dimensions to profile MIN: Dimensions not provided"],
	[
		"profile-rank-mismatch",
		"[E] Error[4]: IBuilder::buildSerializedNetwork: API Usage Error (x: number of dimensions is 4 but profile 0 has 3.)",
	],
	["profile-index", "[E] Selected profile index 3 exceeds the number of profiles"],
	["shape-spec-invalid", "[E] Found invalid or missing shape spec at profile index 1"],
	[
		"shape-static-mismatch",
		"[E] Error[3]: IExecutionContext::setInputShape (Static dimension mismatch while setting input shape.)",
	],
	[
		"shape-outside-profile",
		"[E] [TRT] Supplied binding dimension [9,3] for bindings[0] exceed min ~ max range at index 0",
	],
	[
		"no-implementation",
		"[E] Error[10]: Error Code 10: Internal Error (Could not find any implementation for node {ForeignNode[a...b]}.)",
	],
	["compiler-check-failed", "[E] [TRT] MyelinCheckException: gpu.cpp:12: CHECK(x) failed."],
	["io-type-mismatch", "[E] Requested input type FP16 does not match the inferred type FP32"],
	["int8-scales-missing", "[E] Error[4]: Calibration failure occurred with no scaling factors detected."],
	[
		"dla-layer-unsupported",
		"[E] Error[9]: Default DLA is enabled but layer softmax_1 is not supported on DLA and falling back to GPU is not enabled.",
	],
	["dla-absent", "[E] Trying to use DLA core on a platform that doesn't have any DLA cores"],
	["build-failed", "[E] Engine could not be created from network"],
	["disk-full", "[E] write failed: No space left on device"],
	["save-failed", "[E] Cannot write to FileStreamWriter"],
	["engine-empty", '[E] Assertion failure: false && "Attempting to access an empty engine!"'],
	[
		"plan-other-version",
		"[E] Error[6]: The engine plan file is not compatible with this version of TensorRT, expecting library version 10.14.1.48 got \u0001\u0002",
	],
	[
		"plan-other-gpu",
		"[E] Error[6]: The engine plan file is generated on an incompatible device, expecting compute 8.6 got compute 9.0, please rebuild.",
	],
	[
		"plan-not-a-plan",
		"[E] [TRT] 1: [stdArchiveReader.cpp] Error Code 1: Serialization (Serialization assertion magicTagRead == kMAGIC_TAG failed.Magic tag does not match)",
	],
	[
		"plan-plugin-missing",
		"[E] Error[4]: Cannot deserialize plugin since corresponding IPluginCreator not found in Plugin Registry",
	],
	["plan-refused", "[E] Engine deserialization failed"],
	["input-file-missing", "[E] Uncaught exception detected: Cannot open file in/a.bin!"],
	[
		"input-file-size",
		"[E] Uncaught exception detected: Unexpected file size for input file: a.bin. Note: Input binding size is: 40 bytes but the file size is 44 bytes",
	],
	["accuracy-failed", "[E] Accuracy validation FAILED: one or more tensors exceeded the threshold."],
	["context-failed", "[E] Unable to create execution context for stream 0."],
	["inference-failed", "[E] Error occurred during inference"],
	["gpu-memory-run", "Cuda failure at src/common.h:77: out of memory"],
	["no-gpu", "[E] [TRT] CUDA initialization failure with error: 100. Please check"],
	["driver-too-old", "Cuda failure: CUDA driver version is insufficient for CUDA runtime version"],
	["gpu-lost", "Cuda failure: system not yet initialized"],
	["gpu-fault", "Cuda failure at a.cpp:9: an illegal memory access was encountered"],
	["cuda-error", "Cuda failure: invalid argument"],
	[
		"plugin-library-missing",
		"[E] Could not load plugin library: libacme.so, due to: libacme.so: cannot open shared object file",
	],
	[
		"library-missing",
		"trtexec: error while loading shared libraries: libnvinfer.so.10: cannot open shared object file: No such file or directory",
		{ exitCode: 127 },
	],
	["program-missing", "bash: line 1: trtexec: command not found", { exitCode: 127 }],
	["program-not-allowed", "", { exitCode: 126 }],
	["program-missing", "", { exitCode: 127 }],
	["program-not-allowed", "", { exitCode: null, spawnError: "spawn trtexec EACCES" }],
	["builder-creation-failed", "[E] Builder creation failed"],
	["model-not-given", "[E] Model missing or format not recognized"],
	["timing-cache-miss", "[E] Error[4]: tactic not found in timing cache"],
	[
		"precision-flag-removed",
		"&&&& RUNNING TensorRT.trtexec [TensorRT v110100] [b1] # trtexec --fp16\n[01/01/2026-00:00:00] [E] Unknown option: --fp16 ",
	],
	[
		"flag-unknown",
		"&&&& RUNNING TensorRT.trtexec [TensorRT v100600] [b1] # trtexec --fp16\n[01/01/2026-00:00:00] [E] Unknown option: --fp32 ",
	],
	[
		"flag-value-invalid",
		"=== Model Options ===\n[01/01/2026-00:00:00] [E] Unknown profiling verbosity: lots",
	],
	["timed-out", "[I] Starting inference", { exitCode: null, signal: "SIGKILL", timedOut: true }],
	["killed", "[I] Starting inference", { exitCode: 137 }],
	["terminated", "[I] Starting inference", { exitCode: 143 }],
	["interrupted", "[I] Starting inference", { exitCode: 130 }],
	["crashed", "[I] Starting inference", { exitCode: null, signal: "SEGV" }],
	[
		"plan-crash",
		"[I] Loading standard plugins",
		{ exitCode: null, signal: "SIGABRT", argv: ["trtexec", "--loadEngine=text.plan"] },
	],
	[
		"inference-crash",
		`${at}[I] Engine deserialized in 0.1 sec.\n${at}[I] Starting inference`,
		{ exitCode: null, signal: "SIGSEGV", argv: ["trtexec", "--loadEngine=a.plan"] },
	],
	[
		"log-incomplete",
		"&&&& RUNNING TensorRT.trtexec [TensorRT v100600] # trtexec --onnx=m.onnx",
		{ exitCode: null },
	],
	["unknown", "[E] Error[2]: Something that nobody has seen"],
];

describe("one line of a failed run", () => {
	for (const [code, text, more] of lines) {
		it(`diagnose gives ${code}: ${text.slice(0, 60).replaceAll("\n", " ")}`, () => {
			const dated = text.replace(/^\[([EWI])\]/, `${at}[$1]`);
			const diagnosis = diagnose({ lines: parseLog(dated), exitCode: 1, signal: null, ...more });
			expect(diagnosis.code).toBe(code);
			expect(diagnosis.title).not.toMatch(/undefined|\s{2}|\s[.,:]/);
			expect(diagnosis.fix).not.toBe("");
		});
	}
});

it("diagnose has at least forty-five codes, each in lower case with hyphens", () => {
	expect(diagnosisCodes.length).toBeGreaterThanOrEqual(45);
	for (const code of diagnosisCodes) expect(code).toMatch(/^[a-z0-9]+(?:-[a-z0-9]+)*$/);
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
	const text = `${at}[E] Error[2]: Something that nobody has seen\n${failedBuild}`;
	const { code, excerpt } = diagnose({ lines: parseLog(text), exitCode: 1, signal: null });
	expect([code, excerpt[0]?.text]).toEqual([
		"build-failed",
		`${at}[E] Error[2]: Something that nobody has seen`,
	]);
});

it("diagnose names the first cause and keeps the second", () => {
	const diagnosis = diagnose(recordedEvidence("10.15/fail-save-no-folder"));
	expect(diagnosis.also).toEqual(["save-failed"]);
});

it("diagnose shows how far a run came that was ended from outside", () => {
	expect(diagnose(recordedEvidence("10.6/fail-killed-perf")).excerpt.at(-1)?.text).toContain(
		"Starting inference",
	);
});

it("diagnose reads a plain log without exit code by its last line", () => {
	expect(judged(passed("trtexec --onnx=m.onnx"))).toBe("ok");
	expect(judged(passed("trtexec --onnx=m.onnx").replace("PASSED", "FAILED"))).toBe("unknown");
});

it("diagnose takes names that would poison an object as plain text", () => {
	const text = `${at}[E] Cannot find input tensor with name "__proto__" in the network inputs! Please`;
	expect(diagnose({ lines: parseLog(text), exitCode: 1, signal: null }).title).toContain('"__proto__"');
});

it("diagnose judges an empty log by its end alone", () => {
	expect(judged("", { exitCode: 1 })).toBe("unknown");
	expect(judged("", { exitCode: null, signal: "SIGINT" })).toBe("interrupted");
});
