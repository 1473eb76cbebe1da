// Which engines are looked into, and what a look that fails leaves behind, with an in-memory backend.
import { describe, expect, it } from "vitest";
import { engineSpecs } from "../../src/core/plan/specs.ts";
import type { Arm, VerdictKind } from "../../src/core/schema/result.ts";
import type { Backend, BuiltEngine, ProfileResult, TraceResult } from "../../src/ports.ts";
import { type Explained, type ExplainInput, explain } from "../../src/stages/explain.ts";
import type { TimedWorkload } from "../../src/stages/measure.ts";
import { buildConfig } from "../support/build-config.ts";
import { fakeBackend, silent, steadyRun } from "../support/fakes.ts";

const [spec] = engineSpecs(buildConfig());

function engine(arm: Arm, engineSha256: string): BuiltEngine {
	const record = { model: "net", engine: "plain", arm, state: "built", durationMs: 1, warnings: [], engineSha256 } as const;
	const graph = { name: "", inputs: [], outputs: [], nodes: [], initializers: [], valueInfo: [], subgraphs: [], sparseInitializers: [] };
	const onnx = { bytes: 0, irVersion: 8, producer: "", producerVersion: "", opsets: {}, graph, functions: [] };
	return { spec: spec!, arm, record: { ...record, warnings: [] }, path: `/${arm}`, model: { path: "", onnx, sha256: arm, external: [] } };
}

function timed(name: string, base: string | null = "a"): TimedWorkload {
	const workload = { id: `net/plain/${name}`, engineId: "net/plain", config: spec!.engine.workloads[0]! };
	const other = base === null ? {} : { base: engine("base", base) };
	return { workload, head: engine("head", "b"), ...other, inputs: [], firstArms: [], estimateMs: 1 };
}

interface Looked {
	layers: string[];
	kernels: string[];
	explained: Explained[];
}

async function look(
	over: Partial<ExplainInput> & { verdicts?: Record<string, VerdictKind> },
	answers: { profile?: ProfileResult; trace?: TraceResult; stopAfter?: number } = {},
): Promise<Looked> {
	const looked: Looked = { layers: [], kernels: [], explained: [] };
	const backend: Backend = {
		...fakeBackend(() => steadyRun(1)),
		async profile(job) {
			looked.layers.push(job.engine.arm);
			return answers.profile ?? { state: "done" };
		},
		async trace(job) {
			looked.kernels.push(job.name);
			return answers.trace ?? { state: "ran", files: [`${job.folder}/${job.name}.nsys-rep`] };
		},
	};
	const { verdicts = {}, ...rest } = over;
	const rows = Object.entries(verdicts).map(([name, verdict]) => ({ id: `net/plain/${name}`, verdict }));
	const input: ExplainInput = {
		workloads: [timed("one"), timed("two")],
		rows,
		nsys: "on-regression",
		outFolder: "/out",
		timeoutMs: 1,
		...rest,
	};
	const reason = () => (looked.explained.length >= (answers.stopAfter ?? Number.POSITIVE_INFINITY) ? "interrupted" : null);
	for await (const explained of explain(input, { backend, progress: silent, interrupt: { reason } })) looked.explained.push(explained);
	return looked;
}

describe("explain", () => {
	it("looks once at the layers of each engine's arms, whatever the number of workloads", async () => {
		const { layers, kernels, explained } = await look({});
		expect(layers).toEqual(["base", "head"]);
		expect(kernels).toEqual([]);
		expect(explained.flatMap(({ files }) => files.map(({ path }) => path))).toHaveLength(4);
		expect(explained[0]?.files[0]?.path).toMatch(/^layers\/.+-base\.layers\.json$/);
	});

	it.each([
		["without a base", null],
		["with one of the same bytes", "b"],
	])("looks at the head alone %s", async (_, base) => {
		expect((await look({ workloads: [timed("one", base)] })).layers).toEqual(["head"]);
	});

	it.each([
		["never", { two: "regressed" }, 0],
		["on-regression", { one: "unchanged", two: "regressed" }, 2],
		["on-regression", { one: "improved", two: "inconclusive" }, 0],
		["always", {}, 4],
	] as const)("looks at kernels %s, of %j: %i times", async (nsys, verdicts, times) => {
		const { kernels, explained } = await look({ nsys, verdicts });
		expect(kernels).toHaveLength(times);
		const reports = explained.flatMap(({ files }) => files.filter(({ path }) => path.startsWith("nsys/")));
		expect(reports).toHaveLength(times);
	});

	it("says what it could not see, and throws nothing", async () => {
		const failure = { code: "tool-crashed", message: "It died.", details: {} } as const;
		const { explained } = await look(
			{ nsys: "always", workloads: [timed("one", null)] },
			{ profile: { state: "failed", failure }, trace: { state: "ran", files: [], sentence: "No nsys." } },
		);
		expect(explained).toEqual([
			{ files: [], note: "The layers of net/plain (head) could not be timed: It died." },
			{ files: [], note: "No nsys." },
		]);
	});

	it("keeps silent on a backend that cannot look into engines", async () => {
		const { explained } = await look({ nsys: "always" }, { profile: { state: "absent" }, trace: { state: "absent" } });
		expect(explained.every(({ files, note }) => files.length === 0 && note === undefined)).toBe(true);
	});

	it("ends when somebody asked to stop", async () => {
		expect((await look({}, { stopAfter: 1 })).layers).toEqual(["base"]);
	});
});
