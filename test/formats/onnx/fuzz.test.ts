import { readFileSync } from "node:fs";
import fc from "fast-check";
import { expect, it } from "vitest";
import { ConfigError } from "../../../src/core/errors.ts";
import { describeModel, renderPreflight } from "../../../src/core/onnx/describe.ts";
import { preflight } from "../../../src/core/onnx/preflight.ts";
import { memorySource } from "../../../src/formats/bytes/byte-source.ts";
import { readOnnx } from "../../../src/formats/onnx/reader.ts";

const runs = Number(process.env["FUZZ_RUNS"] ?? 300);
const seeds = [
	"models/conditional",
	"models/quantised",
	"models/bad-missing-weights",
	"onnx/structures",
	"onnx/number-types",
].map((name) => readFileSync(`test/fixtures/${name}.onnx`));

function readOrNull(bytes: Uint8Array) {
	try {
		return readOnnx(memorySource(bytes), "fuzz.onnx");
	} catch (error) {
		if (error instanceof ConfigError && error.code === "model-unreadable" && error.message.length < 1000)
			return null;
		throw error;
	}
}

function exercise(bytes: Uint8Array) {
	const onnx = readOrNull(bytes);
	if (onnx === null) return;
	const model = { path: "fuzz.onnx", onnx, sha256: "0".repeat(64), external: [] };
	for (const backend of ["onnxruntime", "tensorrt"] as const) {
		const findings = preflight(model, { backend });
		renderPreflight(describeModel(model), findings);
	}
}

const seed = fc.constantFrom(...seeds);
const mutation = fc.tuple(
	fc.nat(),
	fc.oneof(fc.constantFrom(0, 1, 8, 10, 18, 127, 128, 255), fc.integer({ min: 0, max: 255 })),
);

it("the ONNX reader never fails otherwise than by refusing, whatever bytes change", () => {
	fc.assert(
		fc.property(seed, fc.array(mutation, { minLength: 1, maxLength: 12 }), (original, mutations) => {
			const bytes = original.slice();
			for (const [at, byte] of mutations) bytes[at % bytes.length] = byte;
			exercise(bytes);
		}),
		{ numRuns: runs },
	);
});

it("the ONNX reader never fails otherwise than by refusing, whatever is cut out or doubled", () => {
	fc.assert(
		fc.property(seed, fc.tuple(fc.nat(), fc.nat()), fc.boolean(), (...[original, [one, two], doubles]) => {
			const ends = [one % original.length, two % original.length];
			const [from, to] = [Math.min(...ends), Math.max(...ends)];
			const middle = doubles ? original.subarray(from, to) : new Uint8Array(0);
			exercise(Buffer.concat([original.subarray(0, to), middle, original.subarray(doubles ? to : from)]));
			exercise(Buffer.concat([original.subarray(0, from), original.subarray(to)]));
		}),
		{ numRuns: runs },
	);
});

it("the ONNX reader refuses every truncation of a model that is cut inside its graph", () => {
	const whole = readFileSync("test/fixtures/onnx/structures.onnx");
	for (let length = 0; length < 900; length += 7)
		expect(readOrNull(whole.subarray(0, length)), `cut at ${length}`).toBeNull();
});

it("the ONNX reader never fails otherwise than by refusing random bytes behind a plausible start", () => {
	fc.assert(
		fc.property(fc.uint8Array({ maxLength: 400 }), (noise) =>
			exercise(Buffer.concat([Uint8Array.of(8, 8, 0x3a), noise])),
		),
		{ numRuns: runs },
	);
});
