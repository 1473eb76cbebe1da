// ONNX Runtime's WebAssembly file with a counter of the instructions that it executes.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pinnedWasm } from "../../src/adapters/onnxruntime/runtime.ts";
import { addCounters, type Counter, findAllocator, instructionCounter } from "./count.ts";

/** Of the file as onnxruntime-web ships it. */
const plainSha256 = "3398c10d07d229bd91b364548e130e0e51a8e5704b88c7c083ebbeb78842dee2";

/**
 * @param folder holds the files of onnxruntime-web.
 * @throws Error where a file is not the pinned one, or the counted file does not come out as pinned.
 */
export function countedRuntime(folder: string): Uint8Array {
	const counted = withCounters(folder, [instructionCounter]);
	const { wasm } = pinnedWasm;
	checkHash(counted, wasm.sha256, `The counted ${wasm.name} (${counted.length} bytes)`);
	return counted;
}

export function withCounters(folder: string, counters: readonly Counter[]): Uint8Array {
	const { wasm, module } = pinnedWasm;
	const plain = readFileSync(join(folder, wasm.name));
	checkHash(plain, plainSha256, join(folder, wasm.name));
	return addCounters(
		plain,
		counters,
		findAllocator(plain, allocatorNames(readFileSync(join(folder, module.name), "utf8"))),
	);
}

/** The exports have short names; the JavaScript that loads the module knows which is which. */
function allocatorNames(script: string): { malloc: string; free: string } {
	const [malloc, free] = ["malloc", "free"].map(
		(name) => new RegExp(`\\b_${name}=\\w+\\.(\\w+);`).exec(script)?.[1],
	);
	if (malloc === undefined || free === undefined)
		throw new Error("The script of ONNX Runtime does not name the exports malloc and free.");
	return { malloc, free };
}

function checkHash(bytes: Uint8Array, expected: string, what: string): void {
	const found = createHash("sha256").update(bytes).digest("hex");
	if (found !== expected)
		throw new Error(
			`${what} has the SHA-256 ${found}; expected ${expected}. After an update, pin the new one.`,
		);
}
