// Checks the versions that the file states: IR and operator sets.
import type { Finding } from "../../../../generated/result.ts";
import { quoteName } from "../quote.ts";
import { isAtLeast, type TensorRt } from "../tensorrt/support.ts";
import { finding, type Rule, type Subject } from "./subject.ts";

/** Tried on ONNX Runtime 1.30: opset 26, ai.onnx.ml 5 and IR 13 load, 27, 6 and 14 do not. */
const onnxRuntime = { name: "ONNX Runtime 1.30", opset: 26, ml: 5, ir: 13 };
export const newestOpset = onnxRuntime.opset;
/** NVIDIA's ONNX opset guide for TensorRT 11; one more than the parser's document names. */
const newestOpsetOf11 = 25;
/** ONNX 1.23 defines opset 28 and adds about two a year. A far larger number is a mistake, which TensorRT ignores. */
const farthestOpset = 36;

export const versions: Rule = (subject) => {
	const { irVersion: ir, opsets } = subject.model.onnx;
	const { tensorrt } = subject;
	const { name } = onnxRuntime;
	const found = missingOpsets(subject);
	if (ir > onnxRuntime.ir) {
		const result = tensorrt === null ? "" : ", so that it cannot make goldens of this model";
		const message = `The file's IR version is ${ir}; ${name} reads up to ${onnxRuntime.ir}${result}.`;
		const fix = `Save the model with model.ir_version = ${onnxRuntime.ir}, or export with an older onnx package.`;
		found.push(finding("ir-too-new", message, { severity: tensorrt === null ? "error" : "note", fix }));
	}
	if (tensorrt !== null) return [...found, ...tooNewForTensorRt(opsets[""] ?? 0, tensorrt)];
	const limits = [
		{ domain: "", newest: onnxRuntime.opset },
		{ domain: "ai.onnx.ml", newest: onnxRuntime.ml },
	];
	for (const { domain, newest } of limits) {
		const opset = opsets[domain] ?? 0;
		const what = domain === "" ? "opset" : `opset of ${domain}`;
		const message = `The model's ${what} is ${opset}; ${name} reads up to ${newest}.`;
		if (opset > newest) found.push(finding("opset-too-new", message, { fix: olderOpset(newest) }));
	}
	return found;
};

function olderOpset(newest: number): string {
	return `Export with opset ${newest} or older, or convert with onnx.version_converter.`;
}

/** A file that names no operator set at all is refused; a single missing domain is taken at its latest version. */
function missingOpsets({ scopes, model }: Subject): Finding[] {
	if (Object.keys(model.onnx.opsets).length === 0)
		return [finding("opset-missing", "The file names no operator set, so its operators are undefined.")];
	const used = scopes.flatMap(({ nodes, opsets }) =>
		nodes.flatMap(({ domain }) => (Object.hasOwn(opsets, domain) ? [] : [domain])),
	);
	return [...new Set(used)].map((domain) => {
		const name = domain === "" ? "the standard domain" : `domain ${quoteName(domain)}`;
		const message = `The model uses operators of ${name} without naming that operator set's version.`;
		return finding("opset-missing", message, { severity: "warning" });
	});
}

/** TensorRT takes any opset. A version without a list of its own may know what the next one above documents. */
function tooNewForTensorRt(opset: number, tensorrt: TensorRt): Finding[] {
	const { name, at, above } = tensorrt;
	const isNewest = isAtLeast(tensorrt, 11, 0) !== false;
	const newest = isNewest ? newestOpsetOf11 : (above?.newestOpset ?? at.newestOpset);
	if (opset <= newest) return [];
	const isMistake = opset > farthestOpset;
	const what = isMistake
		? `ONNX has no such operator set, and ${name} would guess what its operators mean`
		: `${name} documents up to ${newest} and may misread newer operators silently`;
	const severity = isMistake ? "error" : "warning";
	const message = `The model's opset is ${opset}; ${what}.`;
	return [finding("opset-too-new", message, { severity, fix: olderOpset(newest) })];
}
