// Cuts models after each float tensor and output, for the test and for `test/oracles/cut.py`, which gives a folder.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { cutAt } from "../../src/core/onnx/walk.ts";
import { memorySource } from "../../src/formats/bytes/byte-source.ts";
import { readOnnx } from "../../src/formats/onnx/reader.ts";
import { rewriteOnnx } from "../../src/formats/onnx/write.ts";
import { bisectGraph } from "../../src/golden/core/bisect/search.ts";

const folders = ["base", "head"].map((arm) => `examples/quickstart/${arm}/models`);
const fixtures = ["models", "onnx", "project"].map((name) => `test/fixtures/${name}`);

export function* cuts() {
	for (const folder of [...folders, ...fixtures])
		for (const name of readdirSync(folder).filter((one) => one.endsWith(".onnx"))) {
			const file = join(folder, name);
			const bytes = new Uint8Array(readFileSync(file));
			const model = readable(bytes, file);
			if (model === null) continue;
			const outputs = model.graph.outputs.filter(({ kind }) => kind === "tensor");
			const ofOutputs = outputs.map(({ name, dtype }) => [name, dtype] as const);
			for (const [tensor, dtype] of new Map([...ofOutputs, ...bisectGraph(model, model).comparable]))
				yield { file, tensor, cut: rewriteOnnx(bytes, cutAt(model, { name: tensor, dtype })) };
		}
}

/** Some fixtures are damaged. */
function readable(bytes: Uint8Array, file: string) {
	try {
		return readOnnx(memorySource(bytes), file);
	} catch {
		return null;
	}
}

const [script, out] = process.argv.slice(1);
if (out !== undefined && basename(script ?? "") === "cuts.ts") {
	mkdirSync(out, { recursive: true });
	const index = [...cuts()].map(({ file, tensor, cut }, at) => {
		writeFileSync(join(out, `${at}.onnx`), cut);
		return { file, tensor };
	});
	writeFileSync(join(out, "cuts.json"), JSON.stringify(index));
}
