// Reads the golden that a recording finds in its folder, and decides whether it is an unfinished recording by the same command.
import { join } from "node:path";
import type { GoldenManifest } from "../../../generated/golden.ts";
import { readInputText } from "../../adapters/process/input-file.ts";
import { ConfigError } from "../../core/errors.ts";
import { parseManifest } from "../../core/golden/manifest/parse-manifest.ts";
import type { RunOutputs } from "../../core/golden/record/noise-floor.ts";
import { inputKinds } from "../../core/input-kind.ts";
import type { Files, ModelOnDisk, TensorReader } from "../../ports/world.ts";
import { readTensors } from "../../stages/load-goldens.ts";
import type { CaseToRecord } from "../../stages/record-reference.ts";
import type { RecordOptions } from "./record-options.ts";

export async function readOld({ out }: Pick<RecordOptions, "out">): Promise<GoldenManifest | null> {
	const path = join(out, "golden.json");
	const text = await readManifestText(path);
	return text === null ? null : parseManifest(text, path);
}

/** null where there is none. @throws ConfigError golden-invalid where it cannot be read. */
export async function readManifestText(path: string, shown = path): Promise<string | null> {
	try {
		return await readInputText(path, inputKinds.golden, shown);
	} catch (error) {
		if (error instanceof ConfigError && error.code === "golden-missing") return null;
		throw error;
	}
}

/** A recording that was stopped, with the outputs that it has. */
export interface Begun {
	manifest: GoldenManifest;
	outputs: RunOutputs;
}

/** Whether the golden is of this very command and model, and its trial is not at its end. */
export function mayGoOn(
	old: GoldenManifest | null,
	options: RecordOptions,
	model: ModelOnDisk,
): old is GoldenManifest {
	const state = old?.sensitivity?.state;
	return (
		old !== null &&
		(state === "untested" || state === "unfinished" || state === "sampled") &&
		old.model.sha256 === model.sha256 &&
		settingsOf(old.producer.command ?? "") === settingsOf(options.command)
	);
}

/** Without the options that change no golden. */
function settingsOf(command: string): string {
	return command.replace(/ --(?:time-limit|timeout|notice)(?:=| )\S+| --quiet(?= |$)/g, "");
}

interface Reading {
	folder: string;
	cases: readonly CaseToRecord[];
	ports: { files: Files; tensors: TensorReader };
}

/** null where its tensors are damaged, or its inputs are others than those of now. */
export async function readBegun(
	manifest: GoldenManifest,
	{ folder, cases, ports }: Reading,
): Promise<Begun | null> {
	const outputs = [];
	try {
		for (const golden of manifest.cases) {
			const inputs = await readTensors(golden.inputs, folder, ports);
			const given = cases.find(({ id }) => id === golden.id)?.inputs ?? {};
			const same = Object.entries(inputs).every(
				([name, { data }]) => given[name] !== undefined && Buffer.compare(data, given[name].data) === 0,
			);
			if (!same) return null;
			outputs.push(await readTensors(golden.outputs, folder, ports));
		}
	} catch (error) {
		if (error instanceof ConfigError) return null;
		throw error;
	}
	return { manifest, outputs };
}
