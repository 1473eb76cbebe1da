import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { historyBranch } from "../../../src/history/adapters/history-branch.ts";
import { compact, fileOf, readHistory } from "../../../src/history/core/files.ts";
import { gitAccess } from "../../../src/host/adapters/github/env.ts";
import { commitAll, git, gitProcesses } from "../../support/git-history.ts";
import { buildRecord, hash } from "../../support/history-records.ts";
import { startPrivateRemote } from "../../support/private-remote.ts";
import { expectFault, temporaryFolder, writeScript } from "../../support/project.ts";

const branch = "trtgate-history";
const fileOfNight = (night: number) => fileOf(buildRecord(night), hash);

function repositories() {
	const root = temporaryFolder();
	const remote = join(root, "remote.git");
	git(root, "init", "--quiet", "--bare", remote);
	git(remote, "config", "uploadpack.allowFilter", "true");
	const [clone, other] = [join(root, "clone"), join(root, "other")];
	for (const folder of [clone, other]) git(root, "clone", "--quiet", remote, folder);
	const store = storeIn(clone);
	return { remote, clone, other, store, add: (night: number) => store.add([fileOfNight(night)]) };
}

const storeIn = (repository: string, more: Partial<Parameters<typeof historyBranch>[0]> = {}) =>
	historyBranch({ repository, branch, processes: gitProcesses(), ...more });

const recordsAt = (remote: string) => git(remote, "ls-tree", "-r", "--name-only", branch).split("\n");
const configOf = (clone: string) => git(clone, "config", "--list", "--local");

it("historyBranch loses no record of many writers, beside a compaction", async () => {
	const { remote, clone: left, other: right } = repositories();
	await storeIn(left).add([fileOfNight(0)]);
	const nights = Array.from({ length: 6 }, (_, index) => index + 1);
	const writers = nights.map((night) => storeIn(night % 2 === 0 ? left : right).add([fileOfNight(night)]));
	await Promise.all([...writers, storeIn(left).compact((files) => compact(files, "2026-02"))]);
	const { records, skipped } = readHistory(await storeIn(right).read());
	expect(records).toHaveLength(7);
	expect(skipped).toEqual([]);
	expect(recordsAt(remote)).toContain("months/2026-01.jsonl.gz");
});

it("historyBranch keeps commits, depth, filters and refs out of the user's clone", async () => {
	const { clone, add } = repositories();
	const before = configOf(clone);
	await add(0);
	expect(configOf(clone)).toBe(before);
	expect(git(clone, "for-each-ref")).toBe("");
	expect(git(clone, "rev-parse", "--is-shallow-repository")).toBe("false");
});

it("historyBranch follows a rewritten branch, and puts a lost record back on import", async () => {
	const { remote, add } = repositories();
	await add(0);
	const old = git(remote, "rev-parse", branch);
	await add(1);
	git(remote, "update-ref", `refs/heads/${branch}`, old);
	await add(2);
	expect(recordsAt(remote)).toEqual([fileOfNight(0).path, fileOfNight(2).path]);
	await add(1);
	expect(recordsAt(remote)).toHaveLength(3);
});

it("historyBranch compacts into a new root, and keeps files of others", async () => {
	const { remote, store, add } = repositories();
	await store.add([fileOfNight(0), { path: "notes.txt", text: "ours" }]);
	await add(1);
	expect(await store.compact((files) => compact(files, "2026-02"))).toBe(true);
	expect(recordsAt(remote)).toEqual(["months/2026-01.jsonl.gz", "notes.txt"]);
	expect(git(remote, "rev-list", "--count", branch)).toBe("1");
	expect(await store.compact((files) => compact(files, "2026-02"))).toBe(false);
	await add(40);
	expect(readHistory(await store.read()).records).toHaveLength(3);
});

it("historyBranch compacts beside what it cannot read, byte for byte", async () => {
	const { remote, other, store, add } = repositories();
	await add(0);
	git(other, "fetch", "--quiet", "origin");
	git(other, "checkout", "--quiet", branch);
	const damaged = "months/2025-12.jsonl.gz";
	const bytes = Buffer.from([0x89, 0x50, 0xff, 0x00, 0xfe]);
	for (const path of [".nojekyll", "figure.png", "a/b/c/d/e.txt", damaged]) {
		mkdirSync(dirname(join(other, path)), { recursive: true });
		writeFileSync(join(other, path), bytes);
	}
	writeFileSync(join(other, "run.sh"), "exit\n", { mode: 0o755 });
	commitAll(other);
	git(other, "push", "--quiet", "origin", branch);
	const foreign = () =>
		git(remote, "ls-tree", "-r", branch)
			.split("\n")
			.filter((line) => !/\t(runs|months\/2026-01)/.test(line));
	const before = foreign();
	expect(before).toHaveLength(5);
	expect(await store.compact((files) => compact(files, "2026-02"))).toBe(true);
	expect(foreign()).toEqual(before);
	expect(recordsAt(remote)).toContain("months/2026-01.jsonl.gz");
	expect(recordsAt(remote)).not.toContain(fileOfNight(0).path);
});

it.each([branch, "clock-updates"])(
	"historyBranch fails with the reason if the remote refuses the push to %s",
	async (name) => {
		const { remote, clone } = repositories();
		const refusal = "echo GH006: Protected branch update failed >&2\nexit 1";
		writeScript(join(remote, "hooks/pre-receive"), refusal);
		const store = storeIn(clone, { branch: name, patienceMs: 0 });
		await expect(store.add([fileOfNight(0)])).rejects.toMatchObject({
			code: "history-denied",
			excerpt: expect.arrayContaining([expect.stringContaining("GH006")]),
		});
	},
);

it("historyBranch fails if the remote cannot be reached", async () => {
	const { clone } = repositories();
	git(clone, "remote", "set-url", "origin", join(clone, "gone.git"));
	await expect(storeIn(clone, { patienceMs: 1 }).add([fileOfNight(0)])).rejects.toMatchObject({
		code: expect.stringMatching(/^history-/),
	});
});

it("historyBranch goes on after a writer was killed in a push", async () => {
	const { remote, clone, add } = repositories();
	// Leftovers of a killed push at a remote that is a folder.
	mkdirSync(join(remote, "refs", "heads"), { recursive: true });
	const lock = join(remote, "refs", "heads", `${branch}.lock`);
	writeFileSync(lock, "");
	await expectFault(storeIn(clone, { patienceMs: 1 }).add([fileOfNight(0)]), "history-unwritable");
	rmSync(lock);
	await add(0);
	expect(recordsAt(remote)).toEqual([fileOfNight(0).path]);
});

it("historyBranch reads and writes a private repository with the right token only", async () => {
	const { remote, clone } = repositories();
	git(remote, "config", "http.receivepack", "true");
	const server = await startPrivateRemote({ gitDir: remote, token: "ghs_right" });
	const serverUrl = `http://127.0.0.1:${server.port}`;
	git(clone, "remote", "set-url", "origin", `${serverUrl}/acme/engines`);
	const storeWith = (token: string) =>
		storeIn(clone, { access: gitAccess(token, { GITHUB_SERVER_URL: serverUrl }) });
	await storeWith("ghs_right").add([fileOfNight(0)]);
	expect(recordsAt(remote)).toEqual([fileOfNight(0).path]);
	expect(await storeWith("ghs_right").read()).toHaveLength(1);
	await expectFault(storeWith("ghs_wrong").read(), "history-denied");
	expect(configOf(clone)).not.toContain("extraheader");
});

it("historyBranch adds a record with five git commands", async () => {
	const { clone, add } = repositories();
	const processes = gitProcesses();
	const commands: string[] = [];
	const counted =
		<Job extends { argv: readonly string[] }, Done>(start: (job: Job) => Done) =>
		(job: Job) => {
			commands.push(job.argv.join(" "));
			return start(job);
		};
	const counting = { ...processes, run: counted(processes.run), exec: counted(processes.exec) };
	await add(0);
	await storeIn(clone, { processes: counting }).add([fileOfNight(1)]);
	const found = commands.map((command) => / (config|init|fetch|fast-import|push) /.exec(command)?.[1]);
	expect(found, commands.join("\n")).toEqual(["config", "init", "fetch", "fast-import", "push"]);
});
