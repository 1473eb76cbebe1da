// A history on a branch through GitHub's API, for jobs without a clone to push from. A branch only moves forward: a writer that comes
// second starts again from the new head, and no record is lost.
import { text as textOf } from "node:stream/consumers";
import { gunzipSync } from "node:zlib";
import { ConfigError, ToolError } from "../../core/errors.ts";
import type { HistoryFile } from "../../core/history/files.ts";
import { inputKinds } from "../../core/input-kind.ts";
import { tarFiles } from "../../formats/tar/tar.ts";
import type { ApiFault, ApiResult, Repository, TreeChange } from "../../ports/code-host.ts";
import type { HistoryStore } from "../../ports/history.ts";

type Used = Pick<Repository, "branchHead" | "treeOf" | "readArchive" | "writeTree" | "writeCommit" | "createBranch" | "advanceBranch">;

interface Branch {
	repository: Used;
	branch: string;
	/** Of all files, unpacked. */
	maxBytes: number;
}

const patienceMs = 5 * 60_000;
const longestWaitMs = 4_000;
/** Ten thousand records of a hundred series take a quarter of it. */
const defaultMaxBytes = 512 * 1024 * 1024;

export function historyApi(repository: Used, branch: string, maxBytes = defaultMaxBytes): HistoryStore {
	const of = { repository, branch, maxBytes };
	return {
		name: `branch ${branch}`,
		async read() {
			const { sha: head } = must(await repository.branchHead(branch), branch);
			return head === null ? [] : readFiles(of, head);
		},
		add: (files) =>
			untilFirst(of, async (head) => {
				const message = `Add ${files.length === 1 ? files[0]?.path : `${files.length} records`}`;
				return append(of, { head, changes: files, message });
			}),
		/** On top of what is there: GitHub's API replaces a branch without looking at what it replaces. */
		async compact(plan) {
			let isNeeded = true;
			await untilFirst(of, async (head) => {
				const planned = head === null ? null : plan(await readFiles(of, head));
				isNeeded = planned !== null;
				if (planned === null) return { state: "done" };
				const removed = planned.remove.map((path) => ({ path, blob: null }));
				return append(of, { head, changes: [...planned.write, ...removed], message: "Compact" });
			});
			return isNeeded;
		},
	};
}

/** As the folder of a history is read: hidden files are left out, a file that is too large is empty. */
async function readFiles({ repository, branch, maxBytes }: Branch, head: string): Promise<HistoryFile[]> {
	const { archive } = must(await repository.readArchive(head), branch);
	const files: HistoryFile[] = [];
	try {
		for await (const { path: full, content } of tarFiles([gunzipSync(archive, { maxOutputLength: maxBytes })])) {
			const path = full.split("/").slice(1).join("/");
			if (path.split("/").some((part) => part.startsWith("."))) continue;
			const text = await textOf(content);
			files.push({ path, text: text.length > inputKinds.history.maxBytes ? "" : text });
		}
		return files;
	} catch (error) {
		const message = `GitHub's archive of it cannot be used: ${error instanceof Error ? error.message : String(error)}.`;
		throw errorOf({ code: "github-invalid", message }, branch, "read");
	}
}

/** Tries again until a change is the first on its head. */
async function untilFirst({ repository, branch }: Branch, attempt: (head: string | null) => Promise<ApiResult<object>>): Promise<void> {
	const endMs = performance.now() + patienceMs;
	for (let tries = 0; ; tries++) {
		const { sha: head } = must(await repository.branchHead(branch), branch);
		const moved = await attempt(head);
		if (moved.state === "done") return;
		const after = must(await repository.branchHead(branch), branch).sha;
		// Without another writer a retry changes nothing; but GitHub's reads may lag a little.
		if ((after === head && tries >= 3) || performance.now() > endMs) throw errorOf(moved.fault, branch, "written");
		const waitMs = Math.random() * Math.min(longestWaitMs, 50 * 2 ** tries);
		await new Promise((resolve) => setTimeout(resolve, waitMs));
	}
}

interface Append {
	/** null: there is no such branch yet. */
	head: string | null;
	changes: readonly TreeChange[];
	message: string;
}

async function append({ repository, branch }: Branch, { head, changes, message }: Append): Promise<ApiResult<object>> {
	const base = head === null ? null : must(await repository.treeOf(head), branch).tree;
	const { sha: tree } = must(await repository.writeTree(base, changes), branch, "written");
	// It has these records already.
	if (tree === base) return { state: "done" };
	const { sha } = must(await repository.writeCommit({ message, tree, parents: head === null ? [] : [head] }), branch, "written");
	return head === null ? repository.createBranch(branch, sha) : repository.advanceBranch(branch, sha);
}

/** @throws ConfigError history-denied; ToolError history-unreadable, history-unwritable. */
function must<Value extends object>(answer: ApiResult<Value>, branch: string, what: "read" | "written" = "read"): Value {
	if (answer.state === "failed") throw errorOf(answer.fault, branch, what);
	return answer;
}

function errorOf(
	{ code, message }: Pick<ApiFault, "message"> & { code: string },
	branch: string,
	what: "read" | "written",
): ConfigError | ToolError {
	if (code === "github-permission")
		return new ConfigError({
			code: "history-denied",
			message: `The history cannot use the branch ${branch}: ${message}`,
			fix: "Give the job `permissions: contents: write`, the action its `token`, and exempt the branch from protection rules.",
		});
	return new ToolError({
		code: what === "read" ? "history-unreadable" : "history-unwritable",
		message: `The branch ${branch} could not be ${what}: ${message}`,
		fix: "Run `trtgate history import` with this run's result.json, or run the job again.",
	});
}
