// Sorts trtexec's warnings into classes of our own, so that two builds can be compared by what is new.

const classes = [
	["shape-assumed", /Dynamic dimensions required for input|Shape missing for input with dynamic shape/],
	["shape-broadcast", /is being broadcasted to/],
	["int64-binding", /Make sure (?:input|output) .* has Int64 binding/],
	["int64-narrowed", /generated with INT64 weights|cast down to INT32/],
	["weights-clamped", /weights outside the range of \w+ was clamped/],
	["fp16-overflow", /overflow in FP16|Finite FP32 values/],
	[
		"fp16-subnormal",
		/subnormal FP16|smallest positive FP16 subnormal|encountered issues when converting weights|weights are affected by this issue/,
	],
	["weak-typing-deprecated", /Weakly-typed networks have been deprecated/],
	["precision-ignored", /mode is not allowed if graph is strongly typed/],
	["int8-uncalibrated", /Calibrator is not being used|Missing scale and zero-point for tensor/],
	["calibration-ignored", /Calibrator won't be used in explicit quantization mode/],
	["timing-cache-unreadable", /Could not read (?:timing )?cache from|Detected invalid timing cache|timing cache will not be used/],
	["tactic-memory", /insuff?icient memory|Device memory is insufficient|could not be allocated/],
	["backend-skipped", /Skipping this backend strategy/],
	["opset-old", /Models using older opsets are not guaranteed/],
	["lazy-loading-off", /CUDA lazy loading is not enabled/],
	["other-gpu-model", /engine plan file across different models of devices/],
	["cuda-graph-refused", /CUDA graph capture/],
	["flag-deprecated", /(?:is|has been) deprecated/],
	["bound-by-enqueue", /Throughput may be bound by Enqueue Time/],
	["bound-by-input-transfer", /Throughput may be bound by host-to-device/],
	["bound-by-output-transfer", /Throughput may be bound by device-to-host/],
	["compute-unstable", /GPU compute time is unstable/],
	["several-streams", /Multiple inference streams are used/],
] as const satisfies readonly (readonly [string, RegExp])[];

export type WarningClass = (typeof classes)[number][0] | "other";

/** Second lines of a warning: advice that adds nothing. */
const advice = /\[W\] {2,}\S/;

/** Null for a line that only continues the warning before it. */
export function classifyWarning(text: string): WarningClass | null {
	if (advice.test(text)) return null;
	return classes.find(([, pattern]) => pattern.test(text))?.[0] ?? "other";
}
