// The kinds of files that others hand to us: what each is called, how large it may be, and which codes its faults have.
import type { ConfigCode } from "./errors.ts";

export interface InputKind {
	/** With its article, for messages. */
	what: string;
	maxBytes: number;
	/** Code where nothing is there. */
	missing: ConfigCode;
	/** Code where something is there that cannot be read. */
	unreadable: ConfigCode;
	/** What to do where nothing is there. */
	fix: string;
}

const mebibyte = 1024 * 1024;
/** Of files that are read piece by piece: weights of the largest models have some hundred GiB. */
const maxStreamedBytes = 1024 * 1024 * mebibyte;

export const inputKinds = {
	config: {
		what: "a config",
		maxBytes: 4 * mebibyte,
		missing: "config-missing",
		unreadable: "config-unreadable",
		fix: "Write one with `trtgate init MODEL`, or name another with --config.",
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
		what: "a tensor file",
		maxBytes: maxStreamedBytes,
		missing: "golden-missing",
		unreadable: "tensor-invalid",
		fix: "Add the file to the repository, fetch it (git lfs pull, dvc pull), or record the golden again.",
	},
	picture: {
		what: "a picture",
		maxBytes: 256 * mebibyte,
		missing: "golden-missing",
		unreadable: "tensor-invalid",
		fix: "Check the path.",
	},
	sound: {
		what: "a WAV file",
		maxBytes: 256 * mebibyte,
		missing: "golden-missing",
		unreadable: "tensor-invalid",
		fix: "Check the path.",
	},
	text: {
		what: "a text file",
		maxBytes: 16 * mebibyte,
		missing: "golden-missing",
		unreadable: "tensor-invalid",
		fix: "Check the path.",
	},
	/** Whose bytes are the model's input. */
	bytes: {
		what: "a file",
		maxBytes: 256 * mebibyte,
		missing: "golden-missing",
		unreadable: "tensor-invalid",
		fix: "Check the path.",
	},
	tokenizer: {
		what: "a tokenizer.json",
		maxBytes: 64 * mebibyte,
		missing: "tokenizer-invalid",
		unreadable: "tokenizer-invalid",
		fix: 'Correct "tokenizer" in the file of --preprocess.',
	},
	asset: {
		what: "a plugin library or calibration cache",
		maxBytes: maxStreamedBytes,
		missing: "asset-missing",
		unreadable: "asset-missing",
		fix: "Correct its path in the config.",
	},
	result: {
		what: "a result.json",
		maxBytes: 64 * mebibyte,
		missing: "result-invalid",
		unreadable: "result-invalid",
		fix: "Check the path.",
	},
	history: {
		what: "a file of a history",
		maxBytes: 64 * mebibyte,
		missing: "path-unreadable",
		unreadable: "path-unreadable",
		fix: "Check the path.",
	},
	/** An engine of ten thousand layers, with every detail, is some tens of megabytes. */
	engineLayers: {
		what: "a file about an engine's layers",
		maxBytes: 256 * mebibyte,
		missing: "engine-missing",
		unreadable: "engine-unreadable",
		fix: "Check the path.",
	},
	pairs: {
		what: "a file of pairs",
		maxBytes: 64 * mebibyte,
		missing: "pairs-invalid",
		unreadable: "pairs-invalid",
		fix: "Check the path.",
	},
	log: { what: "a log of trtexec", maxBytes: maxStreamedBytes, missing: "usage", unreadable: "usage", fix: "Check the path." },
	/** What is to be looked at before anything is read. */
	path: {
		what: "a path that leads to a file or folder",
		maxBytes: maxStreamedBytes,
		missing: "path-unreadable",
		unreadable: "path-unreadable",
		fix: "Correct the path.",
	},
	/** Named on the command line or by the runner. */
	argument: { what: "a JSON file", maxBytes: 64 * mebibyte, missing: "usage", unreadable: "usage", fix: "Check the path." },
} as const satisfies Record<string, InputKind>;
