// ONNX files by version of TensorRT: since 11 the file's types are the precision, so that 10 and 11 need different ones.
import type { OnnxByVersionFile } from "../../../generated/config.ts";
import { ConfigError } from "../errors.ts";
import { listNames } from "../text/labels.ts";
import type { Config, EngineConfig, VersionedFile } from "./config.ts";
import { childPointer } from "./pointer.ts";
import { placeOf, type Resolution } from "./source.ts";
import { checkPath, describeGot, prebuiltFix } from "./values.ts";

export function* checkOnnx(pointer: string, path: string): Resolution<string> {
	const onnx = yield* checkPath(pointer, path);
	const says = `is ${describeGot(onnx)}, an engine by its name`;
	if (/\.(?:engine|plan|trt)$/i.test(onnx))
		yield { pointer, says, expected: "an ONNX file", fix: prebuiltFix };
	return onnx;
}

/** Ranges may not overlap: a mapping has no order that could decide. */
export function* resolveVersions(files: OnnxByVersionFile, pointer: string): Resolution<VersionedFile[]> {
	const found: VersionedFile[] = [];
	for (const [range, path] of Object.entries(files)) {
		const at = childPointer(pointer, range);
		const [, sign = "", digits] = /^(<|>=)?([1-9][0-9]?)$/.exec(range) ?? [];
		const major = Number(digits);
		const from = sign === "<" ? 0 : major;
		const to = sign === "<" ? major - 1 : sign === ">=" ? Number.POSITIVE_INFINITY : major;
		const twin = found.find((other) => from <= other.to && other.from <= to);
		const problem = { pointer: at, at: "key" } as const;
		if (digits === undefined) {
			const expected = 'major versions of TensorRT, such as "11", "<11" or ">=11"';
			yield { ...problem, says: "is no such range", expected, fix: `Write ${expected}.` };
		} else if (twin !== undefined) {
			const says = `overlaps with ${JSON.stringify(twin.range)}`;
			yield { ...problem, says, expected: "one file per version", fix: "Narrow one of the two ranges." };
		}
		found.push({ range, from, to, path: yield* checkOnnx(at, path) });
	}
	return found;
}

export function onnxFilesOf({ onnx, onnxByVersion = [] }: EngineConfig): string[] {
	return [onnx, ...onnxByVersion.map(({ path }) => path)];
}

/** Each engine with its file for this TensorRT. @throws ConfigError config-value if it has none. */
export function onTensorRt<Some extends Pick<Config, "models" | "sources">>(
	config: Some,
	version: string,
): Some {
	const major = Number.parseInt(version, 10);
	const withFile = (engine: EngineConfig, model: string) => {
		const { onnxByVersion: files, pointer } = engine;
		if (files === undefined) return engine;
		const file = files.find(({ from, to }) => from <= major && major <= to);
		if (file !== undefined) return { ...engine, onnx: file.path };
		const ranges = listNames(files.map(({ range }) => JSON.stringify(range)));
		throw new ConfigError({
			code: "config-value",
			message: `${model}/${engine.name} has no ONNX file for TensorRT ${version}; its \`onnx\` names files for ${ranges}.`,
			...placeOf(config, `${pointer}/onnx`),
			pointer: `${pointer}/onnx`,
			fix: `Add one, such as "${major}": models/net.onnx.`,
		});
	};
	const models = config.models.map((model) => {
		return { ...model, engines: model.engines.map((engine) => withFile(engine, model.name)) };
	});
	return { ...config, models };
}
