// Refuses files that are not ONNX models by their first bytes, or that exceed limits.
import { ConfigError } from "../../core/errors.ts";
import { quoteName } from "../../core/text/escape.ts";

/** Limits on what an ONNX file may cost the reader, far above real models. */
export const limits = {
	/** Protobuf's own default: a file nested deeper is refused by TensorRT and ONNX Runtime too. */
	messageDepth: 100,
	/** Names and list entries kept, nodes and tensors counting as 4; large language models have below 2 million. */
	elements: 4_194_304,
	/** Protobuf fields walked over, kept or not: about one second. */
	fields: 67_108_864,
	textBytes: 1_048_576,
	allTextBytes: 268_435_456,
	/** A string attribute longer than this is skipped: engines and caches are embedded this way. */
	attributeTextBytes: 4096,
	attributeEntries: 1024,
	rank: 255,
	valueElements: 64,
} as const;

const fixOfDamage =
	"Export or download the model again; `onnx.checker.check_model` in Python judges the file.";

export function unreadable(message: string, path: string, fix = fixOfDamage): ConfigError {
	return new ConfigError({ code: "model-unreadable", message, fix, location: { path } });
}

const utf8 = new TextDecoder();
const lfsPrefix = "version https://git-lfs";
export const headBytes = 512;

const kinds: readonly (readonly [magic: string, at: number, what: string, fix: string])[] = [
	["PK\u0003\u0004", 0, "a zip archive (a PyTorch checkpoint, or .npz)", "Export it to ONNX, or unpack it."],
	["\u001f\u008b", 0, "gzip-compressed", "Unpack it first (gunzip)."],
	["(\u00b5/\u00fd", 0, "zstd-compressed", "Unpack it first (unzstd)."],
	["\u0089HDF", 0, "an HDF5 file (Keras)", "Export it to ONNX with tf2onnx."],
	["TFL3", 4, "a TensorFlow Lite model", "Convert it with tf2onnx --tflite."],
	["ORTM", 4, "an ONNX Runtime .ort model", "Give the .onnx file itself."],
	["ftrt", 0, "a TensorRT engine", "Give the ONNX file that the engine was built from."],
	["\u0080\u0002", 0, "a Python pickle", "Export the model with torch.onnx.export."],
];

export function isLfsPointer(head: Uint8Array): boolean {
	return latin1(head.subarray(0, lfsPrefix.length)) === lfsPrefix;
}

/** @throws ConfigError if the file is empty, a Git LFS pointer, text, or of another known kind. */
export function checkHead(head: Uint8Array, size: number, path: string): void {
	const refuse = (what: string, fix: string) => unreadable(`${path} is ${what}.`, path, fix);
	if (size === 0)
		throw refuse(
			"empty (0 bytes)",
			"Export or download the model again; a failed export leaves such a file.",
		);
	if (isLfsPointer(head))
		throw refuse(
			`a Git LFS pointer of ${size} bytes, not the model`,
			"Run `git lfs pull`; in a workflow, check out with `lfs: true` (actions/checkout).",
		);
	const text = latin1(head);
	for (const [magic, at, what, fix] of kinds)
		if (text.startsWith(magic, at)) throw refuse(`not an ONNX model: it is ${what}`, fix);
	if (isText(head))
		throw refuse(
			`a text file, not an ONNX model: it begins with ${quoteName(utf8.decode(head.subarray(0, 60)))}`,
			"Look into the file: a download may have stored an error page.",
		);
}

/** An ONNX model begins with control characters (lengths and tags); text is mostly ASCII. */
function isText(head: Uint8Array) {
	const isSpace = (byte: number) => byte === 9 || byte === 10 || byte === 12 || byte === 13;
	const hasControls = head.some((byte) => byte < 32 && !isSpace(byte));
	const asciiBytes = head.reduce((count, byte) => count + (byte < 127 ? 1 : 0), 0);
	return !hasControls && asciiBytes >= head.length * 0.7;
}

function latin1(bytes: Uint8Array) {
	return String.fromCharCode(...bytes);
}
