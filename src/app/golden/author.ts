// Who records: as the option says, else as git does.
import { firstLine, gitIn } from "../../adapters/git/run-git.ts";
import type { Processes } from "../../adapters/process/processes.ts";

/** undefined where neither tells. */
export async function findAuthor(given: string | undefined, cwd: string, processes: Processes): Promise<string | undefined> {
	if (given !== undefined) return given;
	try {
		const git = gitIn(cwd, processes);
		const [name, email] = [firstLine(await git(["config", "user.name"])), firstLine(await git(["config", "user.email"]))];
		if (name === "") return email === "" ? undefined : email;
		return email === "" ? name : `${name} <${email}>`;
	} catch {
		// Without git, nobody is named.
		return undefined;
	}
}
