import { linkSync, mkdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";
import { buildResult } from "../support/build-result.ts";
import { expectExit, expectRefusal, runNode, temporaryFolder, writeProject } from "../support/project.ts";

function folders(names: readonly string[]): string {
	const files = names.map((name) => [
		`parts/${name}/result.json`,
		JSON.stringify(buildResult({ environment: { gpu: name } })),
	]);
	return writeProject(temporaryFolder(), Object.fromEntries(files));
}

function report(cwd: string, ...argv: string[]) {
	const cli = resolve(process.env["TRTGATE_DIST"] ?? "dist", "cli.js");
	return runNode([cli, "report", ...argv], { cwd });
}

it("trtgate report --merge merges a folder of folders, or several folders, and writes the report", async () => {
	const root = folders(["l4", "h200"]);
	for (const argv of [
		["parts", "--merge", "--out", "one"],
		["parts/l4", "--merge", "parts/h200"],
	]) {
		const run = await report(root, ...argv);
		expectExit(run, 0);
		expect(run.stdout).toContain("all 2 merged");
	}
	const [one, merged] = ["one", "trtgate-merged"].map((out) =>
		readFileSync(join(root, out, "report.md"), "utf8"),
	);
	expect(one).toBe(merged);
});

it("trtgate report --merge takes neither its own earlier result nor a folder's name for a fault", async () => {
	const root = folders(["l4/trtgate-out", "h200/trtgate-out"]);
	for (const _ of [1, 2]) {
		const run = await report(root, "--merge", ".", "parts/l4", "parts/h200");
		expectExit(run, 0);
		expect(run.stdout).toContain("all 2 merged");
	}
	const again = await report(root, "trtgate-merged/result.json");
	expectExit(again, 0);
	expect(again.stderr).toContain(join(root, "trtgate-merged/report.html"));
});

it("trtgate report --merge names what the plan expects and did not come, and exits as for a fault of the runner", async () => {
	const plan = { include: ["l4", "orin"].map((name) => ({ name, artifact: `trtgate-${name}` })) };
	const root = writeProject(folders(["trtgate-l4"]), { "plan.json": JSON.stringify(plan) });
	const run = await report(root, "parts", "--merge", "--plan", "plan.json");
	expectExit(run, 3);
	expect(run.stdout).toContain("orin: The plan lists this part");
});

it("trtgate report --merge reports that there is nothing to merge", async () => {
	expectRefusal(await report(temporaryFolder(), "parts", "--merge"), "no result.json in parts");
});

it("trtgate report --merge reads no more than fits into memory, and names every part that it leaves out", async () => {
	const large = JSON.stringify(buildResult({ notes: ["x".repeat(60 * 1024 * 1024)] }));
	const root = writeProject(temporaryFolder(), { "parts/p0/result.json": large });
	for (let number = 1; number < 10; number += 1) {
		mkdirSync(join(root, `parts/p${number}`));
		linkSync(join(root, "parts/p0/result.json"), join(root, `parts/p${number}/result.json`));
	}
	const run = await report(root, "parts", "--merge", "--json");
	expect(run.exit, run.stderr).toBe(2);
	const { errors } = JSON.parse(run.stdout);
	expect(errors.at(-1)).toMatchObject({
		part: "p9",
		code: "part-refused",
		message: "All results together are larger than 512 MiB; this one was not read.",
		fix: expect.stringContaining("Merge fewer parts at a time"),
	});
});
