// A project of many models whose runs on an H200 are replayed: copies of the three nets of examples/recorded.
import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Result } from "../generated/result.ts";
import { systemClock } from "../src/adapters/clock.ts";
import { openRecording, type Recording, replay, unpackFolder } from "../src/adapters/replay/backend.ts";
import { silentProgress } from "../src/adapters/terminal/progress.ts";
import { gate } from "../src/app/gate.ts";
import { readEnvironment } from "../src/host/adapters/github/env.ts";
import type { Backend } from "../src/ports/backend.ts";
import type { Ports } from "../src/ports/ports.ts";

/** classifier: the head is a wider net. segmenter: as fast, and wrong. encoder: nothing changed. */
export type Net = "classifier" | "segmenter" | "encoder";

const details: Readonly<Record<Net, { precision: string; model: string; shape: string }>> = {
	classifier: {
		precision: "fp16",
		model: "dims: { batch: { min: 1, opt: 8, max: 8 } }",
		shape: ", batch: 8",
	},
	segmenter: { precision: "fp32", model: "golden: golden/segmenter/golden.json", shape: "" },
	encoder: {
		precision: "fp16",
		model: "dims: { batch: { min: 1, opt: 4, max: 4 }, sequence: { min: 1, opt: 64, max: 64 } }",
		shape: ", batch: 4, sequence: 64",
	},
};

export interface ReplayedProject {
	nets: readonly Net[];
	/** Workloads of each. */
	perModel: number;
	/** What `measure` holds. */
	measure: string;
	/** Empty, or made; it keeps the results. */
	folder: string;
	/** Sees every job. */
	watch?(backend: Backend): Backend;
	ports?: Partial<Ports>;
}

function configOf({ nets, perModel, measure }: ReplayedProject): string {
	const entries = nets.map((net, at) => {
		const { precision, model, shape } = details[net];
		const workloads = Array.from({ length: perModel }, (_, load) => `{ name: load ${load}${shape} }`);
		return `  ${net}-${at}:\n    onnx: models/${net}.onnx\n    ${model}\n    engines: { ${precision}: { precision: ${precision} } }\n    workloads: [${workloads.join(", ")}]\n`;
	});
	const settings = measure === "" ? "" : `measure: { ${measure} }\n`;
	return `version: 1\nbackend: tensorrt\nmodels:\n${entries.join("")}${settings}cache: { engines: false, timing: false, verdicts: false }\n`;
}

/** The runs of one net again and again, for each model that is a copy of it. */
function repeated(recording: Recording, times: number): Recording {
	const again = <Run>(runs: readonly Run[]): Run[] => Array.from({ length: times }, () => runs).flat();
	return {
		...recording,
		engine: async (id) => {
			const [name = "", engine = ""] = id.split("/");
			const recorded = await recording.engine(`${name.replace(/-\d+$/, "")}/${engine}`);
			if (recorded === null) return null;
			const { base, head } = recorded;
			return { base: { ...base, runs: again(base.runs) }, head: { ...head, runs: again(head.runs) } };
		},
	};
}

export async function runReplayed(project: ReplayedProject): Promise<Result> {
	const { folder, perModel, watch = (backend) => backend } = project;
	mkdirSync(folder, { recursive: true });
	const examples = resolve("examples/recorded");
	for (const arm of ["base", "head"]) {
		await unpackFolder(join(examples, arm), join(folder, arm));
		writeFileSync(join(folder, arm, "trtgate.yml"), configOf(project));
	}
	const clock = systemClock();
	const { backend, telemetry } = replay(repeated(await openRecording(examples), 3 * perModel), clock);
	const completed = await gate({
		...{ cwd: folder, base: "base", head: "head", out: "out", inputs: { backend: "onnxruntime" } },
		ports: { backend: watch(backend), telemetry, clock, ...project.ports },
		environment: readEnvironment({ PATH: process.env["PATH"] }),
		progress: silentProgress(),
	});
	if (completed.state !== "ran") throw new Error("nothing ran");
	return completed.result;
}
