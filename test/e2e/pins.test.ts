// `baseline: { from: pin }` on a real repository: the last release is the reference, and where it moves, old and new are measured together.
import { cpSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { HistoryRecord } from "../../src/core/schema/history.ts";
import { git } from "../support/git-history.ts";
import { fixtures, quickConfig, quickProject, runCli, temporaryFolder } from "../support/project.ts";

function recordsIn(folder: string): HistoryRecord[] {
	const paths = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".json"));
	return paths.sort().map((path) => JSON.parse(readFileSync(join(folder, path), "utf8")) as HistoryRecord);
}

function commit(folder: string, tag: string): string {
	git(folder, "add", "--all");
	git(folder, "commit", "--quiet", "--allow-empty", "--message", tag);
	git(folder, "tag", tag);
	return git(folder, "rev-parse", "HEAD");
}

describe("a pin", () => {
	it("is the last release; the pin against itself is the control, and a new pin is linked with the old one", async () => {
		const top = temporaryFolder();
		const kept = join(top, "kept");
		const config = `${quickConfig.replace(/\s+golden: .*/, "").replace("threads: 1", "threads: 1, unchanged-models: rebuild")}baseline: { from: pin }\nhistory: { folder: ${kept}, when: always }\n`;
		const folder = quickProject(join(top, "project"), { "trtgate.yml": config, ".gitignore": "trtgate-out\n" });
		git(folder, "init", "--quiet");
		const first = commit(folder, "v1.0.0");
		cpSync(join(fixtures, "wrong.onnx"), join(folder, "model.onnx"));
		git(folder, "commit", "--quiet", "--all", "--message", "change");
		expect(await runCli(["run"], { cwd: folder })).toMatchObject({ exit: 0 });
		const second = commit(folder, "v2.0.0");
		git(folder, "commit", "--quiet", "--allow-empty", "--message", "after");
		cpSync(join(fixtures, "model.onnx"), join(folder, "model.onnx"));
		git(folder, "commit", "--quiet", "--all", "--message", "back");
		expect(await runCli(["run"], { cwd: folder })).toMatchObject({ exit: 0 });
		const [before, after] = recordsIn(kept);
		expect([before?.reference, after?.reference]).toEqual([
			{ label: "v1.0.0", commit: first },
			{ label: "v2.0.0", commit: second },
		]);
		expect(before?.rows.map(({ kind }) => kind)).toEqual(["engine", "control"]);
		expect(after?.rows.map(({ kind }) => kind)).toEqual(["engine", "link", "control"]);
		const [engine, link, control] = after?.rows ?? [];
		expect(link?.ratio?.pairs).toBeGreaterThanOrEqual(5);
		expect([link?.base.model, link?.head.model]).toEqual([before?.rows[0]?.base.model, engine?.base.model]);
		expect(control?.base.plan).toBe(control?.head.plan);
	});
});
