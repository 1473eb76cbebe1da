// Who may do what: the token of a job carries the scopes that its workflow was given.
import { type Call, type Need, type Reply, type Route, refuse } from "./http.ts";
import type { Access, Permissions } from "./state.ts";

const rank = { none: 0, read: 1, write: 2 } as const;

/** `permissions:` writes pull-requests, the header of a refusal pull_requests. */
function held(permissions: Permissions, scope: string): Access {
	if (scope === "metadata") return "read";
	return permissions[scope.replaceAll("_", "-")] ?? permissions[scope] ?? "none";
}

export function permits(permissions: Permissions, needs: readonly Need[]): boolean {
	return needs.some((need) =>
		Object.entries(need).every(([scope, access]) => rank[held(permissions, scope)] >= rank[access]),
	);
}

export function formatNeeds(needs: readonly Need[]): string {
	const one = (need: Need): string =>
		Object.entries(need)
			.map(([scope, access]) => `${scope}=${access}`)
			.join(",");
	return needs.map(one).join("; ");
}

export function tokenOf(headers: Readonly<Record<string, string>>): string | undefined {
	return /^(?:token|bearer)\s+(\S+)$/i.exec(headers["authorization"] ?? "")?.[1];
}

/** A refusal, or the login of who is let in. */
export function judgeAccess(route: Route, call: Call): Reply | { login: string; needs: readonly Need[] } {
	const holder = call.world.tokens.get(tokenOf(call.headers) ?? "");
	if (!holder) return refuse(401, "Bad credentials");
	const needs = typeof route.needs === "function" ? route.needs(call) : route.needs;
	if (permits(holder.permissions, needs)) return { login: holder.login, needs };
	return {
		...refuse(403, "Resource not accessible by integration"),
		headers: { "x-accepted-github-permissions": formatNeeds(needs) },
	};
}
