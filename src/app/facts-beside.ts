// Looks for the files of a recorded run where they may lie beside its record, and takes from them what a diagnosis needs.
import { stat } from "node:fs/promises";
import { isAbsolute, join } from "node:path";
import { fileModelReader } from "../adapters/files/model-reader.ts";
import { modelFacts } from "../core/onnx/model-facts.ts";
import { type Evidence, flagsOf } from "../formats/trtexec/diagnose.ts";
import { givenShapes } from "../formats/trtexec/failures/shape-flags.ts";
import type { LogScan } from "../formats/trtexec/log-scan.ts";
import { touchedBy } from "../formats/trtexec/unverified.ts";

type Known = Evidence & { scan: LogScan };

/** `folders`: where relative paths of the run may begin, the likeliest first. */
export async function withFactsBeside(evidence: Known, folders: readonly string[]): Promise<Known> {
	const touched = touchedBy(evidence);
	const inputs: { path: string; bytes: number }[] = [];
	for (const path of touched.inputs) {
		const found = await find(path, folders);
		if (found !== null) inputs.push({ path, bytes: found.bytes });
	}
	const plan = touched.plan === null ? null : await find(touched.plan, folders);
	const wrote = plan === null || touched.plan === null ? [] : [{ path: touched.plan, bytes: plan.bytes }];
	const model = touched.model === null ? null : await find(touched.model, folders);
	return {
		...evidence,
		inputs,
		...(wrote.length > 0 || evidence.wrote !== undefined ? { wrote: [...(evidence.wrote ?? []), ...wrote] } : {}),
		...(model === null ? {} : await modelOf(model.path, evidence)),
	};
}

async function find(path: string, folders: readonly string[]): Promise<{ path: string; bytes: number } | null> {
	for (const candidate of isAbsolute(path) ? [path] : folders.map((folder) => join(folder, path))) {
		const found = await stat(candidate).catch(() => null);
		if (found?.isFile()) return { path: candidate, bytes: found.size };
	}
	return null;
}

/** A file that is no model says nothing of the run beyond what its log says. */
async function modelOf(path: string, evidence: Known): Promise<Pick<Evidence, "model">> {
	const flags = flagsOf(evidence.argv ?? evidence.scan.facts.command ?? []);
	const shapes = new Map(givenShapes(flags).map(({ input, shape }) => [input, shape.split("x").map(Number)]));
	const model = await fileModelReader()
		.read(path)
		.catch(() => null);
	return model === null ? {} : { model: modelFacts(model, { shapes, leastBits: leastBitsOf(flags) }) };
}

/** Flags that allow smaller elements than floats. */
function leastBitsOf(flags: ReadonlyMap<string, string>): number {
	if (["--int4"].some((flag) => flags.has(flag))) return 4;
	if (["--best", "--int8", "--fp8"].some((flag) => flags.has(flag))) return 8;
	return ["--fp16", "--bf16"].some((flag) => flags.has(flag)) ? 16 : 32;
}
