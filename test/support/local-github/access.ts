import { type Call, type Need, type Reply, type Route, refuse } from "./http.ts";
import type { Access, Permissions } from "./state.ts";

const rank = { none: 0, read: 1, write: 2 } as const;

/** `permissions:` writes pull-requests, the header of a refusal pull_requests. */
function held(permissions: Permissions, scope: string): Access {
	if (scope === "metadata") return "read";
	return permissions[scope.replaceAll("_", "-")] ?? permissions[scope] ?? "none";
}

export function tokenOf(headers: Readonly<Record<string, string>>): string | undefined {
	return /^(?:token|bearer)\s+(\S+)$/i.exec(headers["authorization"] ?? "")?.[1];
}

export function judgeAccess(route: Route, call: Call): Reply | { login: string } {
	const holder = call.world.tokens.get(tokenOf(call.headers) ?? "");
	if (!holder) return refuse(401, "Bad credentials");
	const needs = typeof route.needs === "function" ? route.needs(call) : route.needs;
	const permits = (need: Need): boolean =>
		Object.entries(need).every(([scope, access]) => rank[held(holder.permissions, scope)] >= rank[access]);
	if (needs.some(permits)) return { login: holder.login };
	const format = (need: Need): string =>
		Object.entries(need)
			.map((pair) => pair.join("="))
			.join(",");
	return {
		...refuse(403, "Resource not accessible by integration"),
		headers: { "x-accepted-github-permissions": needs.map(format).join("; ") },
	};
}
