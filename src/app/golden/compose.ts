// The real adapters that goldens need: files, models, tensors, and ONNX Runtime as the reference.

import { createHash } from "node:crypto";
import { join } from "node:path";
import { systemClock } from "../../adapters/clock.ts";
import { fileModelReader, readWeights } from "../../adapters/files/model-reader.ts";
import { fileStore } from "../../adapters/files/store.ts";
import { fileTensorReader } from "../../adapters/files/tensor-reader.ts";
import { childEnvironment } from "../../adapters/github/env.ts";
import { onnxRuntimeReference } from "../../adapters/onnxruntime/reference.ts";
import { createProcesses, type Processes } from "../../adapters/process/processes.ts";
import { inNewFolder } from "../../adapters/process/write-error.ts";
import type { TensorPacker } from "../../core/golden/manifest/draft.ts";
import { encodeNpy } from "../../formats/tensor/npy.ts";
import type { Reference } from "../../ports/reference.ts";
import type { Clock, Files, ModelReader, Progress, TensorReader } from "../../ports/world.ts";
import { cacheFolder, distFolder, nativePlace } from "../compose.ts";
import { stopOnSignals } from "../signals.ts";
import type { Terminal } from "../terminal.ts";

export interface GoldenPorts {
	files: Files;
	models: ModelReader;
	tensors: TensorReader;
	reference: Reference;
	clock: Clock;
	progress: Progress;
	processes: Processes;
	packer: TensorPacker;
}

export type OnnxRuntimeChoice = "auto" | "wasm" | "native";

export async function withGoldenPorts<Result>(
	how: {
		terminal: Terminal;
		progress: Progress;
		onnxruntime: OnnxRuntimeChoice | undefined;
		onnxruntimeFolder?: string | undefined;
	},
	work: (ports: GoldenPorts, scratchFolder: string) => Promise<Result>,
): Promise<Result> {
	const { environment } = how.terminal;
	const processes = createProcesses({ env: childEnvironment() });
	const letGo = stopOnSignals(() => void processes.killAll());
	const reference = onnxRuntimeReference({
		flavour: how.onnxruntime ?? "auto",
		...nativePlace({ ...how.terminal, onnxruntimeFolder: how.onnxruntimeFolder }),
		onNative: (note) => how.terminal.err(`note: ${note}\n`),
		workerPath: join(distFolder(), "ort", "worker.js"),
		nodePath: process.execPath,
		wasmFolder: join(distFolder(), "ort"),
		cacheFolder: cacheFolder(environment),
		processes,
		threads: 1,
		registry: environment.registry,
	});
	try {
		const ports = {
			files: fileStore(),
			models: fileModelReader(),
			tensors: fileTensorReader(),
			clock: systemClock(),
		};
		const full = {
			...ports,
			reference: { ...reference, weights: readWeights },
			progress: how.progress,
			processes,
			packer: npyPacker,
		};
		return await inNewFolder("trtgate-golden-", (scratchFolder) =>
			work(full, scratchFolder).finally(() => processes.killAll()),
		);
	} finally {
		letGo();
	}
}

const npyPacker: TensorPacker = {
	ending: "npy",
	pack: (tensor) => {
		const bytes = encodeNpy(tensor);
		return { bytes, sha256: createHash("sha256").update(bytes).digest("hex") };
	},
};
