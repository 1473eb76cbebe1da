import type { World } from "./world.ts";

export type Json = Record<string, unknown>;

export function formatTime(ms: number): string {
	return new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");
}

function numberOf(text: string): number {
	let sum = 7;
	for (const letter of text) sum = (sum * 31 + letter.charCodeAt(0)) % 1_000_003;
	return sum;
}

export function renderUser(login: string): Json {
	return { login, id: numberOf(login), type: login.endsWith("[bot]") ? "Bot" : "User" };
}

export function pageUrl(world: World, below = ""): string {
	return `https://github.com/${world.repository}${below}`;
}

export function renderRepository(world: World, fullName: string): Json {
	const [owner = "", name = ""] = fullName.split("/");
	return {
		...{ id: numberOf(fullName), name, full_name: fullName, owner: renderUser(owner), private: true },
		...{ fork: fullName !== world.repository, default_branch: world.state.defaultBranch },
	};
}
