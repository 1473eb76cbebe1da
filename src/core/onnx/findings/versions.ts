// Checks the versions that the file states: IR and operator sets.
import type { Finding } from "../../../../generated/result.ts";
import { quoteName } from "../quote.ts";
import { isAtLeast, type TensorRt } from "../tensorrt/support.ts";
import { finding, type Rule, type Subject } from "./subject.ts";

/** Tried on ONNX Runtime 1.30: opset 26, ai.onnx.ml 5 and IR 13 load, 27, 6 and 14 do not. */
const onnxRuntime = { version: "1.30", opset: 26, ml: 5, ir: 13 };
export const newestOpset = onnxRuntime.opset;
/** The parser's document names 9 as the oldest; NVIDIA's ONNX opset guide for TensorRT 11 names 25 as the newest, one more than the document. */
const tensorRt = { oldest: 9, newestOf11: 25 };
/** ONNX 1.23 defines opset 28 and adds about two a year: a number far beyond is a mistake, which TensorRT passes over. */
const farthestOpset = 36;
/** ONNX Runtime promises support from here on. */
const oldestPromised = 7;

export const versions: Rule = (subject) => [
	...irVersion(subject),
	...missingOpsets(subject),
	...tooNew(subject),
	...tooOld(subject),
];

function irVersion({ model, context }: Subject): Finding[] {
	const { irVersion: ir } = model.onnx;
	if (ir <= onnxRuntime.ir) return [];
	const isOrt = context.backend === "onnxruntime";
	return [
		finding(
			"ir-too-new",
			`The file's IR version is ${ir}; ONNX Runtime ${onnxRuntime.version} reads up to ${onnxRuntime.ir}${isOrt ? "" : ", so that it cannot make goldens of this model"}.`,
			{
				severity: isOrt ? "error" : "note",
				fix: `Save the model with model.ir_version = ${onnxRuntime.ir}, or export with an older onnx package.`,
			},
		),
	];
}

/** A file that names no operator set at all is refused; a single missing domain is taken at its latest version. */
function missingOpsets({ scopes, model }: Subject): Finding[] {
	if (Object.keys(model.onnx.opsets).length === 0) {
		return [finding("opset-missing", "The file names no operator set, so its operators are undefined.")];
	}
	const missing = new Set(
		scopes.flatMap((scope) =>
			scope.nodes.map((node) => node.domain).filter((domain) => !Object.hasOwn(scope.opsets, domain)),
		),
	);
	return [...missing].map((domain) =>
		finding(
			"opset-missing",
			`The model uses operators of ${domainName(domain)} without naming that operator set's version.`,
			{
				severity: "warning",
			},
		),
	);
}

function tooNew({ model, context, tensorrt }: Subject): Finding[] {
	const isOrt = context.backend === "onnxruntime";
	const opset = model.onnx.opsets[""] ?? 0;
	const ml = model.onnx.opsets["ai.onnx.ml"] ?? 0;
	const found: Finding[] = [];
	const fix = (newest: number): string =>
		`Export with opset ${newest} or older, or convert with onnx.version_converter.`;
	if (isOrt && opset > onnxRuntime.opset) {
		const message = `The model's opset is ${opset}; ONNX Runtime ${onnxRuntime.version} reads up to ${onnxRuntime.opset}.`;
		found.push(finding("opset-too-new", message, { fix: fix(onnxRuntime.opset) }));
	}
	if (isOrt && ml > onnxRuntime.ml) {
		const message = `The model's opset of ai.onnx.ml is ${ml}; ONNX Runtime ${onnxRuntime.version} reads up to ${onnxRuntime.ml}.`;
		found.push(finding("opset-too-new", message, { fix: fix(onnxRuntime.ml) }));
	}
	return tensorrt === null ? found : tooNewForTensorRt(opset, tensorrt);
}

/** TensorRT takes any opset. A version without a list of its own may know what the next one above documents. */
function tooNewForTensorRt(opset: number, tensorrt: TensorRt): Finding[] {
	const { name, at, above } = tensorrt;
	const isNewest = isAtLeast(tensorrt, 11, 0) !== false;
	const certain = isNewest ? tensorRt.newestOf11 : at.newestOpset;
	if (opset <= certain) return [];
	const possible = isNewest ? certain : (above?.newestOpset ?? certain);
	const meaning = "may misread newer operators silently";
	const fix = `Export with opset ${certain} or older, or convert with onnx.version_converter.`;
	const base = `The model's opset is ${opset}`;
	if (opset > farthestOpset) {
		const message = `${base}; ONNX has no such operator set, and ${name} would guess what its operators mean and report success.`;
		return [finding("opset-too-new", message, { fix })];
	}
	if (opset > possible) {
		return [
			finding("opset-too-new", `${base}; ${name} documents up to ${possible} and ${meaning}.`, {
				severity: "warning",
				fix,
			}),
		];
	}
	const message = `${base}; TensorRT ${at.version} documents up to ${certain}, ${above?.version} up to ${possible}: ${name} ${meaning}.`;
	return [finding("opset-too-new", message, { severity: "note", fix })];
}

function tooOld({ model, context }: Subject): Finding[] {
	const opset = model.onnx.opsets[""];
	const oldest = context.backend === "tensorrt" ? tensorRt.oldest : oldestPromised;
	if (opset === undefined || opset >= oldest) return [];
	const runtime = context.backend === "tensorrt" ? "TensorRT" : "ONNX Runtime";
	const message = `The model's opset is ${opset}; ${runtime} promises support from ${oldest} on.`;
	return [finding("opset-too-old", message)];
}

function domainName(domain: string): string {
	return domain === "" ? "the standard domain" : `domain ${quoteName(domain)}`;
}
