// Kinds of files from outside, with their names, size limits and error codes.
import type { ConfigCode } from "./errors.ts";

export interface InputKind {
	what: string;
	maxBytes: number;
	missing: ConfigCode;
	unreadable: ConfigCode;
	fix: string;
}

const mebibyte = 1024 * 1024;
/** Read piece by piece; the largest models have some hundred GiB. */
const maxStreamedBytes = 1024 * 1024 * mebibyte;

const checkPath = "Check the path.";
const ofCase = { missing: "golden-missing", unreadable: "tensor-invalid", fix: checkPath } as const;

function always<Code extends ConfigCode>(code: Code) {
	return { missing: code, unreadable: code, fix: checkPath } as const;
}

export const inputKinds = {
	config: {
		what: "a config",
		maxBytes: 4 * mebibyte,
		missing: "config-missing",
		unreadable: "config-unreadable",
		fix: "Write one with `trtgate init MODEL`, or name another with --config or the input `config`.",
	},
	model: {
		what: "a model",
		maxBytes: maxStreamedBytes,
		missing: "model-missing",
		unreadable: "model-unreadable",
		fix: "Check the path. If a command exports the model, set `prepare` in trtgate.yml.",
	},
	golden: {
		what: "a golden manifest",
		maxBytes: 64 * mebibyte,
		missing: "golden-missing",
		unreadable: "golden-invalid",
		fix: "Correct `golden:` in the config, or record one: `trtgate golden record MODEL.onnx --out FOLDER`.",
	},
	tensor: {
		...ofCase,
		what: "a tensor file",
		maxBytes: maxStreamedBytes,
		fix: "Add the file to the repository, fetch it (git lfs pull, dvc pull), or record the golden again.",
	},
	picture: { ...ofCase, what: "an image", maxBytes: 256 * mebibyte },
	text: { ...ofCase, what: "a text file", maxBytes: 16 * mebibyte },
	tokenizer: {
		...always("tokenizer-invalid"),
		what: "a tokenizer.json",
		maxBytes: 64 * mebibyte,
		fix: 'Correct "tokenizer" in the file of --preprocess.',
	},
	asset: {
		...always("asset-missing"),
		what: "a plugin library or calibration cache",
		maxBytes: maxStreamedBytes,
		fix: "Correct its path in the config.",
	},
	arrivals: {
		...always("arrivals-invalid"),
		what: "a file of arrivals",
		maxBytes: 16 * mebibyte,
		fix: "Correct its path in the config.",
	},
	result: { ...always("result-invalid"), what: "a result.json", maxBytes: 64 * mebibyte },
	history: { ...always("path-unreadable"), what: "a file of a history", maxBytes: 64 * mebibyte },
	/** An engine of ten thousand layers has some tens of megabytes. */
	engineLayers: {
		what: "a file about an engine's layers",
		maxBytes: 256 * mebibyte,
		missing: "engine-missing",
		unreadable: "engine-unreadable",
		fix: checkPath,
	},
	pairs: { ...always("pairs-invalid"), what: "a file of pairs", maxBytes: 64 * mebibyte },
	log: { ...always("usage"), what: "a log of trtexec", maxBytes: maxStreamedBytes },
	path: {
		...always("path-unreadable"),
		what: "a path that leads to a file or folder",
		maxBytes: maxStreamedBytes,
		fix: "Correct the path.",
	},
	argument: { ...always("usage"), what: "a JSON file", maxBytes: 64 * mebibyte },
} as const satisfies Record<string, InputKind>;
