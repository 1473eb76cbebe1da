import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { findGoTool } from "./go-tools.ts";

const found = findGoTool("actionlint");
if (found.state === "absent") console.warn(found.sentence);

it.skipIf(found.state === "absent")("actionlint finds nothing in any workflow", () => {
	const paths = ["workflows-examples", ".github/workflows"].flatMap((folder) =>
		readdirSync(folder)
			.filter((name) => name.endsWith(".yml"))
			.map((name) => join(folder, name)),
	);
	const run = spawnSync(
		found.state === "found" ? found.path : "",
		["-config-file", "test/support/actionlint.yaml", ...paths],
		{
			encoding: "utf8",
		},
	);
	expect(run.stdout + run.stderr).toBe("");
	expect(run.status).toBe(0);
});
