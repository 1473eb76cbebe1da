import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { judgeAccess, tokenOf } from "./access.ts";
import { artifactService, type TwirpMethod, twirpError } from "./artifacts.ts";
import { handleBlob } from "./blobs.ts";
import { cacheService } from "./caches.ts";
import type { Description } from "./description.ts";
import type { Fault, Faults } from "./faults.ts";
import { answerGraphql } from "./graphql.ts";
import { type Call, isReply, notFound, type Reply, type Route, readBytes, refuse } from "./http.ts";
import { isObject } from "./payload.ts";
import type { Found } from "./routes.ts";
import type { SeenRequest } from "./state.ts";
import type { World } from "./world.ts";

export interface Service {
	world: World;
	faults: Faults;
	description: Description;
	find(method: string, path: string): Found | undefined;
	/** Replies of our own that GitHub's description refuses, and crashes of handlers. */
	broken: string[];
}

interface Incoming {
	method: string;
	path: string;
	query: URLSearchParams;
	headers: Readonly<Record<string, string>>;
	bytes: Buffer;
	json: unknown;
	isBadJson: boolean;
}

async function readIncoming(message: IncomingMessage): Promise<Incoming> {
	const [path = "/", search = ""] = (message.url ?? "/").split(/\?(.*)/s);
	const headers = Object.fromEntries(
		Object.entries(message.headers).map(([name, value]) => [name, String(value)]),
	);
	const bytes = await readBytes(message);
	const isFile = path.startsWith("/blobs/");
	const incoming = {
		method: message.method ?? "GET",
		path,
		query: new URLSearchParams(search),
		headers,
		bytes,
		isBadJson: false,
	};
	if (isFile || bytes.length === 0) return { ...incoming, json: undefined };
	try {
		return { ...incoming, json: JSON.parse(bytes.toString()) };
	} catch {
		return { ...incoming, json: undefined, isBadJson: true };
	}
}

export async function serve(
	service: Service,
	message: IncomingMessage,
	response: ServerResponse,
): Promise<void> {
	const incoming = await readIncoming(message);
	const path = message.url ?? "/";
	const body = incoming.json ?? (incoming.bytes.length || undefined);
	const seen: SeenRequest = { method: incoming.method, path, body, headers: incoming.headers, status: 0 };
	service.world.state.requests.push(seen);
	const fault = service.faults.take(incoming.method, path);
	if (fault?.delayMs !== undefined && !fault.applied) await sleep(fault.delayMs);
	if (fault?.hangUp && !fault.applied) return void response.destroy();
	const reply = await answer(service, incoming, fault);
	if (fault?.delayMs !== undefined && fault.applied) await sleep(fault.delayMs);
	if (fault?.hangUp) return void response.destroy();
	seen.status = reply.status;
	send(response, withHeaders(service, incoming, reply, fault), fault);
}

async function answer(service: Service, incoming: Incoming, fault: Fault | undefined): Promise<Reply> {
	const own =
		fault && (fault.status !== undefined || fault.body !== undefined)
			? { status: fault.status ?? 200, ...(fault.body === undefined ? {} : { body: fault.body }) }
			: undefined;
	if (own && !fault?.applied) return own;
	try {
		const reply = await dispatch(service, incoming);
		return own ?? reply;
	} catch (cause) {
		service.broken.push(
			`${incoming.method} ${incoming.path}: ${cause instanceof Error ? cause.stack : String(cause)}`,
		);
		return refuse(500, "the local GitHub crashed");
	}
}

function dispatch(service: Service, incoming: Incoming): Reply | Promise<Reply> {
	const { path, method } = incoming;
	if (path.startsWith("/blobs/"))
		return handleBlob(service.world, { ...incoming, key: path.slice("/blobs/".length) });
	if (incoming.isBadJson) return refuse(400, "Problems parsing JSON");
	if (path.startsWith("/twirp/")) return twirp(service, incoming);
	if (path === "/graphql" && method === "POST") return answerGraphql(service.world, incoming);
	return rest(service, incoming);
}

function twirp(service: Service, incoming: Incoming): Reply {
	const rights = service.world.jobs.get(tokenOf(incoming.headers) ?? "");
	if (!rights) return twirpError(401, "unauthenticated", "invalid runtime token");
	const [, name = "", method = ""] =
		/^\/twirp\/github\.actions\.results\.api\.v1\.(\w+)\/(\w+)$/.exec(incoming.path) ?? [];
	const services: Readonly<Record<string, Readonly<Record<string, TwirpMethod>>>> = {
		ArtifactService: artifactService,
		CacheService: cacheService,
	};
	const handle = services[name]?.[method];
	const isJson = /^application\/json/.test(incoming.headers["content-type"] ?? "");
	if (!handle || !isJson || !isObject(incoming.json)) {
		service.world.state.violations.push(
			`${incoming.method} ${incoming.path}: not a request of the artifact or cache service`,
		);
		return twirpError(404, "bad_route", `no handler for path ${incoming.path}`);
	}
	return handle({ world: service.world, rights, body: incoming.json });
}

function judgeRate(world: World): Reply | undefined {
	const { rateLimit } = world.state;
	if (rateLimit.used >= rateLimit.limit) return refuse(403, "API rate limit exceeded for installation.");
	rateLimit.used += 1;
	return undefined;
}

async function rest(service: Service, incoming: Incoming): Promise<Reply> {
	const { world } = service;
	const limited = judgeRate(world);
	if (limited) return limited;
	const found = service.find(incoming.method, incoming.path);
	if (!found) {
		world.state.violations.push(`${incoming.method} ${incoming.path}: the local GitHub has no such endpoint`);
		return notFound();
	}
	const body = isObject(incoming.json) ? incoming.json : {};
	const call: Call = { ...incoming, world, params: found.params, body, login: "" };
	const access = judgeAccess(found.route, call);
	if (isReply(access)) return access;
	const { owner, repo } = found.params;
	if (owner !== undefined && `${owner}/${repo}`.toLowerCase() !== world.repository.toLowerCase())
		return notFound();
	return handle(service, found.route, { ...call, login: access.login }, incoming);
}

async function handle(service: Service, route: Route, call: Call, incoming: Incoming): Promise<Reply> {
	const operation = `${route.method} ${route.template}`;
	const wrong = service.description.judgeRequest(operation, call.query, incoming.json);
	if (wrong.length > 0) {
		call.world.state.violations.push(`${call.method} ${call.path}: ${wrong.join("; ")}`);
		return refuse(422, `Invalid request.\n\n${wrong.join("\n")}`);
	}
	const bare = await route.handle(call);
	const reply = { ...bare, body: service.description.complete(operation, bare.status, bare.body) };
	const ours = service.description.judgeReply(operation, reply.status, reply.body);
	if (ours.length === 0) return reply;
	service.broken.push(`${operation} answered ${reply.status}: ${ours.join("; ")}`);
	return refuse(500, `the local GitHub made an invalid reply: ${ours.join("; ")}`);
}

function withHeaders(service: Service, incoming: Incoming, reply: Reply, fault: Fault | undefined): Reply {
	const { limit, used } = service.world.state.rateLimit;
	const rate = {
		"x-ratelimit-limit": String(limit),
		"x-ratelimit-remaining": String(Math.max(0, limit - used)),
		"x-ratelimit-reset": String(Math.ceil(Date.now() / 3_600_000) * 3600),
	};
	const isRest = !/^\/(blobs|twirp)\//.test(incoming.path);
	return { ...reply, headers: { ...(isRest ? rate : {}), ...reply.headers, ...fault?.headers } };
}

function send(response: ServerResponse, reply: Reply, fault: Fault | undefined): void {
	const isBytes = Buffer.isBuffer(reply.body);
	const text = typeof reply.body === "string" ? reply.body : JSON.stringify(reply.body ?? "");
	const content = isBytes ? (reply.body as Buffer) : Buffer.from(reply.body === undefined ? "" : text);
	response.statusCode = reply.status;
	if (!isBytes && reply.body !== undefined)
		response.setHeader("content-type", "application/json; charset=utf-8");
	for (const [name, value] of Object.entries(reply.headers ?? {})) response.setHeader(name, value);
	if (fault?.truncate) {
		response.setHeader("content-length", Math.max(content.length, 2));
		response.write(content.subarray(0, Math.floor(content.length / 2)), () => response.destroy());
		return;
	}
	if (reply.status !== 204) response.setHeader("content-length", content.length);
	response.end(content);
}
