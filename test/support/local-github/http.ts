import type { IncomingMessage } from "node:http";
import type { World } from "./world.ts";

export interface Call {
	world: World;
	method: string;
	path: string;
	params: Readonly<Record<string, string>>;
	query: URLSearchParams;
	headers: Readonly<Record<string, string>>;
	/** Parsed JSON object; empty where there is none. */
	body: Readonly<Record<string, unknown>>;
	json: unknown;
	bytes: Buffer;
	login: string;
}

export interface Reply {
	status: number;
	/** A value becomes JSON; a buffer goes as it is. */
	body?: unknown;
	headers?: Readonly<Record<string, string>>;
}

/** One way to be let in: every scope of it is needed. */
export type Need = Readonly<Record<string, "read" | "write">>;

export interface Route {
	method: string;
	template: string;
	/** Alternatives. */
	needs: readonly Need[] | ((call: Call) => readonly Need[]);
	handle(call: Call): Reply | Promise<Reply>;
}

/** @param operation method and path below /repos/{owner}/{repo}. */
export function route(operation: string, needs: Route["needs"], handle: Route["handle"]): Route {
	const [method = "", path = ""] = operation.split(" ");
	return { method, template: `/repos/{owner}/{repo}${path}`, needs, handle };
}

const maxBytes = 512 * 1024 * 1024;

export async function readBytes(message: IncomingMessage): Promise<Buffer> {
	const chunks: Buffer[] = [];
	let size = 0;
	for await (const chunk of message) {
		size += chunk.length;
		if (size > maxBytes) throw new Error(`a request of more than ${maxBytes} bytes`);
		chunks.push(chunk);
	}
	return Buffer.concat(chunks);
}

export function ok(body: unknown, status = 200): Reply {
	return { status, body };
}

export function refuse(status: number, message: string, more: object = {}): Reply {
	return {
		status,
		body: { message, ...more, documentation_url: "https://docs.github.com/rest", status: String(status) },
	};
}

export const notFound = (): Reply => refuse(404, "Not Found");

export function unprocessable(
	resource: string,
	field: string,
	more: { code: string; message?: string },
): Reply {
	return refuse(422, "Validation Failed", { errors: [{ resource, field, ...more }] });
}

export function isReply(value: object): value is Reply {
	return "status" in value && typeof value.status === "number";
}

export function paginate(
	call: Call,
	items: readonly unknown[],
	wrap?: (page: unknown[], total: number) => unknown,
): Reply {
	const asked = (name: string, fallback: number): number => {
		const value = Number.parseInt(call.query.get(name) ?? "", 10);
		return Number.isFinite(value) && value >= 1 ? value : fallback;
	};
	const size = Math.min(asked("per_page", 30), 100);
	const page = asked("page", 1);
	const last = Math.max(1, Math.ceil(items.length / size));
	const link = (to: number, rel: string): string => {
		const query = new URLSearchParams(call.query);
		query.set("page", String(to));
		return `<${call.world.url}${call.path}?${query}>; rel="${rel}"`;
	};
	const before = page > 1 ? [link(Math.min(page - 1, last), "prev")] : [];
	const after = page < last ? [link(page + 1, "next"), link(last, "last")] : [];
	const first = page > 1 ? [link(1, "first")] : [];
	const links = [...before, ...after, ...first];
	const part = items.slice((page - 1) * size, page * size);
	return {
		status: 200,
		body: wrap ? wrap(part, items.length) : part,
		...(links.length === 0 ? {} : { headers: { link: links.join(", ") } }),
	};
}

export function textOf(call: Call, field: string): string | undefined {
	const value = call.body[field];
	return typeof value === "string" ? value : undefined;
}

export function textsOf(value: unknown): string[] {
	return Array.isArray(value) ? value.filter((entry) => typeof entry === "string") : [];
}
