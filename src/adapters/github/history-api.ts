// A history on a branch through GitHub's API, for jobs without a clone to push from. A branch only moves forward: a writer that comes
// second starts again from the new head, and no record is lost.
import { ConfigError, ToolError } from "../../core/errors.ts";
import type { HistoryFile } from "../../core/history/files.ts";
import type { ApiFault, ApiResult, Repository } from "../../ports/code-host.ts";
import type { HistoryStore } from "../../ports/history.ts";

type Used = Pick<
	Repository,
	"branchHead" | "treeOf" | "filesUnder" | "readBlob" | "writeBlob" | "writeTree" | "writeCommit" | "createBranch" | "advanceBranch"
>;

const defaultPatienceMs = 5 * 60_000;
const longestWaitMs = 4_000;

export function historyApi(repository: Used, branch: string, patienceMs = defaultPatienceMs): Pick<HistoryStore, "name" | "read" | "add"> {
	return {
		name: `branch ${branch}`,
		async read() {
			const { sha: head } = must(await repository.branchHead(branch), branch);
			if (head === null) return [];
			const { files } = must(await repository.filesUnder(head, ""), branch);
			const read: HistoryFile[] = [];
			for (const { path, blob } of files) {
				const { bytes } = must(await repository.readBlob(blob), branch);
				read.push({ path, text: new TextDecoder().decode(bytes) });
			}
			return read;
		},
		async add(files) {
			const entries: { path: string; blob: string }[] = [];
			for (const { path, text } of files)
				entries.push({ path, blob: must(await repository.writeBlob(Buffer.from(text)), branch, "written").sha });
			const endMs = performance.now() + patienceMs;
			for (let tries = 0; ; tries++) {
				const { sha: head } = must(await repository.branchHead(branch), branch);
				const moved = await append(repository, { branch, head, entries });
				if (moved.state === "done") return;
				const after = must(await repository.branchHead(branch), branch).sha;
				// Without another writer a retry changes nothing; but GitHub's reads may lag a little.
				if ((after === head && tries >= 3) || performance.now() > endMs) throw errorOf(moved.fault, branch, "written");
				const waitMs = Math.random() * Math.min(longestWaitMs, 50 * 2 ** tries);
				await new Promise((resolve) => setTimeout(resolve, waitMs));
			}
		},
	};
}

interface Append {
	branch: string;
	/** null: there is no such branch yet. */
	head: string | null;
	entries: readonly { path: string; blob: string }[];
}

async function append(repository: Used, { branch, head, entries }: Append): Promise<ApiResult<object>> {
	const base = head === null ? null : must(await repository.treeOf(head), branch).tree;
	const { sha: tree } = must(await repository.writeTree(base, entries), branch, "written");
	// It has these records already.
	if (tree === base) return { state: "done" };
	const message = `Add ${entries.length === 1 ? entries[0]?.path : `${entries.length} records`}`;
	const { sha } = must(await repository.writeCommit({ message, tree, parents: head === null ? [] : [head] }), branch, "written");
	return head === null ? repository.createBranch(branch, sha) : repository.advanceBranch(branch, sha);
}

/** @throws ConfigError history-denied; ToolError history-unreadable, history-unwritable. */
function must<Value extends object>(answer: ApiResult<Value>, branch: string, what: "read" | "written" = "read"): Value {
	if (answer.state === "failed") throw errorOf(answer.fault, branch, what);
	return answer;
}

function errorOf({ code, message }: ApiFault, branch: string, what: "read" | "written"): ConfigError | ToolError {
	if (code === "github-permission")
		return new ConfigError({
			code: "history-denied",
			message: `The history cannot use the branch ${branch}: ${message}`,
			fix: "Give the job `permissions: contents: write`, the action its `token`, and except the branch from protection rules.",
		});
	return new ToolError({
		code: what === "read" ? "history-unreadable" : "history-unwritable",
		message: `The branch ${branch} could not be ${what}: ${message}`,
		fix: "Run `trtgate history import` with this run's result.json, or run the job again.",
	});
}
