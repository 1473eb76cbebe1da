// Keeps a golden on disk while it is recorded: saves it as soon as it is usable, then finishes or reverts it.
import { rm, rmdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { GoldenManifest } from "../../../generated/golden.ts";
import { readInputText } from "../../adapters/process/input-file.ts";
import { ConfigError } from "../../core/errors.ts";
import { inputKinds } from "../../core/input-kind.ts";
import type { Files, ModelOnDisk } from "../../ports/world.ts";
import { confine } from "../../stages/resolve-in-workspace.ts";
import type { TensorToWrite } from "../core/manifest/draft.ts";
import { parseManifest } from "../core/manifest/parse-manifest.ts";
import type { RunOutputs } from "../core/record/noise-floor.ts";
import { readTensors } from "../stages/load-goldens.ts";
import type { CaseToRecord } from "../stages/record-runs.ts";
import type { GoldenPorts } from "./compose.ts";
import type { RecordOptions } from "./record-options.ts";

export async function readManifest(path: string, shown = path): Promise<GoldenManifest | null> {
	try {
		return parseManifest(await readInputText(path, inputKinds.golden, shown), shown);
	} catch (error) {
		if (error instanceof ConfigError && error.code === "golden-missing") return null;
		throw error;
	}
}

export function manifestText(manifest: GoldenManifest): string {
	return `${JSON.stringify(manifest, null, "\t")}\n`;
}

export function tensorPaths({ cases }: GoldenManifest): string[] {
	const files = cases.flatMap(({ inputs, outputs }) => [...Object.values(inputs), ...Object.values(outputs)]);
	return [...new Set(files.map(({ path }) => path))];
}

export function mayGoOn(
	old: GoldenManifest | null,
	options: Pick<RecordOptions, "command">,
	model: Pick<ModelOnDisk, "sha256">,
): boolean {
	return (
		old !== null &&
		["untested", "unfinished", "sampled"].includes(old.sensitivity?.state ?? "") &&
		old.model.sha256 === model.sha256 &&
		settingsOf(old.producer.command ?? "") === settingsOf(options.command)
	);
}

function settingsOf(command: string) {
	return command.replace(/ --(?:time-limit|timeout|notice)(?:=| )\S+| --quiet(?= |$)/g, "");
}

export async function readBegun(
	manifest: GoldenManifest,
	folder: string,
	cases: readonly CaseToRecord[],
	ports: Pick<GoldenPorts, "files" | "tensors">,
): Promise<{ manifest: GoldenManifest; outputs: RunOutputs } | null> {
	const outputs = [];
	try {
		for (const golden of manifest.cases) {
			const inputs = await readTensors(golden.inputs, folder, ports);
			const given = cases.find(({ id }) => id === golden.id)?.inputs ?? {};
			for (const [name, { data }] of Object.entries(inputs))
				if (given[name] === undefined || Buffer.compare(data, given[name].data) !== 0) return null;
			outputs.push(await readTensors(golden.outputs, folder, ports));
		}
	} catch (error) {
		if (error instanceof ConfigError) return null;
		throw error;
	}
	return { manifest, outputs };
}

/** The previous manifest, whose tensors stay until the new golden is finished. */
const previousName = "golden.previous.json";

interface KeptGolden {
	folder: string;
	old: GoldenManifest | null;
	goesOn: boolean;
	/** The new tensors; the old manifest names none of their paths. */
	files(): readonly TensorToWrite[];
}

/** `finish` removes the previous golden's tensors; `takeBack` restores that golden, or leaves nothing. */
export async function keepGolden({ folder, old, goesOn, files: tensors }: KeptGolden, files: Files) {
	const manifestPath = join(folder, "golden.json");
	const previousPath = join(folder, previousName);
	const stale = goesOn ? null : old;
	const before = (await readManifest(previousPath)) ?? stale;
	const removeAll = async (all: (GoldenManifest | null)[], wanted: GoldenManifest | null) => {
		for (const manifest of all) if (manifest !== null) await removeTensors(folder, manifest, wanted, files);
		await rm(previousPath, { force: true });
	};
	let saved: GoldenManifest | null = goesOn ? old : null;
	const save = async (manifest: GoldenManifest) => {
		if (saved === null) {
			await files.makeFolder(folder);
			if (before !== null) await files.writeText(previousPath, manifestText(before));
			await writeTensors(folder, tensors(), files);
		}
		await files.writeText(manifestPath, manifestText(manifest));
		saved = manifest;
	};
	return {
		save,
		async finish(manifest: GoldenManifest) {
			await save(manifest);
			await removeAll([before, stale], manifest);
		},
		async takeBack() {
			if (saved === null) return;
			if (before !== null) await files.writeText(manifestPath, manifestText(before));
			else await rm(manifestPath, { force: true });
			await removeAll([saved, stale], before);
		},
	};
}

async function writeTensors(folder: string, tensors: readonly TensorToWrite[], files: Files) {
	const [first] = tensors;
	if (first !== undefined)
		await rm(join(folder, first.path.split("/")[0] ?? ""), { recursive: true, force: true });
	for (const path of new Set(tensors.map(({ path }) => dirname(join(folder, path)))))
		await files.makeFolder(path);
	for (const { path, bytes } of tensors) await files.writeBytes(join(folder, path), bytes);
}

/** Removes tensors that `kept` does not name, and folders left empty; other files are the user's. */
async function removeTensors(
	folder: string,
	manifest: GoldenManifest,
	kept: GoldenManifest | null,
	files: Files,
) {
	const wanted = new Set(kept === null ? [] : tensorPaths(kept));
	const paths = tensorPaths(manifest).filter((path) => !wanted.has(path));
	for (const path of paths) {
		await confine(files, folder, dirname(path));
		await rm(join(folder, path), { force: true });
	}
	for (const path of paths) {
		try {
			for (let at = dirname(path); at !== "." && at !== ""; at = dirname(at)) await rmdir(join(folder, at));
		} catch {}
	}
	if (kept === null) await rmdir(folder).catch(() => {});
}
