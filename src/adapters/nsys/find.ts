// Finds NVIDIA's profilers: on PATH, or where their installers put them.
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Processes } from "../process/processes.ts";

export type NsightTool = "nsys" | "ncu";

/** A folder whose subfolders of that name are versions, and where in each of them the program lies. */
interface InstallPlace {
	parent: string;
	folders: RegExp;
	program: string;
}

/** The installers' own folders, then the CUDA toolkits, whose `bin` has a script that starts the newest. */
const usualPlaces: Readonly<Record<NsightTool, readonly InstallPlace[]>> = {
	nsys: [
		{ parent: "opt/nvidia/nsight-systems", folders: /^\d/, program: "bin/nsys" },
		{ parent: "opt/nvidia/nsight-systems-cli", folders: /^\d/, program: "bin/nsys" },
		{ parent: "usr/local", folders: /^cuda/, program: "bin/nsys" },
	],
	ncu: [
		{ parent: "opt/nvidia/nsight-compute", folders: /^\d/, program: "ncu" },
		{ parent: "usr/local", folders: /^cuda/, program: "bin/ncu" },
	],
};

const probeTimeoutMs = 30_000;

/** The program as it is to be started; null where there is none that starts. `root` stands in for `/`. */
export async function findNsight(tool: NsightTool, { processes, root = "/" }: { processes: Processes; root?: string }) {
	const lists = await Promise.all(usualPlaces[tool].map((place) => installed(place, root)));
	for (const program of [tool, ...lists.flat()]) {
		const { state } = await processes.run({ argv: [program, "--version"], timeoutMs: probeTimeoutMs });
		if (state !== "not-started") return program;
	}
	return null;
}

/** Newest first. */
async function installed({ parent, folders, program }: InstallPlace, root: string): Promise<string[]> {
	const names = await readdir(join(root, parent)).catch(() => []);
	return names
		.filter((name) => folders.test(name))
		.sort((a, b) => b.localeCompare(a, "en", { numeric: true }))
		.map((name) => join(root, parent, name, program));
}
