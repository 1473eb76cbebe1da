import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { gitIn } from "../../../src/adapters/git/run-git.ts";
import { git, gitProcesses } from "../../support/git-history.ts";
import { temporaryFolder, writeProject } from "../../support/project.ts";

it("gitIn takes no folder of a commit for a repository", async () => {
	const root = temporaryFolder();
	const mark = join(root, "ran");
	const bare = join(root, "checkout/models");
	writeProject(bare, {
		HEAD: "ref: refs/heads/main\n",
		config: `[core]\n\tbare = true\n\tsshCommand = touch ${mark};\n[remote "origin"]\n\turl = ssh://localhost/models\n`,
	});
	for (const folder of ["objects", "refs"]) mkdirSync(join(bare, folder));
	git(join(root, "checkout"), "init", "-q");
	const listed = await gitIn(bare, gitProcesses())(["ls-remote", "origin"], { online: true });
	expect([listed.exitCode, existsSync(mark)]).toEqual([128, false]);
});
