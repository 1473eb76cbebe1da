// Recorded from ONNX Runtime 1.30.
import fc from "fast-check";
import { expect, it } from "vitest";
import {
	createWarningCounter,
	diagnoseOrt,
	explainRun,
	rules,
} from "../../../src/formats/onnxruntime/failures.ts";
import messages from "../../fixtures/onnxruntime/messages.json" with { type: "json" };
import { cpuMs } from "../../support/cpu-time.ts";

const ortFailureCodes = [...new Set([...rules.map(({ code }) => code), "ort-load-failed"])];

it.each(
	messages.flatMap(({ model, code, wasm, native }) => [
		{ model, code, build: "WebAssembly", ...wasm },
		{ model, code, build: "native", ...native },
	]),
)("reads what the $build build says of $model", ({ code, title, message }) => {
	const failure = diagnoseOrt(message);
	expect(failure).toMatchObject({ code, title });
	expect(failure.title).not.toMatch(/undefined|ERROR_CODE/);
	expect(failure.fix).toMatch(/\.$/);
	expect(failure.excerpt[0]).not.toBe("");
	expect(failure.excerpt.join("\n")).not.toMatch(/onnxruntime\/core/);
});

it("diagnoseOrt has a message in this table for every cause of a model's own", () => {
	const seen = new Set(messages.map((message) => message.code));
	expect(ortFailureCodes.filter((code) => !seen.has(code))).toEqual([
		"ort-input-mismatch",
		"ort-not-started",
		"ort-out-of-memory",
		"ort-disk-full",
		"ort-runtime-broken",
		"ort-run-failed",
		"ort-load-failed",
	]);
});

const noMemory = "WebAssembly.Memory(): could not allocate memory";
it.each([
	["Can't create a session. ERROR_CODE: 6, ERROR_MESSAGE: std::bad_alloc", "ort-out-of-memory"],
	[noMemory, "ort-out-of-memory"],
	[`no available backend found. ERR: [wasm] RangeError: ${noMemory}`, "ort-not-started"],
	[
		"Non-zero status code returned while running If node. Name:'If_0' Status Message: Non-zero status code returned while running Pad node. Name:'pad' Status Message: Pad reflect: post-pad (32) exceeds maximum allowed (15)",
		"ort-run-failed",
	],
	[
		"failed to call OrtRun(). ERROR_CODE: 1, ERROR_MESSAGE: /a/b/onnxruntime/core/providers/cpu/math/element_wise_ops.h:563 void onnxruntime::BroadcastIterator::Init(ptrdiff_t, ptrdiff_t) axis == 1 || axis == largest was false. Attempting to broadcast an axis by a dimension other than 1. 3 by 4\n",
		"ort-run-failed",
	],
	["ENOSPC: no space left on device, write", "ort-disk-full"],
	["no available backend found. ERR: [wasm] Error: Cannot find module 'x.mjs'", "ort-runtime-broken"],
	["/lib64/libm.so.6: version `GLIBC_2.29' not found", "ort-runtime-broken"],
	["something new", "ort-load-failed"],
	["", "ort-load-failed"],
])("diagnoseOrt takes %j for %s", (message, code) => {
	const ofRunner = ["ort-not-started", "ort-disk-full", "ort-runtime-broken"];
	const { code: found, kind } = diagnoseOrt(message);
	expect([found, kind]).toEqual([code, ofRunner.includes(code) ? "runner" : undefined]);
});

it("diagnoseOrt does not send the user to a new export for sizes that only the WebAssembly build reads wrongly", () => {
	const message =
		"Can't create a session. ERROR_CODE: 6, ERROR_MESSAGE: [ShapeInferenceError] Can't merge shape info. Both inferred and declared dimension have values but they differ. Inferred=4 Declared=120 Dimension=0";
	expect(diagnoseOrt(message)).toMatchObject({
		code: "ort-invalid-graph",
		title: "ONNX Runtime infers the sizes 4 and 120 for one dimension.",
		fix: expect.stringContaining("onnxruntime: native"),
	});
});

it("diagnoseOrt bounds names, which a model's author chooses", () => {
	const failure = diagnoseOrt(
		`Could not find an implementation for MatMul(13) node with name '${"n".repeat(9_000)}'\n${"x\n".repeat(500)}`,
	);
	expect(failure.title.length).toBeLessThanOrEqual(300);
	expect(failure.excerpt.length).toBeLessThanOrEqual(20);
	expect(failure.excerpt).not.toEqual([]);
	for (const line of failure.excerpt) expect(line.length).toBeLessThanOrEqual(500);
});

it("diagnoseOrt has an answer for any text, at once", () => {
	fc.assert(
		fc.property(fc.string({ maxLength: 500 }), (text) => ortFailureCodes.includes(diagnoseOrt(text).code)),
	);
	const started = cpuMs();
	for (const part of ["Node (", "Opset 99 is under development", '"', "Error: "])
		diagnoseOrt(part.repeat(18_000 / part.length));
	expect(cpuMs() - started).toBeLessThan(500);
});

const run = "failed to call OrtRun(). ERROR_CODE: 2, ERROR_MESSAGE: ";
it.each([
	[
		`${run}Got invalid dimensions for input: images for the following indices\n index: 3 Got: 16 Expected: 32\n Please fix either the inputs/outputs or the model.`,
		'Input "images" has size 16 in dimension 3, expected 32.',
	],
	[
		`${run}Invalid rank for input: images Got: 3 Expected: 4 Please fix either`,
		'Input "images" has 3 dimensions, expected 4.',
	],
	[
		`${run}Unexpected input data type. Actual: (tensor(int32)) , expected: (tensor(float))`,
		"An input is of type int32, expected float.",
	],
	["input 'images' is missing in 'feeds'.", 'The model\'s input "images" was not given.'],
	[
		"Non-zero status code returned while running Expand node. Name:'e' Status Message: /onnxruntime_src/onnxruntime/core/framework/bfc_arena.cc:360 void* onnxruntime::BFCArena::AllocateRawInternal(size_t, bool, onnxruntime::Stream*) Failed to allocate memory for requested buffer of size 360000000000",
		"ONNX Runtime ran out of memory.",
	],
	[`${run}something new\nand more`, "something new"],
])("explainRun says %j in plain words", (message, words) => {
	expect(explainRun(message)).toBe(words);
});

it("createWarningCounter counts warnings by the function that raised them, the most frequent first", () => {
	const counter = createWarningCounter();
	const stamp = "2026-11-21 10:06:32.621724 ";
	const cleaning = "graph.cc:5607 CleanUnusedInitializersAndNodeArgs";
	const unused = `${stamp}[W:onnxruntime:, ${cleaning}] Removing initializer`;
	for (const line of [
		`${stamp}[W:onnxruntime:, constant_folding.cc:270 ApplyImpl] Could not find a CPU kernel`,
		`${unused} 's'. It is not used.`,
		`${unused} 't'. It is not used.`,
		`${stamp}[I:onnxruntime:, graph.cc:1 Other] not a warning`,
		"a line of someone else",
	])
		counter.add(line);
	const example = "Removing initializer 's'. It is not used.";
	expect(counter.classes()).toEqual([
		{ class: "CleanUnusedInitializersAndNodeArgs", count: 2, example },
		{ class: "ApplyImpl", count: 1, example: "Could not find a CPU kernel" },
	]);
});

it("createWarningCounter bounds the classes and their words", () => {
	const counter = createWarningCounter();
	for (let i = 0; i < 200; i++)
		counter.add(`[W:onnxruntime:, x.cc:${i} F${i}${"x".repeat(500)}] ${"y".repeat(5_000)}`);
	expect(counter.classes()).toHaveLength(50);
	for (const found of counter.classes())
		expect(found.class.length + found.example.length).toBeLessThanOrEqual(400);
});
