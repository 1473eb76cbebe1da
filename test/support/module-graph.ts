import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";

const specifier = /(?:from|import)\s*\(?\s*"(\.[^"]+\.(?:ts|js))"/g;

export function reachableModules(entry: string): string[] {
	const seen = new Set<string>();
	const waiting = [entry];
	for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
		if (seen.has(path)) continue;
		seen.add(path);
		const folder = dirname(path);
		waiting.push(
			...[...readFileSync(path, "utf8").matchAll(specifier)].map(([, relative = ""]) =>
				join(folder, relative),
			),
		);
	}
	return [...seen];
}
