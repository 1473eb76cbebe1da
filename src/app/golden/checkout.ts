// The git checkout that goldens are recorded in.
import { realpath } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { firstLine, type Git, gitIn, succeeded } from "../../adapters/git/run-git.ts";
import type { Processes } from "../../adapters/process/processes.ts";
import { ConfigError } from "../../core/errors.ts";

export interface Checkout {
	git: Git;
	top: string;
	commit: string;
}

/** @throws ConfigError proposal-refused. */
export async function openCheckout(folder: string, processes: Processes): Promise<Checkout> {
	const git = gitIn(folder, processes);
	const top = await git(["rev-parse", "--show-toplevel"]);
	const head = await git(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]);
	if (succeeded(top) && succeeded(head)) {
		const path = await realpath(firstLine(top));
		return { git: gitIn(path, processes), top: path, commit: firstLine(head) };
	}
	const reason = succeeded(top) ? "git has no commit here" : (top.tail.at(-1) ?? "");
	throw proposalRefused(
		`${folder} is not a checkout of the repository: ${reason.slice(0, 200)}`,
		"Run actions/checkout before this action. If git reports dubious ownership, as in a container, run `git config --global --add safe.directory '*'` before.",
	);
}

/** A folder of the config as git knows it. @throws ConfigError proposal-refused. */
export async function folderInCheckout({ top }: Checkout, home: string, folder: string): Promise<string> {
	const [wanted, real] = [join(await realpath(home), folder), await realpath(join(home, folder))];
	const inside = relative(top, real).split(sep).join("/");
	if (wanted === real && inside !== "" && inside.split("/")[0] !== "..") return inside;
	throw proposalRefused(
		`${folder} is a link, or no folder inside the checkout ${top}, so a golden cannot be proposed there.`,
		"Keep each golden in a folder of the repository itself.",
	);
}

/** GitHub's API does not apply git filters: it would commit the unfiltered file. @throws ConfigError proposal-refused. */
export async function checkFilters(paths: readonly string[], { git }: Checkout): Promise<void> {
	const stdin = paths.map((path) => `${path}\0`).join("");
	const attributes = await git(["check-attr", "-z", "--stdin", "filter"], {
		stdin,
		captureBytes: 16 * 1024 * 1024,
	});
	if (!succeeded(attributes)) {
		throw proposalRefused(
			`git could not read the attributes of the files: ${attributes.tail.at(-1) ?? ""}`,
			"Check .gitattributes.",
		);
	}
	const fields = attributes.stdout.split("\0");
	for (let at = 0; at + 2 < fields.length; at += 3) {
		const [path = "", , filter = ""] = fields.slice(at, at + 3);
		if (filter === "unspecified" || filter === "unset") continue;
		const what = filter === "lfs" ? "Git LFS" : `git's filter ${JSON.stringify(filter)}`;
		throw proposalRefused(
			`${path} belongs to ${what} by .gitattributes, which GitHub's API cannot apply.`,
			`Record with the command line and push the golden by hand, or take goldens out of the filter: \`${path.split("/").slice(0, -1).join("/")}/** !filter\` in .gitattributes.`,
		);
	}
}

export function proposalRefused(message: string, fix: string): ConfigError {
	return new ConfigError({ code: "proposal-refused", message, fix });
}
