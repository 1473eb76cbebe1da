import { createHash, randomUUID } from "node:crypto";
import type { Reply } from "./http.ts";
import type { Blob } from "./state.ts";
import type { World } from "./world.ts";

export interface BlobCall {
	method: string;
	key: string;
	query: URLSearchParams;
	headers: Readonly<Record<string, string>>;
	bytes: Buffer;
}

export function createBlob(world: World, ending: string): string {
	const key = `${randomUUID()}${ending}`;
	world.state.blobs.set(key, {
		content: Buffer.alloc(0),
		contentType: "application/octet-stream",
		disposition: null,
		isComplete: false,
		blocks: new Map(),
	});
	return key;
}

export function signedUrl(world: World, key: string): string {
	const query = new URLSearchParams({
		sv: "2025-11-05",
		sr: "b",
		se: "2099-01-01T00:00:00Z",
		sig: world.blobSignature,
	});
	return `${world.url}/blobs/${key}?${query}`;
}

export function digestOf(content: Buffer): string {
	return `sha256:${createHash("sha256").update(content).digest("hex")}`;
}

function refuseBlob(status: number, code: string): Reply {
	return {
		status,
		body: Buffer.from(
			`<?xml version="1.0" encoding="utf-8"?><Error><Code>${code}</Code><Message>${code}</Message></Error>`,
		),
		headers: { "content-type": "application/xml", "x-ms-error-code": code },
	};
}

export function handleBlob(world: World, call: BlobCall): Reply {
	if (call.query.get("sig") !== world.blobSignature) return refuseBlob(403, "AuthenticationFailed");
	const blob = world.state.blobs.get(call.key);
	if (!blob) return refuseBlob(404, "BlobNotFound");
	if (call.method === "PUT") return putBlob(blob, call);
	if (call.method === "GET" || call.method === "HEAD") return getBlob(blob, call);
	return refuseBlob(405, "UnsupportedHttpVerb");
}

function putBlob(blob: Blob, call: BlobCall): Reply {
	const kind = call.query.get("comp");
	if (kind === "block") {
		blob.blocks.set(call.query.get("blockid") ?? "", call.bytes);
		return { status: 201, headers: { "x-ms-request-server-encrypted": "true" } };
	}
	if (kind !== null && kind !== "blocklist") return refuseBlob(400, "InvalidQueryParameterValue");
	if (kind === null && call.headers["x-ms-blob-type"] !== "BlockBlob")
		return refuseBlob(400, "InvalidHeaderValue");
	const content = kind === null ? call.bytes : joinBlocks(blob, call.bytes.toString());
	if (!content) return refuseBlob(400, "InvalidBlockList");
	blob.content = content;
	blob.contentType =
		call.headers["x-ms-blob-content-type"] ?? call.headers["content-type"] ?? blob.contentType;
	blob.isComplete = true;
	blob.blocks.clear();
	return {
		status: 201,
		headers: { etag: `"${digestOf(content).slice(-16)}"`, "last-modified": new Date().toUTCString() },
	};
}

/** Ids in the order in which the list names them, not in the order of arrival. */
function joinBlocks(blob: Blob, list: string): Buffer | undefined {
	const ids = [...list.matchAll(/<(?:Latest|Uncommitted|Committed)>([^<]*)</g)].map(
		(match) => match[1] ?? "",
	);
	const parts = ids.map((id) => blob.blocks.get(id));
	return parts.every((part) => part !== undefined) ? Buffer.concat(parts) : undefined;
}

function getBlob(blob: Blob, call: BlobCall): Reply {
	if (!blob.isComplete) return refuseBlob(404, "BlobNotFound");
	const range = /^bytes=(\d+)-(\d*)$/.exec(call.headers["x-ms-range"] ?? call.headers["range"] ?? "");
	const [from, to] = range
		? [Number(range[1]), Math.min(Number(range[2] || Infinity), blob.content.length - 1)]
		: [0, blob.content.length - 1];
	if (range && from >= blob.content.length) return refuseBlob(416, "InvalidRange");
	const headers = {
		"content-type": blob.contentType,
		"accept-ranges": "bytes",
		etag: `"${digestOf(blob.content).slice(-16)}"`,
		...(blob.disposition === null ? {} : { "content-disposition": blob.disposition }),
		...(range ? { "content-range": `bytes ${from}-${to}/${blob.content.length}` } : {}),
	};
	return { status: range ? 206 : 200, body: blob.content.subarray(from, to + 1), headers };
}
