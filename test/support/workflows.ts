import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { readSurfaces } from "../../scripts/actions-table.ts";
import { blocksOf } from "./pages.ts";

export interface Step {
	id?: string;
	uses?: string;
	run?: string;
	with?: Record<string, unknown>;
}

export interface Job {
	name?: string;
	uses?: string;
	with?: Record<string, unknown>;
	steps?: Step[];
	permissions?: Record<string, string>;
	"timeout-minutes"?: number | string;
	"runs-on"?: unknown;
	if?: string;
	needs?: string | string[];
	strategy?: { matrix?: string | { include: { name: string }[] } };
}

export interface Workflow {
	path: string;
	text: string;
	on: Record<string, unknown>;
	concurrency?: { group: string };
	permissions?: Record<string, string>;
	jobs: Record<string, Job>;
}

export function readWorkflows(folder: string): Workflow[] {
	const names = readdirSync(folder).filter((name) => /\.ya?ml$/.test(name));
	return names.map((name) => readWorkflow(join(folder, name), readFileSync(join(folder, name), "utf8")));
}

export function readWorkflow(path: string, text: string): Workflow {
	const { on, permissions, concurrency, jobs } = parse(text);
	const events =
		typeof on === "string"
			? { [on]: null }
			: Array.isArray(on)
				? Object.fromEntries(on.map((event) => [event, null]))
				: on;
	return { path, text, on: events, permissions, concurrency, jobs };
}

export const jobsOf = ({ jobs }: Workflow): [string, Job][] => Object.entries(jobs);
export const stepsOf = (workflow: Workflow): Step[] => jobsOf(workflow).flatMap(([, job]) => job.steps ?? []);

/** A value as workflows write it: text, with expressions in `${{ }}`, or an expression alone. */
export function evaluate(text: string, contexts: { github: object; needs?: object }): unknown {
	const whole = /^\$\{\{(.*)\}\}$/.exec(text)?.[1];
	if (whole !== undefined && !whole.includes("${{")) return evaluateExpression(whole, contexts);
	return text.replace(/\$\{\{(.*?)\}\}/g, (_, expression: string) =>
		String(evaluateExpression(expression, contexts)),
	);
}

/** The operators of GitHub's expressions are JavaScript's; a property of nothing is nothing. */
export function evaluateExpression(
	expression: string,
	{ github, needs = {} }: { github: object; needs?: object },
): unknown {
	const script = expression.replace(/\.(?=[a-z])/g, "?.");
	return new Function("github", "needs", "cancelled", "failure", `return (${script});`)(
		github,
		needs,
		() => false,
		() => JSON.stringify(needs).includes('"failure"'),
	);
}

const surfaces = readSurfaces();
export type Surface = (typeof surfaces)[number];

/** `trtgate/trtgate/plan@…`, or `./.trtgate/plan` of this very commit, to the surface of plan/action.yml. */
export function surfaceOf(uses: string): Surface | undefined {
	const name = uses.replace(/@.*$/, "").replace(/^\.\/\.(git\/)?trtgate/, "trtgate/trtgate");
	return surfaces.find((surface) => surface.uses === name);
}

export function readSnippets(path: string): Workflow[] {
	const blocks = blocksOf(path, "yaml");
	return blocks.filter((block) => /^jobs:$/m.test(block)).map((block) => readWorkflow(path, block));
}
