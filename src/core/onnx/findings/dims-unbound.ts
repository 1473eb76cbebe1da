// Judges whether every dynamic input gets a size: TensorRT builds for size 1 where none is given.
import type { Finding } from "../../schema/result.ts";
import { feeds, type OnnxValue } from "../model.ts";
import { quoteName } from "../quote.ts";
import { formatDims, symbolicDims } from "../shapes.ts";
import { finding, type Rule } from "./subject.ts";

export const dimsUnbound: Rule = ({ model, context, tensorrt }) => {
	if (tensorrt === null) return [];
	const { dims, shapedInputs = [] } = context;
	if (dims === undefined) return toBind(symbolicDims(model.onnx).map(({ name }) => name));
	return feeds(model.onnx.graph)
		.filter((input) => !shapedInputs.includes(input.name))
		.flatMap((input) => unbound(input, (name) => Object.hasOwn(dims, name)));
};

function toBind(names: readonly string[]): Finding[] {
	if (names.length === 0) return [];
	const message = `TensorRT needs sizes for ${names
		.slice(0, 10)
		.map((name) => quoteName(name))
		.join(", ")}${names.length > 10 ? ", …" : ""}; where trtexec gets none it builds for size 1.`;
	return [finding("dims-unbound", { severity: "note", message, fix: "Give min, opt and max in trtgate.yml under `dims`." })];
}

function unbound(input: OnnxValue, isBound: (name: string) => boolean): Finding[] {
	const open = (input.dims ?? [null]).filter((dim) => dim === null || (typeof dim === "string" && !isBound(dim)));
	if (input.kind !== "tensor" || open.length === 0) return [];
	const shape = input.dims === null ? "no shape at all" : `the shape ${formatDims(input.dims)}`;
	const names = open.filter((dim) => typeof dim === "string").map((dim) => quoteName(dim));
	const says = names.length === 0 ? "and the configuration gives none" : `and the configuration gives no size for ${names.join(", ")}`;
	const message = `Input ${quoteName(input.name)} has ${shape}, ${says}: TensorRT would build for size 1.`;
	const byShape = `\`inputs: { ${quoteName(input.name, "")}: { shape: […] } }\``;
	const fix =
		names.length === open.length ? "Give min, opt and max in trtgate.yml under `dims`." : `Give its shape in trtgate.yml: ${byShape}.`;
	return [finding("dims-unbound", { severity: "error", message, fix })];
}
