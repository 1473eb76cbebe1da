// Recognises files that are not ONNX models by their first bytes: empty, a Git LFS pointer, text, an archive.
import type { ConfigError } from "../../core/errors.ts";
import { quoteName } from "../../core/onnx/quote.ts";
import { unreadable } from "./cursor.ts";

const utf8 = new TextDecoder();
const lfsPrefix = "version https://git-lfs";
export const headBytes = 512;

/** The first bytes of other files, at an offset, with the kind of file and a fix. */
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

export function judgeHead(head: Uint8Array, size: number, path: string): ConfigError | null {
	if (size === 0)
		return unreadable(
			`${path} is empty (0 bytes).`,
			path,
			"Export or download the model again; a failed export leaves such a file.",
		);
	if (isLfsPointer(head)) {
		return unreadable(
			`${path} is a Git LFS pointer of ${size} bytes, not the model.`,
			path,
			"Run `git lfs pull`; in a workflow, check out with `lfs: true` (actions/checkout).",
		);
	}
	const text = latin1(head);
	const kind = kinds.find(([magic, at]) => text.startsWith(magic, at));
	if (kind !== undefined) {
		const [, , what, fix] = kind;
		return unreadable(`${path} is not an ONNX model: it is ${what}.`, path, fix);
	}
	if (isText(head)) {
		const start = quoteName(utf8.decode(head.subarray(0, 60)));
		return unreadable(
			`${path} is a text file, not an ONNX model: it begins with ${start}.`,
			path,
			"Look into the file: a download may have stored an error page.",
		);
	}
	return null;
}

/** An ONNX model begins with control characters (lengths and tags); text is mostly ASCII. */
function isText(head: Uint8Array): boolean {
	const isSpace = (byte: number): boolean => byte === 9 || byte === 10 || byte === 12 || byte === 13;
	const hasControls = head.some((byte) => byte < 32 && !isSpace(byte));
	const asciiBytes = head.reduce((count, byte) => count + (byte < 127 ? 1 : 0), 0);
	return !hasControls && asciiBytes >= head.length * 0.7;
}

function latin1(bytes: Uint8Array): string {
	return String.fromCharCode(...bytes);
}
