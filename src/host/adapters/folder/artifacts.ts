// Artifacts in a folder that all runners share, for a host without a service for them. Anyone who can write to it may have
// written what is read.
import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { copyFile, readdir, realpath, rename, rm, stat } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { readInput } from "../../../adapters/process/input-file.ts";
import { errorCode, makeFolders } from "../../../adapters/process/write-error.ts";
import { ConfigError } from "../../../core/errors.ts";
import { inputKinds } from "../../../core/input-kind.ts";
import type { ArtifactStore, RunArtifacts, WorkflowRun } from "../../../ports/code-host.ts";
import { otherNames } from "../../formats/github/names.ts";
import { decodeFile } from "../github/artifacts.ts";
import { attempt } from "../github/faults.ts";

export function folderArtifacts(shared: string, run: WorkflowRun): ArtifactStore {
	return {
		upload: ({ name, root, files }) =>
			inShared(`copy of ${name} to ${shared}`, async () => {
				const folder = await runFolder(shared, run);
				await makeFolders(folder);
				if ((await realpath(folder)) !== folder) throw new Error(`${folder} is behind a symbolic link`);
				// Nobody reads a part of it.
				const copy = join(folder, `.${randomUUID()}`);
				try {
					let bytes = 0;
					for (const path of files) {
						const to = join(copy, relative(root, path));
						await makeFolders(dirname(to));
						await copyFile(path, to, constants.COPYFILE_EXCL);
						bytes += (await stat(to)).size;
					}
					const taken = await moveTo(folder, copy, otherNames(name, run.runAttempt));
					return { artifact: { id: 0, name: taken, bytes } };
				} finally {
					await rm(copy, { recursive: true, force: true });
				}
			}),
	};
}

async function inShared<Value extends object>(what: string, work: () => Promise<Value>) {
	const answer = await attempt(what, work);
	if (answer.state === "done") return answer;
	const fix =
		"Mount the folder that the input `parts` names on this runner, let its user write to it, and run the job again.";
	return { ...answer, fault: { ...answer.fault, fix } };
}

/** @throws Error if the folder is not mounted here. */
async function runFolder(shared: string, { repository, runId }: WorkflowRun) {
	return join(await realpath(shared), ...repository.split("/"), String(runId));
}

async function moveTo(folder: string, copy: string, names: readonly string[]) {
	for (const name of names) {
		try {
			await rename(copy, join(folder, name));
			return name;
		} catch (error) {
			if (!["EEXIST", "ENOTEMPTY", "ENOTDIR"].includes(errorCode(error))) throw error;
		}
	}
	throw new Error("its names are all taken");
}

export function folderRunArtifacts(shared: string, run: WorkflowRun): RunArtifacts {
	return {
		list: () =>
			inShared(`list of the parts in ${shared}`, async () => {
				const folder = await runFolder(shared, run);
				const entries = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
					if (errorCode(error) !== "ENOENT") throw error;
					return [];
				});
				const names = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
				const artifacts = names.sort().map(async (name, id) => {
					const { mtimeMs: uploadedMs } = await stat(join(folder, name));
					return { id, name, bytes: 0, uploadedMs };
				});
				return { artifacts: await Promise.all(artifacts) };
			}),
		async take(artifact, { name, limits }) {
			try {
				const path = join(await runFolder(shared, run), artifact.name, name);
				const real = await realpath(path).catch(() => null);
				if (real === null) return { state: "absent" };
				if (real !== path) return { state: "refused", reason: `Its ${name} is behind a symbolic link.` };
				return decodeFile(
					await readInput(path, { ...inputKinds.result, maxBytes: limits.bytes }, name),
					name,
				);
			} catch (error) {
				if (!(error instanceof ConfigError)) throw error;
				return { state: "refused", reason: error.message };
			}
		},
	};
}
