// The output folder of a run: made with its own .gitignore, and cleared of an earlier run's files.
import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Files } from "../ports/world.ts";
import { reportFiles } from "../stages/report.ts";

/** Results are not committed by accident; a folder of the user's is left as it is. */
export async function makeOutFolder(outFolder: string, files: Pick<Files, "makeFolder" | "writeText">): Promise<void> {
	const isNew = !existsSync(outFolder);
	await files.makeFolder(outFolder);
	if (isNew) await files.writeText(join(outFolder, ".gitignore"), "*\n");
}

/** An old result must not be taken for this run's; only files that trtgate wrote are removed. */
export async function removeEarlierResult(outFolder: string): Promise<void> {
	if (!existsSync(join(outFolder, reportFiles.result))) return;
	const ours = [
		...Object.values(reportFiles),
		"raw",
		"logs",
		"engines",
		"cache",
		"history",
		"link",
		"fresh",
		"control",
		"layers",
		"nsys",
		"ncu",
		"scratch",
		"worktrees",
	];
	for (const name of ours) await rm(join(outFolder, name), { recursive: true, force: true });
}
