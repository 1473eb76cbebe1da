import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface Asked {
	method: string;
	path: string;
	query: Record<string, string>;
	body: Record<string, unknown>;
}

type Reply = readonly [status: number, body: unknown, headers?: Record<string, string>];

const notFound: Reply = [404, { message: "The target couldn't be found.", errors: [] }];

/**
 * Replays what Gitea 1.27.3 answered, in the fields of its API's description. Lists ignore `per_page`, as there.
 * @param replies by method and path below `/api/v1/repos/acme/engines`; others are 404, as GraphQL and check runs are.
 */
export async function startGitea(
	replies: Readonly<Record<string, Reply | ((asked: Asked) => Reply)>>,
	atEnd: (close: () => Promise<void>) => void,
): Promise<{ url: string; asked: Asked[] }> {
	const asked: Asked[] = [];
	const server = createServer(async (message, response) => {
		const chunks: Buffer[] = [];
		for await (const chunk of message) chunks.push(chunk);
		const url = new URL(message.url ?? "/", "http://gitea");
		const path = url.pathname.replace("/api/v1", "").replace("/repos/acme/engines", "");
		const text = Buffer.concat(chunks).toString();
		const body = text === "" ? {} : JSON.parse(text);
		const one: Asked = {
			method: message.method ?? "",
			path,
			query: Object.fromEntries(url.searchParams),
			body,
		};
		asked.push(one);
		const reply = replies[`${one.method} ${path}`] ?? notFound;
		const [status, data, headers] = typeof reply === "function" ? reply(one) : reply;
		response.writeHead(status, { "content-type": "application/json;charset=utf-8", ...headers });
		response.end(status === 204 ? undefined : JSON.stringify(data));
	});
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	atEnd(() => new Promise((resolve) => void server.close(() => resolve())));
	return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

/** Users have no `type`. */
export const actionsUser = {
	id: -2,
	login: "gitea-actions",
	full_name: "Gitea Actions",
	username: "gitea-actions",
};

export const commentOf = (id: number, body: string, login = actionsUser.login) => ({
	id,
	html_url: `http://gitea/acme/engines/pulls/1#issuecomment-${id}`,
	user: { ...actionsUser, login },
	body,
});
