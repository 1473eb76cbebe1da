import { statSync } from "node:fs";
import { expect, it } from "vitest";
import { runNode } from "../project.ts";

it("the API description is what its script makes of the installed package, and small", async () => {
	const run = await runNode(["scripts/github-api.ts", "--check"], { cwd: "." });
	expect(run.exit, run.stderr).toBe(0);
	expect(statSync("test/support/local-github/api.json").size).toBeLessThan(200_000);
});
