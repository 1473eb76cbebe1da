// The real adapters that goldens need.

import { join } from "node:path";
import { entryStore } from "../../adapters/cache/entries.ts";
import { systemClock } from "../../adapters/clock.ts";
import { readModel, readWeights } from "../../adapters/files/model-reader.ts";
import { fileStore } from "../../adapters/files/store.ts";
import { fileTensorReader } from "../../adapters/files/tensor-reader.ts";
import { onnxRuntimeReference } from "../../adapters/onnxruntime/reference.ts";
import { digestOf } from "../../adapters/process/input-file.ts";
import { createProcesses, type Processes } from "../../adapters/process/processes.ts";
import { inNewFolder } from "../../adapters/process/write-error.ts";
import { cacheFolder, onnxRuntimePlace } from "../../app/compose.ts";
import { stopOnSignals, type Terminal } from "../../app/terminal.ts";
import { version } from "../../app/version.ts";
import { encodeNpy } from "../../formats/tensor/npy.ts";
import { childEnvironment } from "../../host/adapters/github/env.ts";
import type { Reference } from "../../ports/reference.ts";
import type { Clock, Files, ModelReader, Progress, TensorReader } from "../../ports/world.ts";
import type { PackTensor } from "../core/manifest/draft.ts";

export interface GoldenPorts {
	files: Files;
	models: ModelReader;
	tensors: TensorReader;
	reference: Reference;
	clock: Clock;
	progress: Progress;
	processes: Processes;
	pack: PackTensor;
}

/** Outputs of slow cases, for a recording that goes on. */
const maxKeptBytes = 512 * 1024 ** 2;

export async function withGoldenPorts<Result>(
	how: {
		terminal: Terminal;
		progress: Progress;
		onnxruntime: "auto" | "wasm" | "native" | undefined;
		onnxruntimeFolder?: string;
	},
	work: (ports: GoldenPorts, scratchFolder: string) => Promise<Result>,
): Promise<Result> {
	const { terminal, progress, onnxruntime = "auto", onnxruntimeFolder } = how;
	const processes = createProcesses({ env: childEnvironment() });
	const letGo = stopOnSignals(() => void processes.killAll());
	const reference = onnxRuntimeReference({
		flavour: onnxruntime,
		...onnxRuntimePlace({ ...terminal, onnxruntimeFolder }, processes),
		onNative: (note) => terminal.err(`note: ${note}\n`),
		threads: 1,
		kept: {
			store: entryStore({ folder: join(cacheFolder(terminal.environment), "cases"), maxBytes: maxKeptBytes }),
			version,
		},
	});
	const ports: GoldenPorts = {
		files: fileStore(),
		models: { read: (path) => readModel(path, progress, "model") },
		tensors: fileTensorReader(),
		reference: { ...reference, weights: readWeights },
		clock: systemClock(),
		progress,
		processes,
		pack: (tensor) => {
			const bytes = encodeNpy(tensor);
			return { bytes, sha256: digestOf(bytes) };
		},
	};
	try {
		return await inNewFolder("trtgate-golden-", (scratchFolder) =>
			work(ports, scratchFolder).finally(() => processes.killAll()),
		);
	} finally {
		letGo();
	}
}
