import { readdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { buildResult } from "../support/build-result.ts";
import { armFiles, artifactFiles, openPlay, type Play, type Played } from "../support/github-play.ts";
import {
	expectExit,
	expectRefusal,
	quickProject,
	runCli,
	temporaryFolder,
	untimed,
	writeProject,
} from "../support/project.ts";

function secrets(folder: string): string {
	return writeProject(folder, {
		id_rsa: "secret",
		"result.json": "{}",
		"raw/precious": "",
		"worktrees/base/file": "",
		"scratch/file": "",
	});
}

function filesIn(folder: string): string[] {
	return readdirSync(folder, { recursive: true, encoding: "utf8" }).sort();
}

async function runPull(play: Play, plant: (work: string) => void): Promise<Played> {
	const base = play.commit(armFiles("same-model", "base"), { ref: "refs/heads/main" });
	plant(join(play.root, "work"));
	const head = play.commit(armFiles("same-model", "head"), { onto: base, ref: "refs/heads/change" });
	return play.pull({ base, head });
}

function expectRefused(play: Play, played: Played, why: string): void {
	const { run } = played;
	expectExit(run, 2);
	expect(run.outputs).toMatchObject({ outcome: "error", "failure-kind": "configuration" });
	expect(run.stdout).toContain(why);
	const { comments, checkRuns } = play.github.state;
	expect(comments[0]?.body).toMatch(/^<!-- .* -->\n## 🛑/);
	expect(comments[0]?.body).toContain("output-refused");
	expect(checkRuns.at(-1)).toMatchObject({ conclusion: "failure" });
	const kept = [...artifactFiles(play.github, "trtgate-gate").keys()];
	expect(kept).toEqual(expect.arrayContaining(["report.html", "report.md", "result.json"]));
	expect(kept.filter((name) => /id_rsa|precious|evil|file/.test(name))).toEqual([]);
	expect(run.outputs["result"]).not.toContain("trtgate-out/");
	expect(JSON.parse(readFileSync(run.outputs["result"] ?? "", "utf8")).outcome).toBe("error");
	expect(run.post?.exitCode).toBe(0);
}

it("an output folder that is a committed link is refused; the folder that it leads to keeps its files, and none of them is uploaded", async () => {
	const play = await openPlay();
	const elsewhere = secrets(join(play.root, "home"));
	const before = filesIn(elsewhere);
	const played = await runPull(play, (work) => symlinkSync(elsewhere, join(work, "trtgate-out")));
	expectRefused(play, played, "trtgate-out is refused: it is a link");
	expect(filesIn(elsewhere)).toEqual(before);
});

it("an output folder with committed files is refused, and they are not uploaded as results", async () => {
	const play = await openPlay();
	const played = await runPull(play, (work) => {
		writeProject(work, { "trtgate-out/evil.html": "", "trtgate-out/nsys/evil.nsys-rep": "" });
	});
	expectRefused(play, played, 'git tracks "trtgate-out/');
	expect(
		play.github.state.artifacts.map(({ name }) => name).filter((name) => name.startsWith("nsys")),
	).toEqual([]);
	expect(filesIn(played.out)).toEqual(["evil.html", "nsys", "nsys/evil.nsys-rep"]);
});

it("an action refuses an output folder outside of the workspace", async () => {
	const play = await openPlay();
	const base = play.commit(armFiles("same-model", "base"), { ref: "refs/heads/main" });
	const job = { event: "push", sha: base, ref: "refs/heads/main", payload: {} };
	const { run, workspace } = await play.run({ ...job, inputs: { out: "../elsewhere" } });
	expectExit(run, 2);
	expect(run.stdout).toMatch(/elsewhere is refused: it is below neither the workspace .* \[output-refused\]/);
	expect(readdirSync(join(workspace, ".."))).not.toContain("elsewhere");
});

it.each([
	["run"],
	["demo", "--recorded", "--out", "trtgate-out"],
	["report", "trtgate-out"],
	["report", "parts", "--merge", "--out", "trtgate-out"],
] as const)(
	"trtgate %s refuses an output folder that is a link in a checkout, and writes nothing",
	async (...argv) => {
		const root = temporaryFolder();
		const elsewhere = secrets(join(root, "home"));
		const folder = quickProject(join(root, "project"), { "trtgate.yml": untimed(), ".git/HEAD": "" });
		const result = JSON.stringify(buildResult());
		writeProject(folder, { "parts/one/result.json": result });
		writeProject(elsewhere, { "result.json": result });
		const before = filesIn(elsewhere);
		symlinkSync(elsewhere, join(folder, "trtgate-out"));
		const run = await runCli([...argv], { cwd: folder });
		expectRefusal(run, /trtgate-out is refused: it is a link.*\[output-refused\]/);
		expect(filesIn(elsewhere)).toEqual(before);
	},
);

it("trtgate golden record refuses a golden's folder that is a link out of the config's folder, and writes nothing", async () => {
	const root = temporaryFolder();
	const elsewhere = writeProject(join(root, "home"), { kept: "" });
	const folder = writeProject(join(root, "project"), {
		"trtgate.yml": untimed(),
		"model.onnx": "fixture:model.onnx",
	});
	symlinkSync(elsewhere, join(folder, "golden"));
	const run = await runCli(["golden", "record", "--model", "net", "--cases", "1"], { cwd: folder });
	expectRefusal(run, /golden leads to .*home, outside the workspace.*\[path-outside-workspace\]/);
	expect(filesIn(elsewhere)).toEqual(["kept"]);
});
