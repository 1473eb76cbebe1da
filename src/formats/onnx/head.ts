// Recognises by its first bytes a file that is no ONNX model: empty, a Git LFS pointer, text, an archive.
import type { ConfigError } from "../../core/errors.ts";
import { quoteName } from "../../core/onnx/quote.ts";
import { unreadable } from "./cursor.ts";

const utf8 = new TextDecoder();
const lfsPrefix = "version https://git-lfs";
export const headBytes = 512;

interface Kind {
	what: string;
	fix: string;
	at: number;
	magic: string;
}

const ofOther = "Give the .onnx file itself.";
const kinds: readonly Kind[] = [
	{
		what: "a zip archive (a PyTorch checkpoint, or .npz)",
		at: 0,
		magic: "PK\u0003\u0004",
		fix: "Export it to ONNX, or unpack the .onnx file from it.",
	},
	{ what: "gzip-compressed", at: 0, magic: "\u001f\u008b", fix: "Unpack it first (gunzip)." },
	{ what: "zstd-compressed", at: 0, magic: "(\u00b5/\u00fd", fix: "Unpack it first (unzstd)." },
	{ what: "an HDF5 file (Keras)", at: 0, magic: "\u0089HDF", fix: "Export it to ONNX with tf2onnx." },
	{ what: "a TensorFlow Lite model", at: 4, magic: "TFL3", fix: "Convert it with tf2onnx --tflite." },
	{ what: "an ONNX Runtime .ort model", at: 4, magic: "ORTM", fix: ofOther },
	{ what: "a NumPy array", at: 0, magic: "\u0093NUMPY", fix: ofOther },
	{
		what: "a TensorRT engine",
		at: 0,
		magic: "ftrt",
		fix: "Give the ONNX file that the engine was built from.",
	},
	{ what: "a Python pickle", at: 0, magic: "\u0080\u0002", fix: "Export the model with torch.onnx.export." },
	{ what: "a program or library (ELF)", at: 0, magic: "\u007fELF", fix: ofOther },
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
	const kind = kinds.find(({ at, magic }) => text.startsWith(magic, at));
	if (kind) return unreadable(`${path} is not an ONNX model: it is ${kind.what}.`, path, kind.fix);
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
