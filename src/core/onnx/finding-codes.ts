// Every code that preflight may give a finding, with the severity and the advice that its findings have unless they say otherwise; each has a
// heading in docs/troubleshooting/preflight.md.
import type { Finding } from "../../../generated/result.ts";

export interface FindingKind {
	severity?: Finding["severity"];
	fix?: string;
}

export const findingKinds = {
	"external-data-missing": {
		fix: "Put the file into the model's folder: it belongs to the model and must be checked in, cached or uploaded with it.",
	},
	"external-data-short": {
		fix: "Copy or export the file again together with its model; the two may come from different exports.",
	},
	"external-data-outside": {
		fix: "Save the model with its data beside it: onnx.save(model, path, save_as_external_data=True, location='weights.bin').",
	},
	"external-data-lfs-pointer": {
		fix: "Run `git lfs pull`; in a workflow, check out with `lfs: true` (actions/checkout).",
	},
	"tensor-undefined": {
		fix: "Export the model again; a tool that edited the graph may have removed the tensor's producer.",
	},
	"tensor-duplicate": { fix: "Give each tensor one producer: export again, or rename in the graph." },
	"output-undefined": { fix: "Export the model again with the names of tensors that exist as outputs." },
	"node-name-duplicate": { fix: "Give nodes unique names, or none." },
	"graph-cycle": {
		fix: "Export the model again; a tool that edited the graph may have joined the wrong tensors.",
	},
	"graph-no-outputs": { fix: "Export the model with at least one output." },
	"opset-missing": { fix: "Export again, or add the opset_import with onnx.helper.make_opsetid." },
	"opset-too-new": {},
	"opset-too-old": {
		severity: "warning",
		fix: "Export with a newer opset, or convert with onnx.version_converter.",
	},
	"ir-too-new": {},
	"operator-unknown": {},
	"operator-too-new": {},
	"operator-withdrawn": {
		fix: "Export again with a current exporter: Resize replaces Upsample, ScatterElements replaces Scatter.",
	},
	"operator-signature": { fix: "Export again with the opset that the operator was written for." },
	"operator-kernel": { fix: "Export with another opset or element type, or gate this model on TensorRT." },
	"operator-refused": {},
	"operator-random": {
		severity: "warning",
		fix: "Export for inference (model.eval()), or make the random tensor an input.",
	},
	"operator-unsupported": {},
	"operator-restricted": { severity: "warning" },
	"operator-domain": {
		severity: "warning",
		fix: "Compare the outputs with a golden set, or export with the standard operator.",
	},
	"operator-plugin": { severity: "note" },
	"plugin-absent": {},
	"io-not-tensor": {},
	"io-dtype": {
		fix: "Put a Cast at the border of the graph, so that inputs and outputs are float, float16 or integers.",
	},
	"io-dynamic": { severity: "note" },
	"dims-unbound": {},
	"dims-conflict": {
		fix: "Rename one axis in the ONNX file, e.g. `model.graph.input[0].type.tensor_type.shape.dim[3].dim_param = 'width'` with onnx in Python, or give both the same sizes.",
	},
	"io-shape-tensor": {
		severity: "note",
		fix: "If the build asks for values of a shape input, make it a constant of the export.",
	},
	"protobuf-too-big": {
		fix: "Save the weights beside the model: onnx.save(model, path, save_as_external_data=True, location='weights.bin').",
	},
	"tensor-too-big": { fix: "Check the constant or the dimension that gives this shape." },
	"weights-size": { fix: "Export the model again; the file was damaged, or edited without its weights." },
	"weights-too-big": {
		fix: 'Use a lower precision or a larger GPU, or stream them: `flags: ["--allowWeightStreaming"]`.',
	},
	"weights-unused": {
		severity: "note",
		fix: "Remove them with onnxsim or onnx-graphsurgeon (cleanup); they only make the file larger.",
	},
	"dtype-int64": { severity: "note" },
	"dtype-double": { fix: "Export in float, so that golden and engine compute in the same type." },
	"dtype-unsupported": { severity: "warning", fix: "Cast them before export, to float or INT32." },
	"precision-typed": {},
	"precision-uncalibrated": {
		severity: "warning",
		fix: "Quantise the model (Q/DQ nodes, e.g. with ModelOpt) and name the file as the engine's `onnx`, or name a calibration cache under `calibration`.",
	},
	"precision-hardware": {},
	quantised: { severity: "note" },
	"zero-point-nonzero": {
		severity: "warning",
		fix: "Quantise again symmetrically (activations and weights INT8, zero point 0).",
	},
	"zero-point-unsigned": {
		severity: "warning",
		fix: "Quantise again symmetrically (activations and weights INT8, zero point 0).",
	},
	"scale-not-positive": {
		fix: "Calibrate again: a tensor that was always zero, or NaN, gives such a scale.",
	},
	"shape-mismatch": { fix: "Export the model again; a layer was changed without the one that follows it." },
	"type-mismatch": {
		fix: "Put a Cast before this node, or take out the one that made the other type; then export again.",
	},
	"topk-limit": {},
} as const satisfies Readonly<Record<string, FindingKind>>;

export type FindingCode = keyof typeof findingKinds;
