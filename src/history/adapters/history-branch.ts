// A history on a branch: fetched shallow, extended by pushes, retried if another writer was first.
import { mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { pickRemote } from "../../adapters/git/remote.ts";
import {
	firstLine,
	type Git,
	type GitAccess,
	type GitCall,
	gitIn,
	isPlainRef,
	refuseForeignOwner,
	slowMs,
	succeeded,
} from "../../adapters/git/run-git.ts";
import type { Processes } from "../../adapters/process/processes.ts";
import type { ProcessRecord } from "../../adapters/process/spawn.ts";
import { inNewFolder } from "../../adapters/process/write-error.ts";
import { ConfigError, ToolError } from "../../core/errors.ts";
import { classifyFetch } from "../../formats/git/output.ts";
import type { HistoryStore } from "../../ports/history.ts";
import type { Compaction } from "../core/files.ts";
import { readFolder, toBytes } from "./history-folder.ts";

interface HistoryBranchOptions {
	repository: string;
	branch: string;
	processes: Processes;
	access?: GitAccess;
	patienceMs?: number;
}

interface Scratch {
	git: Git;
	folder: string;
	branch: string;
	patienceMs: number;
}

const defaultPatienceMs = 5 * 60_000;
const longestWaitMs = 4_000;
const configBytes = 4 * 1024 * 1024;

export function historyBranch(options: HistoryBranchOptions): HistoryStore {
	const { branch } = options;
	return {
		name: `branch ${branch}`,
		read: () =>
			withScratch(options, async (scratch) =>
				(await fetchTip(scratch, "all")) === null ? [] : checkOut(scratch),
			),
		add: (files) =>
			withScratch(options, (scratch) =>
				untilFirst(scratch, async () => {
					const tip = await fetchTip(scratch, "trees");
					await commit(scratch, {
						start: tip === null ? "deleteall" : `from ${tip}`,
						write: files,
						message: `Add ${files.length === 1 ? files[0]?.path : `${files.length} records`}`,
					});
					return push(scratch, []);
				}),
			),
		compact: (plan) =>
			withScratch(options, async (scratch) => {
				let isNeeded = true;
				await untilFirst(scratch, async () => {
					const tip = await fetchTip(scratch, "all");
					const files = tip === null ? [] : await checkOut(scratch);
					const planned = plan(files);
					isNeeded = planned !== null && tip !== null;
					if (planned === null || tip === null) return null;
					// A new root frees the space; the lease refuses it if a record was added in between. All other files stay as they are.
					const tree = firstLine(await scratch.git(["rev-parse", `${tip}^{tree}`]));
					await commit(scratch, { start: `M 040000 ${tree} ""`, ...planned, message: "Compact" });
					return push(scratch, [`--force-with-lease=refs/heads/${branch}:${tip}`]);
				});
				return isNeeded;
			}),
	};
}

/** In a temporary repository, no depth, filter or ref affects the user's clone. */
async function withScratch<Value>(options: HistoryBranchOptions, work: (scratch: Scratch) => Promise<Value>) {
	const { repository, branch, processes, access, patienceMs = defaultPatienceMs } = options;
	if (!isPlainRef(branch)) throw denied(branch, "its name is not one that git allows", []);
	const own = gitIn(repository, processes, access);
	return inNewFolder("trtgate-history-", async (folder) => {
		const env = variablesOf([...scratchSettings, ...(await remoteSettings(own, access))]);
		const run = (args: readonly string[], call: GitCall = {}) =>
			own([`--git-dir=${folder}`, ...args], {
				timeoutMs: slowMs,
				...call,
				online: true,
				env: { ...env, ...call.env },
			});
		const git: Git = Object.assign(run, { identity: own.identity });
		const created = await own(["init", "--quiet", "--bare", "--template=", folder]);
		if (!succeeded(created)) throw unwritable(branch, created);
		return work({ git, folder, branch, patienceMs });
	});
}

type Setting = readonly [name: string, value: string];

const scratchSettings: readonly Setting[] = [
	["core.fsync", "none"],
	["fastimport.unpackLimit", "1"],
];

/** Address and credentials of the clone's remote, as variables, which `ps` does not show. */
async function remoteSettings(own: Git, access: GitAccess | undefined): Promise<Setting[]> {
	const listed = (
		await own(["config", "--null", "--show-scope", "--list"], { captureBytes: configBytes })
	).stdout.split("\0");
	const settings = listed.flatMap((entry, index): Setting[] => {
		const at = entry.indexOf("\n");
		const scope = listed[index - 1] ?? "";
		// The machine's and the user's apply anyway; servers refuse a header that is sent twice.
		return index % 2 === 0 || at < 0 || scope === "system" || scope === "global"
			? []
			: [[entry.slice(0, at), entry.slice(at + 1)]];
	});
	const name = pickRemote(settings.flatMap(([key]) => /^remote\.(.*)\.url$/.exec(key)?.[1] ?? []));
	const last = (key: string) => settings.findLast(([own]) => own === key)?.[1];
	const url = name === null ? undefined : (last(`remote.${name}.pushurl`) ?? last(`remote.${name}.url`));
	const token =
		access === undefined || (await own.identity()) !== "token"
			? []
			: [[`http.${access.serverUrl}/.extraheader`, access.header] as const];
	const reaching = settings.filter(([key]) => /^(http|credential|core\.sshcommand|ssh|url)(\.|$)/.test(key));
	return [
		["remote.origin.url", url ?? firstLine(await own(["rev-parse", "--absolute-git-dir"]))],
		...reaching,
		...token,
	];
}

function variablesOf(settings: readonly Setting[]) {
	return Object.fromEntries([
		["GIT_CONFIG_COUNT", String(settings.length)],
		...settings.flatMap(([key, value], index) => [
			[`GIT_CONFIG_KEY_${index}`, key],
			[`GIT_CONFIG_VALUE_${index}`, value],
		]),
	]);
}

const tipRef = "refs/heads/tip";
const nextRef = "refs/heads/next";

/** trees: without the contents of files. null: the branch does not exist yet. */
async function fetchTip({ git, folder, branch }: Scratch, what: "all" | "trees") {
	const filter = what === "trees" ? ["--filter=blob:none"] : [];
	const flags = ["--quiet", "--depth=1", "--no-tags", "--force", ...filter];
	const record = await git(["fetch", ...flags, "origin", `refs/heads/${branch}:${tipRef}`]);
	if (succeeded(record))
		return (await readFile(join(folder, "FETCH_HEAD"), "utf8")).slice(0, 64).split(/\s/, 1)[0] ?? null;
	const fault = classifyFetch(record.tail);
	if (fault === "absent") return null;
	if (fault === "denied") throw denied(branch, "the remote denied the fetch", record.tail);
	throw unreadable(branch, record);
}

async function checkOut({ git, folder }: Scratch) {
	const tree = join(folder, "trtgate-files");
	await rm(tree, { recursive: true, force: true });
	await mkdir(tree);
	const record = await git([`--work-tree=${tree}`, "read-tree", "--reset", "-u", tipRef], {
		settings: ["core.symlinks=false", "core.bare=false"],
	});
	if (!succeeded(record)) throw unreadable("of the history", record);
	return readFolder(tree);
}

interface Change extends Pick<Compaction, "write"> {
	remove?: Compaction["remove"];
	/** In the language of git-fast-import(1). */
	start: string;
	message: string;
}

async function commit({ git, branch }: Scratch, { start, write, remove = [], message }: Change) {
	const data = (bytes: Buffer) => [`data ${bytes.length}\n`, bytes, "\n"];
	const parts = [
		`commit ${nextRef}\ncommitter trtgate <trtgate@users.noreply.github.com> ${Math.floor(Date.now() / 1000)} +0000\n`,
		...data(Buffer.from(message)),
		`${start}\n`,
		...remove.map((path) => `D ${path}\n`),
		...write.flatMap((file) => [`M 100644 inline ${file.path}\n`, ...data(toBytes(file))]),
		"done\n",
	];
	const stdin = Buffer.concat(parts.map((part) => Buffer.from(part)));
	const record = await git(["fast-import", "--quiet", "--force", "--done"], { stdin });
	if (!succeeded(record)) throw unwritable(branch, record);
}

async function push({ git, branch }: Scratch, flags: readonly string[]) {
	return git(["push", "--quiet", ...flags, "origin", `${nextRef}:refs/heads/${branch}`]);
}

const isBehind =
	/\[rejected\]|non-fast-forward|fetch first|stale info|cannot lock ref|failed to update ref|reference already exists|incorrect old value|remote rejected\][^(]*\(.*(lock|update)/i;
const isDenied = /denied|protected branch|GH006|GH013|permission|403|read.?only|not allowed|hook declined/i;

async function untilFirst({ branch, patienceMs }: Scratch, attempt: () => Promise<ProcessRecord | null>) {
	const endMs = performance.now() + patienceMs;
	for (let tries = 0; ; tries++) {
		const record = await attempt();
		if (record === null || succeeded(record)) return;
		const text = record.tail.join("\n");
		if (!isBehind.test(text) && isDenied.test(text))
			throw denied(branch, "the remote refused the push", record.tail);
		if (performance.now() > endMs) throw unwritable(branch, record);
		const waitMs = Math.random() * Math.min(longestWaitMs, 50 * 2 ** tries);
		await new Promise((resolve) => setTimeout(resolve, waitMs));
	}
}

function denied(branch: string, why: string, tail: readonly string[]) {
	refuseForeignOwner(tail);
	return new ConfigError({
		code: "history-denied",
		message: `The history cannot use the branch ${branch}: ${why}.`,
		excerpt: tail.slice(-5),
		fix: "Give the job `permissions: contents: write`, the action its `token`, and exempt the branch from protection rules.",
	});
}

function unwritable(branch: string, { tail }: ProcessRecord) {
	const message = `The record could not be added to the branch ${branch}.`;
	const fix = "Run `trtgate history import` with this run's result.json, or run the job again.";
	return new ToolError({ code: "history-unwritable", message, excerpt: tail.slice(-5), fix });
}

function unreadable(branch: string, { tail }: ProcessRecord) {
	const message = `The branch ${branch} could not be fetched.`;
	const fix = "Check that the remote can be reached, and run it again.";
	return new ToolError({ code: "history-unreadable", message, excerpt: tail.slice(-5), fix });
}
