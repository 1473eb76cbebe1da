// Base and head as git refs, through the built bundle.
import { execFileSync } from "node:child_process";
import { expect, it } from "vitest";
import { quickProject, runCli, temporaryFolder } from "../support/project.ts";

function git(folder: string, ...args: string[]): string {
	return execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@example.invalid", ...args], {
		cwd: folder,
		encoding: "utf8",
	}).trim();
}

it("the gate names a missing ref, and how to fetch it", async () => {
	const folder = quickProject(temporaryFolder());
	git(folder, "init", "-q");
	const run = await runCli(["run", "--base", "v9.9", "--out", "out"], { cwd: folder });
	expect(run.exit).toBe(2);
	expect(run.stderr).toMatch(/v9\.9.*\[git-ref\]/s);
	expect(run.stderr).toMatch(/→ /);
});
