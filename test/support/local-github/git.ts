import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface GitStore {
	folder: string;
	run(argv: readonly string[], input?: string | Buffer): Promise<Buffer>;
	resolve(ref: string): Promise<string | undefined>;
	close(): Promise<void>;
}

const identity = {
	...{
		GIT_AUTHOR_NAME: "github-actions[bot]",
		GIT_AUTHOR_EMAIL: "41898282+github-actions[bot]@users.noreply.github.com",
	},
	...{ GIT_COMMITTER_NAME: "GitHub", GIT_COMMITTER_EMAIL: "noreply@github.com" },
	...{ GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_SYSTEM: "/dev/null", GIT_TERMINAL_PROMPT: "0" },
};

export function runGit(
	folder: string,
	argv: readonly string[],
	more: { input?: string | Buffer; env?: Record<string, string> } = {},
): Promise<Buffer> {
	const env = { PATH: process.env["PATH"], ...identity, ...more.env };
	return new Promise((settle, reject) => {
		const child = execFile(
			"git",
			["--git-dir", folder, ...argv],
			{ env, encoding: "buffer", maxBuffer: 256 * 1024 * 1024 },
			(error, stdout, stderr) => {
				if (error) reject(new Error(`git ${argv.join(" ")}: ${stderr.toString().trim() || error.message}`));
				else settle(stdout);
			},
		);
		child.stdin?.on("error", () => {});
		child.stdin?.end(more.input ?? "");
	});
}

async function createEmptyRepository(): Promise<string> {
	const folder = await mkdtemp(join(tmpdir(), "trtgate-github-"));
	await runGit(folder, ["init", "-q", "--bare", "-b", "main", folder]);
	const tree = (await runGit(folder, ["hash-object", "-t", "tree", "-w", "--stdin"])).toString().trim();
	const commit = (await runGit(folder, ["commit-tree", tree, "-m", "Initial commit"])).toString().trim();
	await runGit(folder, ["update-ref", "refs/heads/main", commit]);
	return folder;
}

export async function createGitStore(given?: string): Promise<GitStore> {
	const folder = given ?? (await createEmptyRepository());
	const run = (argv: readonly string[], input?: string | Buffer): Promise<Buffer> =>
		runGit(folder, argv, input === undefined ? {} : { input });
	return {
		folder,
		run,
		async resolve(ref) {
			const tries = /^[0-9a-f]{4,40}$/.test(ref) ? [ref] : [];
			const names = [
				...tries,
				...(ref.startsWith("refs/") ? [ref] : [`refs/heads/${ref}`, `refs/tags/${ref}`, `refs/${ref}`]),
				...(ref === "HEAD" ? [ref] : []),
			];
			for (const name of names) {
				const found = await run([
					"rev-parse",
					"--verify",
					"--quiet",
					"--end-of-options",
					`${name}^{commit}`,
				]).catch(() => undefined);
				if (found) return found.toString().trim();
			}
			return undefined;
		},
		close: async () => (given === undefined ? await rm(folder, { recursive: true, force: true }) : undefined),
	};
}
