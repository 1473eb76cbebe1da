import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { fileModelReader, readPatterns } from "../../src/adapters/files/model-reader.ts";
import { engineSpecs } from "../../src/core/plan/plan.ts";
import { checkSparsity } from "../../src/stages/sparsity.ts";
import { buildConfig } from "../support/build-config.ts";
import { externalTensor, model, tensor } from "../support/onnx-writer.ts";
import { temporaryFolder } from "../support/project.ts";

const [rows, columns] = [1024, 1536];

/** Two weights of 6 MiB, one beside the file: every other row is zero. */
function netWith(broken: readonly number[]): string {
	const folder = temporaryFolder();
	const values = Float32Array.from({ length: rows * columns }, (_, at) => Math.floor(at / columns) % 2);
	writeFileSync(join(folder, "weights.bin"), new Uint8Array(values.buffer));
	for (const at of broken) values[at] = 1;
	const raw = new Uint8Array(values.buffer);
	const path = join(folder, "net.onnx");
	writeFileSync(
		path,
		model({
			nodes: "[inner] a = Gemm(x, own); [outer] y = Gemm(a, beside)",
			initializers: [
				tensor({ name: "own", dims: [rows, columns], raw }),
				externalTensor("beside", [rows, columns], { location: "weights.bin" }),
			],
		}),
	);
	return path;
}

async function found(flags: string, broken: readonly number[], base: readonly number[] = []) {
	const [spec] = engineSpecs(buildConfig("", `{ precision: fp16, flags: [${flags}] }`));
	const arms = [["base", base] as const, ["head", broken] as const];
	const models = await Promise.all(
		arms.map(async ([arm, which]) => {
			const read = await fileModelReader().read(netWith(which));
			return { state: "ready", spec: spec!, arm, model: read } as const;
		}),
	);
	let reads = 0;
	const findings = await checkSparsity(models, {
		patterns: (one) => {
			reads += 1;
			return readPatterns(one);
		},
	});
	return {
		reads,
		codes: findings.map(({ code, node }) => [code, node]),
		text: findings.map(({ message }) => message).join(),
	};
}

/** The last group of the last column: beyond the first chunk. */
const lastGroup = [(rows - 2) * columns + columns - 1];

it("one broken group in one of two weights is found, with its tensor; weights beside the file are read too", async () => {
	const { codes, text } = await found('"--sparsity=enable"', lastGroup);
	expect(codes).toEqual([
		["sparsity-share", undefined],
		["sparsity-lost", "inner"],
	]);
	expect(text).toContain("1 of 2 weights (50.0 %");
	expect(text).toContain(
		`Weight "own" lost its 2:4 pattern: 1 of ${((rows / 4) * columns).toLocaleString("en")} groups`,
	);
});

it("a pattern that neither side has is no loss, and engines without the flag are not read", async () => {
	expect((await found('"--sparsity=enable"', lastGroup, [...lastGroup, 0])).codes).toHaveLength(1);
	expect(await found('"--sparsity=enable"', [])).toMatchObject({
		reads: 1,
		codes: [["sparsity-share", undefined]],
	});
	expect(await found("", lastGroup)).toMatchObject({ reads: 0, codes: [] });
});
