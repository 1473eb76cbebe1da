// Resolves refs to commits, and refuses unknown ones.
import { ConfigError } from "../../core/errors.ts";
import { firstLine, type Git, succeeded } from "./run-git.ts";

const fullHash = /^[0-9a-f]{40,64}$/;

export async function commitOf(revision: string, git: Git): Promise<string | null> {
	const record = await git(["rev-parse", "--verify", "--quiet", "--end-of-options", `${revision}^{commit}`]);
	const commit = firstLine(record);
	return succeeded(record) && fullHash.test(commit) ? commit : null;
}

export function isPlainRef(ref: string): boolean {
	return ref !== "" && !ref.startsWith("-") && !/[\u0000-\u0020\u007f]/.test(ref);
}

/** @throws ConfigError git-ref. */
export async function resolveRef(ref: string, git: Git, repository: string): Promise<string> {
	if (!isPlainRef(ref))
		throw unknownRef(
			ref,
			"it is not a name that git allows",
			"Give the name of a branch, a tag or a commit.",
		);
	for (const name of [ref, `origin/${ref}`]) {
		const commit = await commitOf(name, git);
		if (commit !== null) return commit;
	}
	if (!(await isRepository(git))) {
		const fix = "Name an existing folder, or run inside a git repository.";
		throw unknownRef(ref, `${repository} is neither a folder nor in a git repository`, fix);
	}
	const why = (await isShallow(git))
		? "this clone is shallow and does not contain it"
		: "the repository does not contain it";
	const fix = `Name an existing branch, tag or commit, set \`fetch-depth: 0\` for actions/checkout, or fetch it: \`git fetch origin ${ref}\`.`;
	throw unknownRef(ref, why, fix);
}

export async function isRepository(git: Git): Promise<boolean> {
	const record = await git(["rev-parse", "--git-dir"]);
	if (!succeeded(record)) refuseForeignOwner(record.tail);
	return succeeded(record);
}

export async function isShallow(git: Git): Promise<boolean> {
	return firstLine(await git(["rev-parse", "--is-shallow-repository"])) === "true";
}

/** In a container, the user is often not the clone's owner. @throws ConfigError git-ref. */
export function refuseForeignOwner(lines: readonly string[]): void {
	if (!lines.some((line) => /dubious ownership/i.test(line))) return;
	throw new ConfigError({
		code: "git-ref",
		message: "git refuses to read the workspace because another user owns it.",
		excerpt: lines.slice(-5),
		fix: 'Run `git config --global --add safe.directory "$GITHUB_WORKSPACE"` in a step before, as the user that runs this job.',
	});
}

function unknownRef(ref: string, why: string, fix: string): ConfigError {
	const shown = JSON.stringify(ref.slice(0, 200));
	return new ConfigError({ code: "git-ref", message: `Cannot find ${shown}: ${why}.`, fix });
}
