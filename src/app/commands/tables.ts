// Options of the commands, for the parser, `--help` and docs/commands.md.
import type { CommandTable } from "./arguments.ts";

export const json = { does: "Print JSON." } as const;
export const onnxruntime = {
	value: "auto|wasm|native",
	does: "Build of ONNX Runtime.",
} as const;
export const onnxruntimeFolder = {
	value: "DIR",
	does: "Folder whose node_modules has onnxruntime-node, for native.",
	otherwise: "a pinned version is downloaded",
} as const;
export const only = {
	value: "MODEL[/ENGINE]",
	does: "Models or engines, separated by commas; * matches anything.",
	otherwise: "all",
	again: true,
} as const;
export const machine = {
	backend: {
		value: "auto|tensorrt|onnxruntime",
		does: "Backend.",
		otherwise: "the config's",
	},
	onnxruntime: { ...onnxruntime, otherwise: "the config's" },
	"onnxruntime-folder": onnxruntimeFolder,
	device: { value: "GPU", does: "Index or UUID of the GPU.", otherwise: "the config's" },
	trtexec: { value: "PATH", does: "Path of trtexec.", otherwise: "found on PATH or in the usual folders" },
} as const;

export const dims = {
	value: "NAME=SIZE",
	does: "Sizes of symbolic dimensions, separated by commas.",
	again: true,
} as const;

export const shape = {
	value: "INPUT=SIZE,…",
	does: "Full shape of an input with unnamed axes.",
	again: true,
} as const;

export const triedSizes = {
	dims: { ...dims, otherwise: "found by trial" },
	shape: { ...shape, otherwise: "found by trial" },
} as const;

export const demoTable = {
	name: "demo",
	positionals: [],
	does: "runs the gate on examples that ship with trtgate",
	options: {
		recorded: {
			does: "Only replay the recording of TensorRT on an H200.",
			otherwise: "also runs four small networks on ONNX Runtime",
		},
		tune: { does: "Only replay `trtgate tune` on Magika, a public model." },
		out: { value: "DIR", does: "Folder for the reports.", default: "trtgate-demo" },
		json,
	},
	example: "trtgate demo --recorded",
} as const satisfies CommandTable;

export const runTable = {
	name: "run",
	positionals: [],
	does: "runs the gate: builds, checks and times the head, and compares it with the base",
	options: {
		config: {
			value: "FILE",
			does: "Config file.",
			otherwise: "trtgate.yml in --head, else in the current folder",
		},
		base: {
			value: "DIR|REF",
			does: "Folder or git ref to compare with.",
			otherwise: "the config's `baseline`, else none",
		},
		head: { value: "DIR|REF", does: "Folder or git ref to check.", otherwise: "the current folder" },
		only,
		shape: { ...shape, otherwise: "the config's dims and workloads" },
		...machine,
		"base-trtexec": {
			value: "PATH",
			does: "trtexec of another TensorRT, which builds and runs the base.",
			otherwise: "the config's `base`, else that of the head",
		},
		"base-python": {
			value: "PROGRAM",
			does: "Python with that TensorRT's package.",
			otherwise: "the config's, else python3",
		},
		seed: {
			value: "TEXT",
			does: "Seed for the order of the timed runs.",
			otherwise: "by the head's commit and the config's path",
		},
		out: { value: "DIR", does: "Folder for results, reports and logs.", default: "trtgate-out" },
		fresh: { does: "Reuse no engines, kernel timings or golden verdicts." },
		"dry-run": { does: "Print the plan without running it." },
		json,
	},
	example: "trtgate run --base origin/main --only resnet50/fp16",
} as const satisfies CommandTable;

export const preflightTable = {
	name: "preflight",
	positionals: ["MODEL"],
	does: "checks an ONNX file and lists what prevents building or running it",
	options: {
		dims,
		shape,
		tensorrt: {
			value: "VERSION",
			does: "Check for this version of TensorRT.",
			otherwise: "ONNX Runtime, and how much the newest TensorRT would report",
		},
		json,
	},
	example: "trtgate preflight models/resnet50.onnx --tensorrt 10.6",
} as const satisfies CommandTable;

export const costTable = {
	name: "cost",
	positionals: ["MODEL"],
	usage: "MODEL [BASE]",
	does: "counts an ONNX file's multiply-adds, parameters and memory, compared with another file's",
	options: {
		dims,
		shape,
		top: { value: "N", does: "Number of nodes to list.", default: "10" },
		json,
	},
	example: "trtgate cost head/det.onnx base/det.onnx --dims batch=8",
} as const satisfies CommandTable;

export const diagnoseTable = {
	name: "diagnose",
	positionals: ["LOG"],
	does: "explains a trtexec run: what happened, why, and how to fix it",
	options: {
		"exit-code": { value: "N", does: "Exit code of trtexec.", otherwise: "unknown" },
		signal: {
			value: "NAME",
			does: "Signal that killed trtexec, such as SIGKILL.",
			otherwise: "none",
		},
		json,
	},
	example: "trtgate diagnose build.log --exit-code 1",
} as const satisfies CommandTable;

const engineFormat = { value: "text|markdown|json|html", does: "Output format.", default: "text" } as const;
const gpuName = {
	value: "NAME",
	does: "GPU that the engine ran on, such as H200: shows what bounds each layer.",
	otherwise: "unknown",
} as const;

export const diffTable = {
	name: "diff",
	positionals: ["BASE", "HEAD"],
	does: "compares two TensorRT engines node by node: what changed, by how much, and why",
	options: {
		format: engineFormat,
		gpu: gpuName,
		onnx: {
			value: "BASE,HEAD",
			does: "The ONNX models of both, one file if they share it.",
			otherwise: "the only .onnx file beside the layers",
		},
		"engine-ms": {
			value: "BASE,HEAD",
			does: "Latencies in milliseconds, whose difference is explained.",
			otherwise: "the medians in times.json, else the sums of the layer times",
		},
	},
	example: "trtgate diff main/ pull-request/ --format markdown",
} as const satisfies CommandTable;

export const explainTable = {
	name: "explain",
	positionals: ["RESULT|ENGINE"],
	does: "explains why a result changed, or where an engine spends its time",
	options: { format: engineFormat, gpu: gpuName },
	example: "trtgate explain trtgate-out",
} as const satisfies CommandTable;

export const verdictTable = {
	name: "verdict",
	positionals: ["PAIRS.json"],
	does: "computes the verdict for a file of measured pairs",
	options: { json },
	example: "trtgate verdict pairs.json",
} as const satisfies CommandTable;

export const reportTable = {
	name: "report",
	positionals: ["DIR"],
	usage: "DIR | --merge DIR…",
	does: "renders reports from result.json, or merges several results",
	options: {
		merge: { does: "Merge the results in several folders." },
		plan: { value: "FILE", does: "With --merge: job matrix, to detect missing jobs." },
		out: { value: "DIR", does: "With --merge: folder for the merged reports.", default: "trtgate-merged" },
		json,
	},
	example: "trtgate report --merge parts/a parts/b --out merged",
} as const satisfies CommandTable;

export const noteTable = {
	name: "note",
	positionals: ["DIR"],
	does: "shows the result in a note of the merge request, kept up to date (GitLab)",
	options: {
		name: { value: "NAME", does: "Distinguishes several notes.", otherwise: "none" },
		changes: { does: "Write no note while all gates pass." },
	},
	example: "trtgate note trtgate-out",
} as const satisfies CommandTable;

export const reproTable = {
	name: "repro",
	positionals: ["RESULT|FOLDER"],
	does: "packs one failure of a run into a folder to attach to an issue, or replays such a folder",
	options: {
		case: { value: "NAME", does: "Case, or MODEL/ENGINE, to pack.", otherwise: "the first that failed" },
		whole: {
			does: "Pack the whole model, not only its part up to the node that bisection found.",
		},
		head: { value: "DIR", does: "Folder with the run's models.", otherwise: "the config's" },
		base: {
			value: "DIR",
			does: "Folder with the base's models, to pack a part of a model that the head changed.",
		},
		out: { value: "DIR", does: "Folder to write.", otherwise: "trtgate-repro or trtgate-repro-out" },
		trtexec: machine.trtexec,
	},
	example: "trtgate repro trtgate-out --case detector/fp16",
} as const satisfies CommandTable;

export const acceptChangeTable = {
	name: "accept",
	positionals: ["RESULT"],
	does: "accepts in trtgate.yml, once, that engines became slower or larger",
	options: {
		reason: {
			value: "TEXT",
			does: "Why the change is worth it.",
			otherwise: "required unless --prune is given",
		},
		by: { value: "NAME", does: "Who accepts it.", otherwise: "git's user.name" },
		config: { value: "FILE", does: "Config file to write.", default: "trtgate.yml" },
		prune: { does: "Only remove entries that are stale." },
	},
	example: "trtgate accept trtgate-out --reason accuracy",
} as const satisfies CommandTable;
