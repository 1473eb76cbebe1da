// What someone who read each recorded log would say; all others are "ok".
const failures = `
any
io-format-invalid: fail-bad-io-format
tensor-missing: fail-bad-missing-tensor
onnx-unreadable: fail-bad-not-onnx fail-bad-truncated
node-shapes-conflict: fail-bad-shape-mismatch
operator-unsupported: fail-bad-unsupported-op
device-index-unknown: fail-device-index
onnx-path-empty: fail-empty-value
flag-value-invalid: fail-negative-workspace
no-arguments: fail-no-arguments
no-gpu: fail-no-gpu
onnx-file-missing: fail-no-such-model
program-missing: fail-no-such-program
profile-order: fail-shape-out-of-order
shape-on-static-model: fail-shape-static-input
shape-name-unknown: fail-shape-unknown-input
flag-unknown: fail-unknown-flag
external-weights-missing: fail-bad-missing-weights
plugin-library-missing: fail-plugin-missing-file
10.6
int8-uncalibrated: build-classifier-best build-classifier-int8-no-calibration
shape-assumed: build-classifier-no-shapes fail-engine-flipped
precision-ignored: build-classifier-strongly-typed-with-fp16
lean-runtime-missing: build-classifier-version-compatible
plugin-not-found: fail-bad-custom-op
opset-unknown: fail-bad-future-opset
plan-file-empty: fail-engine-empty
plan-file-missing: fail-engine-no-file
plan-truncated: fail-engine-truncated
gpu-memory-build: fail-gpu-memory-build
gpu-memory-run: fail-gpu-memory-context
input-name-unknown: fail-input-unknown-name
interrupted: fail-interrupted-build
terminated: fail-killed-perf fail-terminated-build
flag-value-invalid: perf-percentile-bad
parser-library-missing: fail-no-parser-library
save-failed: fail-save-no-folder
shape-outside-profile: fail-shape-outside-profile
profile-axis-mismatch: fail-shape-wrong-channels
workspace-too-small: fail-workspace-tiny
raw-dump-truncated: golden-data-dependent-fp32-0 golden-data-dependent-fp32-1
10.15
builder-resource-missing: build-classifier-fp32 fail-bad-empty fail-bad-future-opset fail-bad-too-big
  fail-bad-topk-limit fail-interrupted-build fail-killed-build fail-save-disk-full fail-save-no-folder
  fail-shape-wrong-channels fail-shape-wrong-rank fail-terminated-build fail-workspace-tiny
11.2
kernel-library-invalid: build-classifier-fp32 fail-bad-empty fail-bad-future-opset fail-bad-too-big
  fail-bad-topk-limit fail-killed-build fail-save-disk-full fail-save-no-folder fail-shape-wrong-channels
  fail-shape-wrong-rank fail-terminated-build fail-workspace-tiny
builder-resource-missing: build-superres-fp32 fail-no-parser-library
`;

const codes = new Map<string, string>();
let [version, code] = ["", ""];
for (const word of failures.trim().split(/\s+/)) {
	if (/^\d|^any$/.test(word)) version = word;
	else if (word.endsWith(":")) code = word.slice(0, -1);
	else codes.set(`${version}/${word}`, code);
}

/** Without those that fail alike in every version. */
export const recordedFailures = [...codes.keys()].filter((name) => !name.startsWith("any/"));

export const recordedDiagnosis = (name: string) =>
	codes.get(name) ?? codes.get(name.replace(/^[^/]+/, "any")) ?? "ok";

const ofRunner = new Set(
	`builder-resource-missing device-index-unknown gpu-memory-build gpu-memory-run interrupted
kernel-library-invalid lean-runtime-missing no-gpu parser-library-missing program-missing
save-failed terminated`.split(/\s+/),
);

export function recordedKind(code: string): "none" | "runner" | "refusal" {
	if (code === "ok") return "none";
	return ofRunner.has(code) ? "runner" : "refusal";
}
