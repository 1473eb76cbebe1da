// Polygraphy's RunResults whole: every runner, iteration and output, each array in its own layout.
import { isObject } from "../../core/found.ts";
import type { RunnerResults } from "../../core/golden/polygraphy/judge-runs.ts";
import type { Tensor } from "../../core/golden/tensor/tensor.ts";
import { refuseLfsPointer } from "../tensor/decode.ts";
import { decodeOwnNpy } from "../tensor/npy.ts";
import { tensorInvalid } from "../tensor/refusal.ts";
import { fieldOf, npyOf } from "./polygraphy.ts";

const saveAgain = "Save the results of both runs with `polygraphy run … --save-outputs FILE.json`.";

/** @throws ConfigError tensor-invalid. */
export function parseRunResults(bytes: Uint8Array, path: string): RunnerResults[] {
	refuseLfsPointer(bytes, path);
	const list = fieldOf(parse(bytes, path), "lst");
	if (!Array.isArray(list)) throw tensorInvalid(path, "Polygraphy's RunResults", "other JSON", saveAgain);
	return list.map((pair: unknown) => {
		const [runner, iterations]: unknown[] = Array.isArray(pair) ? pair : [];
		if (typeof runner !== "string" || !Array.isArray(iterations)) {
			throw tensorInvalid(path, "pairs of a runner and its iterations", "something else", saveAgain);
		}
		return { runner, iterations: iterations.map((iteration: unknown) => outputsOf(iteration, path)) };
	});
}

/** JavaScript moves keys that are whole numbers to the front; with this before them they stay where they are. */
const mark = "\0";
const wholeNumberKey = /(?<!\\)"(\d{1,10})"(?=\s*:)/g;

function parse(bytes: Uint8Array, path: string): unknown {
	try {
		const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
		return JSON.parse(text.replace(wholeNumberKey, '"\\u0000$1"'));
	} catch {
		throw tensorInvalid(path, "Polygraphy's JSON", "invalid JSON", saveAgain);
	}
}

function outputsOf(iteration: unknown, path: string): Map<string, Tensor> {
	const outputs = fieldOf(iteration, "outputs");
	if (!isObject(outputs)) throw tensorInvalid(path, "arrays by name", "something else", saveAgain);
	return new Map(
		Object.entries(outputs).map(([key, value]) => [
			key.startsWith(mark) ? key.slice(mark.length) : key,
			decodeOwnNpy(npyOf(value, path), path),
		]),
	);
}
