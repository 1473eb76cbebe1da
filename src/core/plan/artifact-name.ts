// Names the artifact of one job of the gate, the same in the job that uploads it and in the plan that expects it.
import { folderName } from "../config/identity.ts";

export const artifactPrefix = "trtgate";

/** `trtgate-<config>-<job>`; without the job where one job measures all. Only letters that artifact names may hold. */
export function artifactName(prefix: string, configPath: string, job: string): string {
	const stem = configPath.replace(/\.ya?ml$/i, "");
	return [prefix, folderName(stem), ...(job === "" ? [] : [folderName(job)])].join("-");
}
