// Runs the toolkit's own clients in a process of their own, since they read the environment when they are imported.
import { resolve } from "node:path";
import { runNode } from "../project.ts";

export type Step =
	| { kind: "rest" | "paginate"; route: string; parameters?: object }
	| { kind: "graphql"; query: string; variables: object }
	| { kind: "artifact" | "cache"; method: string; args: unknown[] };

export interface StepResult {
	// biome-ignore lint/suspicious/noExplicitAny: whatever a client gives back.
	value?: any;
	error?: {
		name: string;
		message: string;
		status?: number;
		headers?: Record<string, string>;
		data?: { message: string };
	};
}

export interface ToolkitRun {
	results: StepResult[];
	stdout: string;
}

export async function runToolkit(
	env: Readonly<Record<string, string>>,
	steps: readonly Step[],
): Promise<ToolkitRun> {
	const program = resolve("test/support/programs/toolkit-client.mjs");
	const run = await runNode([program, JSON.stringify(steps)], { cwd: env["GITHUB_WORKSPACE"] ?? ".", env });
	if (run.exit !== 0) throw new Error(`the toolkit ended with ${run.exit}\n${run.stdout}${run.stderr}`);
	return { results: JSON.parse(run.stdout.trimEnd().split("\n").at(-1) ?? "[]"), stdout: run.stdout };
}
