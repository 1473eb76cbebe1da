// Speaks to the YAML language server as an editor does, over its standard streams.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const program = resolve("node_modules/yaml-language-server/bin/yaml-language-server");

export const hasLanguageServer = existsSync(program);

interface Message {
	id?: number;
	method?: string;
	params?: { uri?: string; diagnostics?: Diagnostic[] };
	result?: unknown;
}

export interface Diagnostic {
	message: string;
	range: { start: { line: number } };
}

export interface Editor {
	/** The problems that the server shows. */
	open(text: string): Promise<Diagnostic[]>;
	ask<Answer>(method: "hover" | "completion", at: { line: number; character: number }): Promise<Answer>;
	close(): void;
}

/** Without a schema store, so that nothing comes from a network. */
export async function openEditor(folder: string, name: string): Promise<Editor> {
	const server = spawn(process.execPath, [program, "--stdio"], { stdio: ["pipe", "pipe", "ignore"] });
	const uri = pathToFileURL(`${folder}/${name}`).href;
	const waiting: { isFor(message: Message): boolean; settle(message: Message): void }[] = [];
	const awaitMessage = (isFor: (message: Message) => boolean) =>
		new Promise<Message>((settle) => waiting.push({ isFor, settle }));
	const write = (message: object): void => {
		const body = JSON.stringify({ jsonrpc: "2.0", ...message });
		server.stdin.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
	};
	readMessages(server.stdout, (message) => {
		// The server's own questions, such as for settings, get no answer but an empty one.
		if (message.method !== undefined && message.id !== undefined) write({ id: message.id, result: null });
		const at = waiting.findIndex(({ isFor }) => isFor(message));
		if (at >= 0) waiting.splice(at, 1)[0]?.settle(message);
	});
	let id = 0;
	const request = async (method: string, params: object): Promise<unknown> => {
		id += 1;
		const own = id;
		const answer = awaitMessage((message) => message.id === own && message.method === undefined);
		write({ id: own, method, params });
		return (await answer).result;
	};
	const root = pathToFileURL(folder).href;
	await request("initialize", {
		...{ processId: process.pid, rootUri: root, workspaceFolders: [{ uri: root, name: "project" }] },
		capabilities: { textDocument: { hover: { contentFormat: ["markdown"] }, publishDiagnostics: {} } },
	});
	write({ method: "initialized", params: {} });
	const settings = { validate: true, hover: true, completion: true, schemaStore: { enable: false } };
	write({ method: "workspace/didChangeConfiguration", params: { settings: { yaml: settings } } });
	let version = 0;
	return {
		async open(text) {
			version += 1;
			const shown = awaitMessage(
				({ method, params }) => method === "textDocument/publishDiagnostics" && params?.uri === uri,
			);
			if (version > 1) {
				const changes = { textDocument: { uri, version }, contentChanges: [{ text }] };
				write({ method: "textDocument/didChange", params: changes });
			} else {
				const textDocument = { uri, languageId: "yaml", version, text };
				write({ method: "textDocument/didOpen", params: { textDocument } });
			}
			return (await shown).params?.diagnostics ?? [];
		},
		ask: async <Answer>(method: string, position: object) =>
			(await request(`textDocument/${method}`, { textDocument: { uri }, position })) as Answer,
		close: () => void server.kill(),
	};
}

function readMessages(stream: NodeJS.ReadableStream, take: (message: Message) => void): void {
	let pending = Buffer.alloc(0);
	stream.on("data", (chunk: Buffer) => {
		pending = Buffer.concat([pending, chunk]);
		for (;;) {
			const head = pending.indexOf("\r\n\r\n");
			const size = Number(
				/Content-Length: (\d+)/.exec(pending.toString("latin1", 0, Math.max(0, head)))?.[1],
			);
			if (head < 0 || pending.length < head + 4 + size) return;
			take(JSON.parse(pending.toString("utf8", head + 4, head + 4 + size)));
			pending = pending.subarray(head + 4 + size);
		}
	});
}
