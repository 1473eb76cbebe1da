import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { HistoryRecord } from "../../generated/history.ts";
import { git } from "../support/git-history.ts";
import { runCli, temporaryFolder, writeProject } from "../support/project.ts";
import { comparisonFiles, installReplay } from "../support/replay/install.ts";

function recordsIn(folder: string): HistoryRecord[] {
	const paths = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((path) =>
		path.endsWith(".json"),
	);
	return paths.sort().map((path) => JSON.parse(readFileSync(join(folder, path), "utf8")) as HistoryRecord);
}

function commit(folder: string, tag: string): string {
	git(folder, "add", "--all");
	git(folder, "commit", "--quiet", "--allow-empty", "--message", tag);
	git(folder, "tag", tag);
	return git(folder, "rev-parse", "HEAD");
}

function pinned() {
	const top = temporaryFolder();
	const [folder, kept] = [join(top, "project"), join(top, "kept")];
	const { "trtgate.yml": text, "model.onnx": model = "" } = comparisonFiles("slower-head", "base");
	const { "model.onnx": wider = "" } = comparisonFiles("slower-head", "head");
	const config = String(text)
		.replace(/^ {4}golden:.*\n/m, "")
		.replace(/workloads: \[(.*)\]/, "workloads: [$1, { sweep: { batch: [1, 2] } }]")
		.replace("pairs: [5, 8]", "pairs: [5]");
	writeProject(folder, {
		"trtgate.yml": `${config}baseline: { from: pin }\nhistory: { folder: ${kept}, when: always }\n`,
		"model.onnx": model,
		".gitignore": "trtgate-out\n",
	});
	const run = () =>
		runCli(["run"], { cwd: folder, env: { PATH: installReplay(top, { comparison: "slower-head" }) } });
	git(folder, "init", "--quiet");
	return { folder, kept, model, wider, run };
}

it("a pin is the last release, and a new pin is linked with the old one, except for sweeps", async () => {
	const { folder, kept, model, wider, run } = pinned();
	const first = commit(folder, "v1.0.0");
	writeProject(folder, { "model.onnx": wider });
	git(folder, "commit", "--quiet", "--all", "--message", "change");
	expect(await run()).toMatchObject({ exit: 0 });
	const second = commit(folder, "v2.0.0");
	git(folder, "commit", "--quiet", "--allow-empty", "--message", "after");
	writeProject(folder, { "model.onnx": model });
	git(folder, "commit", "--quiet", "--all", "--message", "back");
	expect(await run()).toMatchObject({ exit: 0 });
	const [before, after] = recordsIn(kept);
	expect([before?.reference, after?.reference]).toEqual([
		{ label: "v1.0.0", commit: first },
		{ label: "v2.0.0", commit: second },
	]);
	expect(before?.rows.map(({ kind }) => kind)).toEqual(["engine", "engine"]);
	expect(after?.rows.map(({ kind }) => kind)).toEqual(["engine", "engine", "link"]);
	const [engine, , link] = after?.rows ?? [];
	expect(link?.ratio?.pairs).toBe(15);
	expect(link?.ratio?.ppm).toBeGreaterThan(30_000);
	expect([link?.base.model, link?.head.model]).toEqual([before?.rows[0]?.base.model, engine?.base.model]);
});
