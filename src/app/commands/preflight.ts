// `trtgate preflight`: checks an ONNX file without a runtime.
import { resolve } from "node:path";
import { readModel, readStructure } from "../../adapters/files/model-reader.ts";
import { withInput } from "../../adapters/process/input-file.ts";
import { fixedRange } from "../../core/config/dims.ts";
import { usageError } from "../../core/errors.ts";
import { inputKinds } from "../../core/input-kind.ts";
import { figuresOf } from "../../core/onnx/cost/compare.ts";
import { costsOf } from "../../core/onnx/cost/cost.ts";
import { describeModel, renderPreflight } from "../../core/onnx/describe.ts";
import { runnableShapes } from "../../core/onnx/input-shapes/search.ts";
import type { InspectedModel } from "../../core/onnx/model.ts";
import { preflight as findingsOf } from "../../core/onnx/preflight.ts";
import { tables } from "../../core/onnx/tensorrt/support.ts";
import { jsonText } from "../../core/text/escape.ts";
import { exitCodes } from "../exit.ts";
import type { Terminal } from "../terminal.ts";
import { parseArguments } from "./arguments.ts";
import { givenSizes } from "./sizes.ts";
import { preflightTable } from "./tables.ts";

export async function preflight(argv: readonly string[], terminal: Terminal): Promise<number> {
	const args = parseArguments(argv, preflightTable);
	const tensorrt = checkedVersion(args.text("tensorrt"));
	const model = await read(resolve(terminal.cwd, args.positionals[0] ?? ""), args.flag("json"));
	const given = givenSizes(args);
	const isSized = args.isGiven("dims") || args.isGiven("shape");
	// Without sizes, the figures of cost are lower bounds.
	const shapes = isSized ? runnableShapes(model.onnx, given) : {};
	const ranges = Object.entries(given.dims).map(([name, size]) => [name, fixedRange(size)] as const);
	const sizes = isSized ? { dims: Object.fromEntries(ranges), shapes: given.inputs } : {};
	const onTensorRt = (version: string) =>
		findingsOf(model, { backend: "tensorrt", tensorrt: version, ...sizes });
	const findings =
		tensorrt === undefined ? findingsOf(model, { backend: "onnxruntime", ...sizes }) : onTensorRt(tensorrt);
	const unasked = tensorrt === undefined ? tables.at(-1)?.version : undefined;
	const summary = describeModel(model);
	const cost = () => figuresOf(costsOf(model.onnx)({ shapes }));
	terminal.out(
		args.flag("json")
			? jsonText({ model: summary, cost: cost(), findings })
			: renderPreflight(summary, findings, {
					color: terminal.color.out,
					...(unasked !== undefined && { tensorRt: { version: unasked, findings: onTensorRt(unasked) } }),
				}),
	);
	return findings.some((finding) => finding.severity === "error") ? exitCodes.failed : exitCodes.ok;
}

/** Only JSON shows the hash. */
function read(path: string, hashes: boolean): Promise<InspectedModel> {
	return hashes ? readModel(path) : withInput(path, inputKinds.model, (input) => readStructure(input, path));
}

function checkedVersion(version: string | undefined) {
	if (version === undefined || /^[0-9]+(\.[0-9]+){0,3}$/.test(version)) return version;
	throw usageError(
		`--tensorrt takes a version; got ${JSON.stringify(version)}.`,
		"Give major and minor, as in --tensorrt 10.6.",
	);
}
