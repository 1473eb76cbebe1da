import type {
	Comparison,
	GateResult,
	GoldenElement,
	GoldenVerdict,
	Result,
	WorkloadResult,
} from "../../generated/result.ts";
import { compareWork, type Work } from "../../src/core/compare/work.ts";
import {
	buildBuild,
	buildCheck,
	buildComparison,
	buildGate,
	buildGolden,
	buildResult,
	buildRuns,
	buildSibling,
	buildSlowWorkload,
	buildStats,
	buildWorkload,
	recordedMedians,
	watchGpu,
} from "./build-result.ts";

const green = buildResult();

const missing: Partial<Comparison> = { verdict: "missing", estimate: null, interval: null, excluded: null };

function alone(reason: string, verdict: Comparison["verdict"] = "missing") {
	const nothing = buildComparison({ ...missing, verdict, reason, pairs: 0 });
	return { latency: nothing, p99: nothing, memory: nothing, base: null };
}

function segmenterWorkload(): WorkloadResult {
	const stats = buildStats(0.02722, { peakMemoryBytes: 740 * 1024 * 1024 });
	return buildWorkload({
		...{ model: "segmenter", engine: "fp32", workload: "batch 1", precision: "fp32" },
		shapes: { image: [1, 3, 64, 64] },
		latency: buildComparison({ estimate: 0.0008, interval: [-0.0023, 0.0039], excluded: 0.0039 }),
		...{ base: stats, head: stats, noise: { runCv: 0.0014, detectable: 0.0031 } },
		runs: buildRuns(recordedMedians.wrong),
	});
}

function segmenterGolden(name: string, got: number): GoldenVerdict {
	const failing = { allowed: 0.001, pass: false };
	const logits = { index: [0, 4, 17, 33], got: 1.842, expected: 1.97 };
	const mask = { index: [0, 12, 50], got: 3, expected: 1 };
	return buildGolden({
		...{ model: "segmenter", engine: "fp32", precision: "fp32", case: name, state: "mismatch" },
		checks: [
			buildCheck({ ...failing, output: "logits_out", got, base: 3.02e-7, worst: logits }),
			buildCheck({ ...failing, output: "mask", metric: "allclose", got: 0.0217, base: 0, worst: mask }),
		],
	});
}

/** The figures of the recorded comparisons: one net computes something else, one is 4.2 % slower, one is unchanged. */
function mismatchAndSlowdown(): Result {
	const mismatches = { case0: 0.0318, case1: 0.0332 };
	const segmenter = { model: "segmenter", engine: "fp32" };
	const classifier = { model: "classifier" };
	const notes = ["61 % of tactics came from the timing cache."];
	const built = { gate: "build", message: "Built in 19.2 s." } as const;
	const agrees = "1 check agrees with the golden.";
	return buildResult({
		outcome: "fail",
		builds: ["segmenter/fp32", "classifier/fp16", "encoder/fp16"].flatMap((name) => {
			const [model = "", engine = ""] = name.split("/");
			const common = { model, engine, engineBytes: 424_000 };
			const head = model === "classifier" ? { engineBytes: 516_000 } : {};
			return [
				buildBuild({ ...common, arm: "base", durationMs: 27_300 }),
				buildBuild({ ...common, ...head, notes }),
			];
		}),
		golden: [
			...Object.entries(mismatches).map(([name, got]) => segmenterGolden(name, got)),
			...Object.keys(mismatches).map((name) =>
				buildGolden({
					...{ model: "classifier", case: name },
					checks: [buildCheck({ output: "scores", got: 4.1e-4, base: 4.0e-4 })],
				}),
			),
			...green.golden,
		],
		workloads: [segmenterWorkload(), buildSlowWorkload(), buildWorkload()],
		gates: [
			buildGate({ ...segmenter, ...built }),
			...Object.entries(mismatches).map(([name, got]) =>
				buildGate({
					...{ ...segmenter, gate: "golden", case: name, status: "fail" },
					message: `relative-l2 of logits_out is ${got}; allowed at most 0.001.`,
					location: { path: "trtgate.yml", line: 14, column: 7 },
				}),
			),
			buildGate({ ...segmenter, workload: "batch 1" }),
			buildGate({ ...classifier, ...built }),
			...Object.keys(mismatches).map((name) =>
				buildGate({ ...classifier, gate: "golden", case: name, message: agrees }),
			),
			buildGate({
				...{ ...classifier, workload: "batch 8", status: "warn" },
				message: "Slower: +4.2 % (99 % interval +3.7 to +4.6 %), 8 pairs.",
				location: { path: "trtgate.yml", line: 22, column: 5 },
			}),
			...green.gates,
		],
	});
}

function inconclusive(): Result {
	const latency = buildComparison({
		...{ verdict: "inconclusive", estimate: 0.016, interval: [-0.006, 0.038], excluded: 0.038, pairs: 16 },
		reason:
			"Run noise of 2.1 % is too high for a limit of 2 % with 16 pairs; a slowdown of up to 3.8 % is not ruled out.",
	});
	const runs = buildRuns({ base: [39.2, 40.1, 39.9, 38.8, 41.2], head: [40.4, 39.6, 41.3, 40.9, 39.5] });
	runs.push({
		...{ arm: "head", pair: 2, order: 10, state: "unusable", wallMs: 667, medianMs: 0.0447 },
		reason: "Hardware slowdown: the GPU was too hot.",
	});
	return buildResult({
		outcome: "inconclusive",
		workloads: [buildWorkload({ latency, noise: { runCv: 0.021, detectable: 0.022 }, replaced: 1, runs })],
		gates: [
			...green.gates.slice(0, 3),
			buildGate({ workload: "4 × 64", status: "inconclusive", message: "Inconclusive after 16 pairs." }),
		],
	});
}

function buildRefused(): Result {
	const failure = {
		code: "unsupported-operator",
		title: "TensorRT does not know the operator GridSample3D.",
		fix: "Replace the operator in the export, or give its plugin under `plugins`.",
		excerpt: [
			'[E] [TRT] ModelImporter.cpp:828: While parsing node number 41 [GridSample3D -> "warped"]:',
			"[E] Failed to parse onnx file",
		],
	};
	const message = "GridSample3D is not in the operator list of TensorRT 10.6.";
	const log = "logs/build-encoder-fp16-head.log";
	const location = { path: "trtgate.yml", line: 9, column: 5 };
	return buildResult({
		outcome: "fail",
		builds: [buildBuild({ arm: "base" }), buildBuild({ state: "refused", durationMs: 2300, failure, log })],
		...{ golden: [], workloads: [] },
		findings: [
			{
				...{ code: "unknown-operator", severity: "error", message, fix: "Export with opset 20." },
				...{ model: "encoder", node: "warp_1", arm: "head", location: { path: "models/encoder.onnx" } },
			},
		],
		gates: [
			buildGate({ gate: "preflight", status: "fail", message }),
			buildGate({ gate: "build", status: "fail", message: failure.title, location }),
		],
	});
}

function noBase(): Result {
	const runs = buildRuns(recordedMedians.same).filter((run) => run.arm === "head");
	const noise = { runCv: 0.0011, detectable: null };
	const message = "Median 39.63 µs; allowed at most 50.00 µs.";
	return buildResult({
		arms: { base: null, head: green.arms.head, noBase: "the default branch has no trtgate.yml yet" },
		builds: [buildBuild()],
		workloads: [buildWorkload({ ...alone("There is no base."), noise, runs })],
		gates: [...green.gates.slice(0, 3), buildGate({ gate: "max-latency", workload: "4 × 64", message })],
	});
}

const uncompared = buildComparison({
	...{ ...missing, reason: "Not measured: ONNX Runtime's work is counted." },
	...{ pairs: 0, minimalEffect: 0, level: 1 },
});

function countedRow(timed: WorkloadResult, base: number, head: number) {
	const workOf = (instructions: number): Work => ({ instructions, otherInput: instructions });
	const work = compareWork({ base: workOf(base), head: workOf(head) }, 0.02);
	const row: WorkloadResult = {
		...timed,
		precision: "fp32",
		verdict: work.verdict,
		work,
		...{ latency: uncompared, p99: uncompared, memory: uncompared },
		...{ base: null, head: null, noise: { runCv: null, detectable: null } },
		...{ runs: [], notes: undefined, limits: { warn: 0.02 } },
	};
	return { row, gate: judgeWork(row) };
}

function judgeWork({ model, engine, workload, work, verdict }: WorkloadResult): GateResult {
	const status = verdict === "regressed" ? "warn" : "pass";
	const message = `${verdict === "regressed" ? "More work" : "No relevant change of work"}: ${work?.base} → ${work?.head} instructions.`;
	return buildGate({ gate: "work", model, engine, workload, status, message });
}

function onCpu(): Result {
	const { gates, workloads, builds, ...rest } = mismatchAndSlowdown();
	const [segmenter, classifier, encoder] = workloads as [WorkloadResult, WorkloadResult, WorkloadResult];
	const counted = [
		countedRow(segmenter, 19_930_112, 19_930_112),
		countedRow(classifier, 53_951_480, 56_215_904),
		countedRow(encoder, 310_863_776, 310_863_776),
	];
	const kept = gates.filter(({ gate }) => !["latency", "p99", "memory"].includes(gate));
	return {
		...rest,
		builds: builds.map((build) => ({ ...build, engineKind: "ONNX model with recipe", notes: undefined })),
		workloads: counted.map(({ row }) => row),
		gates: [...kept, ...counted.map(({ gate }) => gate)],
		backend: {
			kind: "onnxruntime",
			name: "ONNX Runtime (WebAssembly)",
			version: "1.30.0",
			device: "AMD EPYC 7763, 4 threads",
			caveat: "CPU, not TensorRT",
		},
		environment: { cpu: "AMD EPYC 7763", threads: "4" },
		notes: ["TensorRT was not found: ONNX Runtime ran in its place, on the CPU."],
	};
}

function partial(): Result {
	return buildResult({
		...{ outcome: "error", failureKind: "runner", workloads: [], gates: green.gates.slice(0, 3) },
		partial: { stage: "measure", reason: "interrupted by SIGTERM" },
		errors: [
			{
				...{ kind: "runner", code: "interrupted" },
				message: "The run was interrupted by SIGTERM during measure.",
				fix: "Run the job again with a longer timeout.",
			},
		],
	});
}

function errors(): Result {
	const message = "The engine did not answer: out of memory.";
	const killed = "trtexec was killed by SIGSEGV.";
	return buildResult({
		...{ outcome: "error", failureKind: "runner", workloads: [] },
		golden: [buildGolden({ state: "error", message, checks: [] })],
		gates: [
			buildGate({ gate: "build" }),
			buildGate({ gate: "golden", case: "case0", status: "error", message }),
			buildGate({ gate: "run", workload: "4 × 64", status: "error", message: killed }),
		],
		errors: [
			{
				...{ kind: "runner", code: "tool-crashed", log: "logs/measure-encoder-fp16.log" },
				...{ model: "encoder", engine: "fp16", workload: "4 × 64", arm: "head" },
				message: "trtexec was killed by SIGSEGV after 4.2 s; expected it to end by itself.",
				fix: "Look whether another process holds the GPU's memory, then run again.",
				excerpt: [
					"[I] Starting inference",
					"[E] Error[1]: [defaultAllocator.cpp::allocate::31] Error Code 1: Cuda Runtime (out of memory)",
				],
			},
			{
				...{ kind: "github", code: "github-permission" },
				message: "The comment was not written: the token may not write pull requests.",
				fix: "Add `pull-requests: write` to the job's permissions.",
			},
		],
	});
}

function onWatchedGpu(): Result {
	const slow = buildSlowWorkload();
	const runs = [...slow.runs];
	runs.push({
		...{ arm: "head", pair: 3, order: 16, state: "unusable", wallMs: 667, medianMs: 0.031 },
		reason: "the GPU's clocks were limited by a thermal slowdown by the driver",
	});
	const heat = { throttleReasons: ["sw-thermal"], temperatureC: { mean: 86, min: 85, max: 87 } };
	const use = { smUtilisation: 0.312, memoryBandwidth: 0.084, smOccupancy: 0.21, tensorActivity: 0.055 };
	const workloads = [
		watchGpu({ ...slow, runs, replaced: 1 }, (run) => ({
			...(run.arm === "head" && { smClockMhz: { mean: 1950, min: 1935, max: 1965 } }),
			...(run.state !== "ok" && heat),
			...{ ownMemoryBytes: 731 * 1024 * 1024, otherMemoryBytes: 0, use: { source: "gpm", ...use } },
		})),
		watchGpu(buildWorkload()),
	];
	return { ...mismatchAndSlowdown(), workloads };
}

export const hostileNames = [
	"\"quoted\" and 'single'",
	"two\nlines\r\n## heading",
	"| a | table | row |",
	"<script>alert(1)</script>",
	"emoji 🚀 and 漢字",
	`${"long-name-".repeat(30)}`,
	"@everyone see #12 and https://evil.example/x",
	"\u001b[31mred\u001b[0m \u001b]0;title\u0007 bell\u0007",
	"```js\ncode\n``` `x`",
	"</details></td></table>-->",
	"__proto__",
	"[link](javascript:alert(1)) ![img](http://evil.example/i.png)",
	"\u202egnp.exe\u202c \ud800 \u0000",
	"$x^2$ *bold* ~~gone~~ \\",
	"]]> &amp; &lt;",
];

function hostile(): Result {
	const { 2: row = "", 3: script = "", 4: emoji = "", 6: everyone = "", 9: closing = "" } = hostileNames;
	const worst: GoldenElement = { index: [0], got: "Infinity", expected: "-Infinity" };
	const failing = buildCheck({ pass: false, got: "NaN", worst });
	const each = <Item>(make: (name: string, subject: { model: string; engine: string }) => Item): Item[] =>
		hostileNames.map((name) => make(name, { model: name, engine: name }));
	const paths = ["../../etc/passwd", "/etc/passwd", "javascript:alert(1)", "logs/a b.log"];
	return buildResult({
		outcome: "fail",
		partial: { stage: script, reason: everyone },
		backend: { kind: "tensorrt", name: row, version: emoji, device: script, caveat: closing },
		environment: Object.fromEntries(hostileNames.map((name) => [name, name])),
		arms: { base: { label: script }, head: { label: everyone, commit: "<img src=x>" } },
		config: { path: script },
		workloads: each((name, subject) => {
			const powerW = { mean: 1e300, min: -1e300, max: 1e300 };
			const { gpu, runs } = watchGpu(buildSlowWorkload(), () => ({ throttleReasons: [name], powerW }));
			return buildSlowWorkload({
				...{ ...subject, workload: name, precision: name, shapes: { [name]: [1, 2] }, notes: [name] },
				...{ runs, ...(gpu && { gpu }) },
			});
		}),
		golden: each((name, subject) => {
			const checks = [{ ...failing, output: name, metric: name, detail: name }];
			return buildGolden({ ...subject, case: name, state: "mismatch", message: name, checks });
		}),
		builds: each((name, subject) =>
			buildBuild({
				...{ ...subject, state: "refused", log: name, recipe: { a: name }, notes: [name] },
				failure: { code: name, title: name, fix: name, excerpt: [name, "```", "<!-- -->"] },
				warnings: [{ class: name, count: 1, example: name }],
			}),
		),
		siblings: each((name, subject) =>
			buildSibling({ ...subject, against: `${name}2`, workload: name }, 1, 0.1),
		),
		startUps: each((name, subject) => {
			const parts = { [name]: 1, first: -1 };
			const stats = { processes: 1, parts, totalMs: 1e300, coldMs: -1, steadyAfter: 1 };
			return { ...subject, comparison: buildComparison({ reason: name }), base: null, head: stats };
		}),
		memoryGrowths: each((name, subject) => {
			const figure = {
				figure: "used" as const,
				slope: -1,
				interval: [-1, 1e300] as [number, number],
			};
			const phase = {
				phase: "reloads" as const,
				steps: -1,
				shapes: 0,
				peakBytes: -5,
				usedBytes: -7,
				liveBlocks: -1,
			};
			const phases = [{ ...phase, figures: [{ ...figure, grows: true }] }];
			return { ...subject, state: "unknown" as const, message: name, phases };
		}),
		gates: each((name, subject) => {
			const location = { path: name, line: 1, column: 1 };
			return buildGate({ ...subject, gate: "p99", workload: name, status: "fail", message: name, location });
		}),
		findings: each((name) => ({
			...{ code: name, severity: "error", message: name, fix: name, model: name, node: name },
			location: { path: name },
		})),
		errors: each((name) => {
			return { kind: "runner", code: name, message: name, fix: name, excerpt: [name], log: name };
		}),
		notes: hostileNames,
		files: [...hostileNames, ...paths].map((path) => ({ path, what: path })),
	});
}

function manyWorkloads(): Result {
	const model = "resnet50";
	const names = Array.from({ length: 300 }, (_, index) => `batch ${index + 1}`);
	const workloads = names.map((workload, index) =>
		(index % 3 === 0 ? buildSlowWorkload : buildWorkload)({ model, workload }),
	);
	return buildResult({
		outcome: "warn",
		workloads,
		golden: names.map((name) => buildGolden({ model, case: name })),
		gates: workloads.map(({ workload, verdict }) => {
			const status = verdict === "regressed" ? "warn" : "pass";
			return buildGate({ model, workload, status, message: "Slower or not." });
		}),
	});
}

function improvedAndNew(): Result {
	const change = { estimate: -0.031, interval: [-0.0365, -0.0254] as [number, number], excluded: 0.0365 };
	const latency = buildComparison({ verdict: "improved", ...change });
	const noise = { runCv: 0.001, detectable: null };
	return buildResult({
		workloads: [
			buildWorkload({ latency, head: buildStats(0.03844) }),
			buildWorkload({ workload: "16 × 64", ...alone("The base has no such workload."), noise }),
		],
		gates: green.gates,
	});
}

function notComparable(): Result {
	const reason = "The driver differs: base 570, head 580.";
	const stale = "The model's hash is not the one that the golden was made from.";
	const lost = "The base checks this workload; the head no longer does.";
	return buildResult({
		outcome: "inconclusive",
		golden: [buildGolden({ state: "stale", modelChanged: true, message: stale, checks: [] })],
		workloads: [buildWorkload({ ...alone(reason, "not-comparable"), runs: [] })],
		gates: [
			buildGate({ gate: "golden", case: "case0", status: "warn", message: "The golden is stale." }),
			buildGate({ workload: "4 × 64", status: "inconclusive", message: `Not comparable: ${reason}` }),
			buildGate({ gate: "engine-size", status: "fail", message: "Engine 504 KiB → 1.20 MiB (+144 %)." }),
			buildGate({ gate: "coverage", workload: "32 × 64", status: "warn", message: lost }),
		],
	});
}

export const resultCases: Readonly<Record<string, Result>> = {
	"all-green": green,
	"mismatch-and-slowdown": mismatchAndSlowdown(),
	inconclusive: inconclusive(),
	"build-refused": buildRefused(),
	"no-base": noBase(),
	"on-cpu": onCpu(),
	partial: partial(),
	errors: errors(),
	"improved-and-new": improvedAndNew(),
	"not-comparable": notComparable(),
	hostile: hostile(),
	"on-watched-gpu": onWatchedGpu(),
	"many-workloads": manyWorkloads(),
};
