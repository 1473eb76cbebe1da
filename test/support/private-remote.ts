import { spawn } from "node:child_process";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import { lfsPointer, sha256 } from "./project.ts";

export interface PrivateRemote {
	port: number;
	seen: { path: string; authorization: string | undefined }[];
	/** @returns a Git LFS pointer. */
	store(content: Buffer): string;
}

export interface RemoteRules {
	gitDir: string;
	token: string;
	/** What the token may not do; GitHub then answers as if the repository did not exist. */
	mayRead?: boolean;
	isOverBudget?: boolean;
}

const repositoryPath = "/acme/engines";

export async function startPrivateRemote(rules: RemoteRules): Promise<PrivateRemote> {
	const remote: PrivateRemote = { port: 0, seen: [], store };
	const objects = new Map<string, Buffer>();
	function store(content: Buffer): string {
		objects.set(sha256(content), content);
		return lfsPointer(content);
	}
	const server = createServer((request, response) => {
		const url = new URL(request.url ?? "/", `http://${request.headers.host}`);
		const { authorization } = request.headers;
		remote.seen.push({ path: url.pathname, authorization });
		// A download link carries its own credentials, like links to the store behind GitHub.
		const content = objects.get(url.searchParams.get("oid") ?? "");
		if (content !== undefined) return void response.end(content);
		if (authorization !== `basic ${Buffer.from(`x-access-token:${rules.token}`).toString("base64")}`)
			return refuse(response);
		if (rules.mayRead === false)
			return void response.writeHead(404, { "content-type": "text/plain" }).end("Repository not found.");
		if (url.pathname.endsWith("/info/lfs/objects/batch"))
			return void batch(request, response, { url, objects, rules });
		return serveGit(request, response, { url, gitDir: rules.gitDir });
	});
	await new Promise<void>((listening) => void server.listen(0, "127.0.0.1", listening));
	onTestFinished(() => void server.close());
	remote.port = (server.address() as AddressInfo).port;
	return remote;
}

function refuse(response: ServerResponse): void {
	const headers = { "www-authenticate": 'Basic realm="GitHub"', "content-type": "text/plain" };
	response
		.writeHead(401, headers)
		.end("Invalid username or token. Password authentication is not supported for Git operations.");
}

interface Batch {
	url: URL;
	objects: ReadonlyMap<string, Buffer>;
	rules: RemoteRules;
}

async function batch(
	request: IncomingMessage,
	response: ServerResponse,
	{ url, objects, rules }: Batch,
): Promise<void> {
	const wanted: { objects: { oid: string; size: number }[] } = JSON.parse(
		Buffer.concat(await request.toArray()).toString(),
	);
	const reply = (status: number, body: object): void =>
		void response
			.writeHead(status, { "content-type": "application/vnd.git-lfs+json" })
			.end(JSON.stringify(body));
	if (rules.isOverBudget === true) {
		const message =
			"This repository exceeded its LFS budget. The account responsible for the budget should increase it to restore access.";
		return reply(403, { message });
	}
	const found = wanted.objects.map(({ oid, size }) =>
		objects.has(oid)
			? { oid, size, actions: { download: { href: `${url.origin}/storage?oid=${oid}` } } }
			: { oid, size, error: { code: 404, message: "Object does not exist on the server" } },
	);
	reply(200, { transfer: "basic", objects: found });
}

function serveGit(
	request: IncomingMessage,
	response: ServerResponse,
	{ url, gitDir }: { url: URL; gitDir: string },
): void {
	const child = spawn("git", ["http-backend"], {
		env: {
			PATH: process.env["PATH"],
			GIT_PROJECT_ROOT: gitDir,
			GIT_HTTP_EXPORT_ALL: "1",
			PATH_INFO: url.pathname.replace(repositoryPath, "").replace(/^\.git/, ""),
			QUERY_STRING: url.search.slice(1),
			REQUEST_METHOD: request.method,
			CONTENT_TYPE: request.headers["content-type"],
			HTTP_CONTENT_ENCODING: request.headers["content-encoding"],
			GIT_PROTOCOL: request.headers["git-protocol"] as string | undefined,
			REMOTE_USER: "x-access-token",
		},
	});
	request.pipe(child.stdin);
	const parts: Buffer[] = [];
	child.stdout.on("data", (part: Buffer) => parts.push(part));
	child.on("close", () => {
		const output = Buffer.concat(parts);
		const end = output.indexOf("\r\n\r\n");
		const headers = output
			.toString("latin1", 0, end)
			.split("\r\n")
			.map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trim()] as const);
		const status = Number(headers.find(([name]) => name === "Status")?.[1]?.slice(0, 3) ?? 200);
		response
			.writeHead(status, Object.fromEntries(headers.filter(([name]) => name !== "Status")))
			.end(output.subarray(end + 4));
	});
}
