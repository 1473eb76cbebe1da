import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { it } from "vitest";
import { comparisonFiles, installReplay } from "../support/replay/install.ts";
import { runCli, temporaryFolder, writeProject, writeScript } from "../support/project.ts";

async function up(edit: (t: string) => string, head: object, after: (cwd: string) => void = () => {}, argv: string[] = []) {
	const cwd = temporaryFolder();
	const files = comparisonFiles("same-model", "head");
	writeProject(cwd, { ...files, "trtgate.yml": edit(String(files["trtgate.yml"]) + "base: { trtexec: old/replay-bin/trtexec }\n") });
	installReplay(join(cwd, "old"), { comparison: "same-model", as: "base" });
	const env = { PATH: installReplay(cwd, { comparison: "same-model", as: "head", ...head }) };
	after(cwd);
	const run = await runCli(["run", "--out", "out", ...argv], { cwd, env });
	return { cwd, run, env };
}
const filter = (path: string, sed: string) => {
	renameSync(path, path + ".real");
	writeScript(path, `"${path}.real" "$@" > "$0.$$" 2>&1; rc=$?; sed -e '${sed}' "$0.$$"; exit $rc`);
};
it("memory line unknown", async () => {
	const r = await up((t) => t, { version: "101501" }, (cwd) => filter(join(cwd, "replay-bin/trtexec"), "s/Created execution context with device memory size/Context memory (new words), device memory/; /TensorRT-managed/d"));
	console.log("MEM", r.run.stdout.slice(0, 3000));
	console.log(JSON.parse(readFileSync(join(r.cwd, "out/result.json"), "utf8")).gates.filter((g: {gate: string}) => /memory|vanish/.test(g.gate)));
});
it("weights line gone", async () => {
	const r = await up((t) => t, { version: "101501" }, (cwd) => filter(join(cwd, "replay-bin/trtexec"), "/Total Weights Memory/d;/TensorRT-managed/d"));
	console.log("WEI", r.run.stdout.slice(0, 1500));
	console.log(JSON.parse(readFileSync(join(r.cwd, "out/result.json"), "utf8")).gates.filter((g: {gate: string}) => /memory|vanish/.test(g.gate)));
});
it("base python missing, start-up", async () => {
	const r = await up((t) => t.replace("unchanged-models: rebuild", "unchanged-models: rebuild, start-up: always, memory-growth: always"), { version: "101501" });
	console.log("START", r.run.stdout.slice(0, 2500), r.run.stderr);
});
it("dry", async () => {
	const r = await up((t) => t, { version: "101501" }, () => {}, ["--dry-run"]);
	console.log("DRY", r.run.stdout, r.run.stderr);
});
