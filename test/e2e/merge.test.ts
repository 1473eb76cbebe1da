import { spawnSync } from "node:child_process";
import { link, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { buildResult } from "../support/build-result.ts";

async function folders(names: readonly string[]): Promise<string> {
	const root = await mkdtemp(join(tmpdir(), "trtgate-merge-"));
	onTestFinished(() => rm(root, { recursive: true, force: true }));
	for (const name of names) {
		await mkdir(join(root, "parts", name), { recursive: true });
		await writeFile(
			join(root, "parts", name, "result.json"),
			JSON.stringify(buildResult({ environment: { gpu: name } })),
		);
	}
	return root;
}

function trtgate(cwd: string, ...argv: string[]) {
	const cli = resolve(process.env["TRTGATE_DIST"] ?? "dist", "cli.js");
	return spawnSync(process.execPath, [cli, ...argv], {
		cwd,
		encoding: "utf8",
		env: { PATH: process.env["PATH"], NO_COLOR: "1" },
	});
}

it("trtgate report --merge merges a folder of folders, or several folders, and writes the report", async () => {
	const root = await folders(["l4", "h200"]);
	const [all, named] = [
		trtgate(root, "report", "parts", "--merge", "--out", "one"),
		trtgate(root, "report", "parts/l4", "--merge", "parts/h200"),
	];
	for (const run of [all, named])
		expect(run).toMatchObject({ status: 0, stdout: expect.stringContaining("all 2 merged") });
	expect(await readFile(join(root, "one", "report.md"), "utf8")).toBe(
		await readFile(join(root, "trtgate-merged", "report.md"), "utf8"),
	);
});

it("trtgate report --merge names what the plan expects and did not come, and exits as for a fault of the runner", async () => {
	const root = await folders(["trtgate-l4"]);
	const plan = { include: ["l4", "orin"].map((name) => ({ name, artifact: `trtgate-${name}` })) };
	await writeFile(join(root, "plan.json"), JSON.stringify(plan));
	const run = trtgate(root, "report", "parts", "--merge", "--plan", "plan.json");
	expect(run.status).toBe(3);
	expect(run.stdout).toContain("orin: The plan lists this part");
});

it("trtgate report --merge reports that there is nothing to merge", async () => {
	const root = await folders([]);
	const run = trtgate(root, "report", "parts", "--merge");
	expect(run).toMatchObject({ status: 2, stderr: expect.stringContaining("no result.json in parts") });
});

it("trtgate report --merge reads no more than fits into memory, and names every part that it leaves out", async () => {
	const root = await folders(["p0"]);
	const large = JSON.stringify(buildResult({ notes: ["x".repeat(60 * 1024 * 1024)] }));
	await writeFile(join(root, "parts/p0/result.json"), large);
	for (let number = 1; number < 10; number += 1) {
		await mkdir(join(root, `parts/p${number}`));
		await link(join(root, "parts/p0/result.json"), join(root, `parts/p${number}/result.json`));
	}
	const run = trtgate(root, "report", "parts", "--merge", "--json");
	expect(run.status, run.stderr).toBe(2);
	const { errors } = JSON.parse(run.stdout);
	expect(errors.at(-1)).toMatchObject({
		part: "p9",
		code: "part-refused",
		message: "All results together are larger than 512 MiB; this one was not read.",
		fix: expect.stringContaining("Merge fewer parts at a time"),
	});
});
