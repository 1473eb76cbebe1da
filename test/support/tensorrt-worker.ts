import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { onTestFinished } from "vitest";
import { createProcesses } from "../../src/adapters/process/processes.ts";
import { type TensorRtWorker, tensorRtWorker } from "../../src/golden/adapters/tensorrt-worker/worker.ts";
import type { Tensor } from "../../src/golden/core/tensor/tensor.ts";
import { temporaryFolder, writeScript } from "./project.ts";

export const workerPath = resolve("worker/tensorrt.py");
const fakes = resolve("test/support/fake-tensorrt");

/** The interpreter itself rather than a shim before it: it starts many times. Absent or older than 3.8: why these tests cannot run. */
function findPython(): { python: string; missing: string | null } {
	const script = "import sys; print(sys.executable if sys.version_info >= (3, 8) else '')";
	const { stdout, error } = spawnSync("python3", ["-c", script], { encoding: "utf8" });
	if (error !== undefined) return { python: "python3", missing: "python3 is not installed" };
	const python = stdout.trim();
	return python === ""
		? { python: "python3", missing: "python3 is older than 3.8" }
		: { python, missing: null };
}

export const { python, missing } = findPython();

export function fakeEnvironment(): Record<string, string | undefined> {
	return { ...process.env, PYTHONPATH: fakes, PYTHONDONTWRITEBYTECODE: "1" };
}

export function fakeWorker(payloadBytes?: number): TensorRtWorker {
	const processes = createProcesses({ env: fakeEnvironment() });
	onTestFinished(() => processes.killAll());
	return tensorRtWorker({
		python,
		workerPath,
		processes,
		...(payloadBytes === undefined ? {} : { payloadBytes }),
	});
}

export interface FakePlan {
	inputs: { name: string; dtype: string; shape: number[]; host?: boolean; format?: string }[];
	outputs: {
		name: string;
		dtype: string;
		shape: number[];
		op: string;
		from: string;
		to?: string;
		host?: boolean;
		alias?: string;
	}[];
	profiles?: Record<string, number[][]>[];
	/** Its weights are zero until it is refitted. */
	stripped?: boolean;
	behave?: { run: number; do: string }[];
	bytesLeft?: number;
	/** Of which every size must be a multiple; others contradict the network. */
	multiple?: number;
	/** How long deserialization sleeps. */
	loadMs?: number;
	/** How long the GPU is busy, by batch. */
	serviceMs?: number[];
	/** As an engine whose work waits for the host. */
	refusesCapture?: boolean;
	/** More do not fit. */
	mostContexts?: number;
	/** As far as what the module has tells. */
	isTensorRT8?: boolean;
	/** Once, in its nth run. */
	stall?: { run: number; ms: number };
	/** virtual: only sleeping and reading the clock take time. */
	clock?: "virtual";
	leak?: { bytes: number; each: "shape" | "run" | "load"; of: "driver" | "allocator" | "host" };
}

export function writePlan(folder: string, plan: FakePlan): string {
	const path = join(folder, "engine.plan");
	const head = Buffer.alloc(28);
	head.write("ftrt", 0);
	head.set([10, 6, 0, 26], 24);
	writeFileSync(path, Buffer.concat([head, Buffer.from(JSON.stringify(plan))]));
	return path;
}

/**
 * The Python of an installed replay gets these plans in place of the replay's, which hold no engine: the faulty one where the shell
 * finds the test of `$engine` true.
 */
export function installWorker(
	folder: string,
	plans: Readonly<Record<"right" | "faulty", FakePlan>>,
	isFaulty: string,
): void {
	const right = writePlan(temporaryFolder(), plans.right);
	const faulty = writePlan(temporaryFolder(), plans.faulty);
	writeScript(
		join(folder, "replay-bin/python3"),
		`for argument do
	shift
	case "$argument" in --engine=*)
		engine="\${argument#--engine=}"
		if ${isFaulty}
		then argument="--engine=${faulty}"
		else argument="--engine=${right}"
		fi ;;
	esac
	set -- "$@" "$argument"
done
PYTHONPATH="${fakes}" exec "${python}" "$@"`,
	);
}

export const isOfHead = `head -n 1 "$engine" | grep -q '"arm":"head"'`;

export function float32(shape: number[], values: readonly number[]): Tensor {
	return { dtype: "float32", shape, data: new Uint8Array(Float32Array.from(values).buffer) };
}

export function int64(shape: number[], values: readonly number[]): Tensor {
	return { dtype: "int64", shape, data: new Uint8Array(BigInt64Array.from(values.map(BigInt)).buffer) };
}
