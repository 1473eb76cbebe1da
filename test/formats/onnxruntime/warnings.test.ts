// ONNX Runtime's warnings, counted by class.
import { expect, it } from "vitest";
import { createWarningCounter } from "../../../src/formats/onnxruntime/failures.ts";

it("createWarningCounter counts warnings by the function that raised them, the most frequent first", () => {
	const counter = createWarningCounter();
	const stamp = "2026-11-21 10:06:32.621724 ";
	for (const line of [
		`${stamp}[W:onnxruntime:, constant_folding.cc:270 ApplyImpl] Could not find a CPU kernel`,
		`${stamp}[W:onnxruntime:, graph.cc:5607 CleanUnusedInitializersAndNodeArgs] Removing initializer 's'. It is not used.`,
		`${stamp}[W:onnxruntime:, graph.cc:5607 CleanUnusedInitializersAndNodeArgs] Removing initializer 't'. It is not used.`,
		`${stamp}[I:onnxruntime:, graph.cc:1 Other] not a warning`,
		"a line of someone else",
	]) {
		counter.add(line);
	}
	expect(counter.classes()).toEqual([
		{ class: "CleanUnusedInitializersAndNodeArgs", count: 2, example: "Removing initializer 's'. It is not used." },
		{ class: "ApplyImpl", count: 1, example: "Could not find a CPU kernel" },
	]);
});

it("createWarningCounter bounds the classes and their words", () => {
	const counter = createWarningCounter();
	for (let i = 0; i < 200; i++) counter.add(`[W:onnxruntime:, x.cc:${i} F${i}${"x".repeat(500)}] ${"y".repeat(5_000)}`);
	expect(counter.classes()).toHaveLength(50);
	for (const found of counter.classes()) expect(found.class.length + found.example.length).toBeLessThanOrEqual(400);
});
