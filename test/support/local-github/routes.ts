import type { Route } from "./http.ts";

interface Compiled {
	route: Route;
	pattern: RegExp;
	names: readonly string[];
}

/** Placeholders that may hold slashes, since clients send them both encoded and plain. */
const greedy = new Set(["ref", "basehead"]);

function compile(route: Route): Compiled {
	const names: string[] = [];
	const source = route.template.replace(/[.]/g, "\\.").replace(/\/\{(\w+)\}/g, (_, name: string) => {
		names.push(name);
		return greedy.has(name) ? "/(.+?)" : "/([^/]+)";
	});
	return { route, names, pattern: new RegExp(`^${source}/?$`) };
}

export interface Found {
	route: Route;
	params: Readonly<Record<string, string>>;
}

/** Words before placeholders, so that `/issues/comments` is not an issue. */
export function createRouter(routes: readonly Route[]): (method: string, path: string) => Found | undefined {
	const weight = (template: string): number => (template.match(/\{/g) ?? []).length * 100 - template.length;
	const compiled = [...routes].sort((a, b) => weight(a.template) - weight(b.template)).map(compile);
	return (method, path) => {
		for (const { route, pattern, names } of compiled) {
			const match = route.method === method ? pattern.exec(path) : null;
			if (match)
				return {
					route,
					params: Object.fromEntries(names.map((name, index) => [name, decode(match[index + 1] ?? "")])),
				};
		}
		return undefined;
	};
}

function decode(text: string): string {
	try {
		return decodeURIComponent(text);
	} catch {
		return text;
	}
}
