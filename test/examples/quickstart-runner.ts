import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import * as ort from "onnxruntime-web";
import type { GoldenManifest, TensorFile } from "../../generated/golden.ts";

ort.env.wasm.numThreads = 1;

export const quickstart = new URL("../../examples/quickstart/", import.meta.url);
export const models = ["classifier", "detector", "segmenter", "superres"] as const;
export type ModelName = (typeof models)[number];
export type ArmName = "base" | "head";

export function readBytes(path: string): Uint8Array {
	// A Uint8Array of its own: Buffer.slice would share the pool's memory.
	return new Uint8Array(readFileSync(new URL(path, quickstart)));
}

export function sha256(bytes: Uint8Array): string {
	return createHash("sha256").update(bytes).digest("hex");
}

export function readManifest(model: ModelName): GoldenManifest {
	return JSON.parse(new TextDecoder().decode(readBytes(`base/golden/${model}/golden.json`)));
}

export function readValues(model: ModelName, file: TensorFile): Float32Array | Int32Array {
	const bytes = readBytes(`base/golden/${model}/${file.path}`);
	const headerBytes = 10 + new DataView(bytes.buffer, bytes.byteOffset).getUint16(8, true);
	const data = bytes.slice(headerBytes).buffer;
	return file.dtype === "int32" ? new Int32Array(data) : new Float32Array(data);
}

/** ‖got − golden‖ ÷ ‖golden‖. */
export function relativeL2(got: ArrayLike<number>, golden: ArrayLike<number>): number {
	let error = 0;
	let norm = 0;
	for (let index = 0; index < golden.length; index++) {
		error += ((got[index] ?? Number.NaN) - golden[index]!) ** 2;
		norm += golden[index]! ** 2;
	}
	return Math.sqrt(error / norm);
}

export async function errorsOf(model: ModelName, bytes: Uint8Array): Promise<Record<string, number>> {
	const manifest = readManifest(model);
	const worst = Object.fromEntries(Object.keys(manifest.outputs).map((name) => [name, 0]));
	const session = await ort.InferenceSession.create(bytes, { executionProviders: ["wasm"] });
	for (const golden of manifest.cases) {
		const feeds = Object.entries(golden.inputs).map(([name, file]) => [
			name,
			new ort.Tensor("float32", readValues(model, file), file.shape),
		]);
		const results = await session.run(Object.fromEntries(feeds));
		for (const [name, file] of Object.entries(golden.outputs)) {
			const error = relativeL2(results[name]?.data as Float32Array, readValues(model, file));
			worst[name] = Math.max(worst[name] ?? 0, error);
		}
	}
	await session.release();
	return worst;
}

export function relativeL2Limit(model: ModelName, output: string): number | undefined {
	const comparator = readManifest(model).outputs[output]?.comparators?.find(
		({ kind }) => kind === "relative-l2",
	);
	const tolerance = comparator?.tolerance;
	return typeof tolerance === "number" ? tolerance : tolerance?.["fp32"];
}
