import type { Job } from "./environment.ts";
import type { Json } from "./render.ts";
import type { World } from "./world.ts";

export function isObject(value: unknown): value is Json {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function at(value: unknown, ...path: readonly string[]): unknown {
	return path.reduce<unknown>((inner, name) => (isObject(inner) ? inner[name] : undefined), value);
}

export function text(value: unknown, fallback = ""): string {
	return typeof value === "string" ? value : fallback;
}

function describeRepository(world: World, fullName: string): Json {
	const [owner, name] = fullName.split("/");
	const fork = fullName !== world.repository;
	return {
		full_name: fullName,
		name,
		owner: { login: owner },
		fork,
		default_branch: world.state.defaultBranch,
	};
}

export function completePayload(world: World, job: Job): Json {
	const own = describeRepository(world, world.repository);
	const source = job.isFork ? describeRepository(world, `stranger/${world.name}`) : own;
	const whole: Json = { repository: own, sender: { login: "octocat" }, ...job.payload };
	const pull = whole["pull_request"];
	if (isObject(pull)) {
		const side = (name: string, repo: Json): Json => ({ repo, ...(isObject(pull[name]) ? pull[name] : {}) });
		whole["pull_request"] = {
			state: "open",
			draft: false,
			...pull,
			head: side("head", source),
			base: side("base", own),
		};
	}
	const cause = whole["workflow_run"];
	if (isObject(cause))
		whole["workflow_run"] = { run_attempt: 1, head_repository: source, repository: own, ...cause };
	return whole;
}
