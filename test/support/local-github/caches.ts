import { fieldOf, type TwirpCall, type TwirpMethod, twirpError } from "./artifacts.ts";
import { createBlob, signedUrl } from "./blobs.ts";
import type { Reply } from "./http.ts";
import type { Cache } from "./state.ts";

const longestKey = 512;

function judgeKey(key: string): Reply | undefined {
	if (key !== "" && key.length <= longestKey && !key.includes(",")) return undefined;
	return twirpError(400, "invalid_argument", `invalid cache key: ${JSON.stringify(key.slice(0, 80))}`);
}

function create(call: TwirpCall): Reply {
	const key = fieldOf(call, "key");
	const wrong = judgeKey(key);
	if (wrong) return wrong;
	const scope = call.rights.cacheScopes.find((candidate) => candidate.canWrite)?.scope;
	if (scope === undefined)
		return {
			status: 200,
			body: {
				ok: false,
				message: "cache write denied: token has no writable cache scopes",
				signed_upload_url: "",
			},
		};
	const version = fieldOf(call, "version");
	const isTaken = call.world.state.caches.some(
		(cache) => cache.key === key && cache.version === version && cache.scope === scope,
	);
	if (isTaken)
		return twirpError(
			409,
			"already_exists",
			"cache entry with the same key, version, and scope already exists",
		);
	const blob = createBlob(call.world, "");
	call.world.state.caches.push({ id: call.world.nextId(), key, version, scope, blob, isFinal: false });
	return { status: 200, body: { ok: true, message: "", signed_upload_url: signedUrl(call.world, blob) } };
}

function finalize(call: TwirpCall): Reply {
	const [key, version, size] = [fieldOf(call, "key"), fieldOf(call, "version"), fieldOf(call, "size_bytes")];
	const scope = call.rights.cacheScopes.find((candidate) => candidate.canWrite)?.scope;
	const cache = call.world.state.caches.find(
		(one) => one.key === key && one.version === version && one.scope === scope && !one.isFinal,
	);
	const blob = call.world.state.blobs.get(cache?.blob ?? "");
	if (!cache || !blob?.isComplete) return twirpError(404, "not_found", "no upload of this key is under way");
	if (size !== String(blob.content.length))
		return {
			status: 200,
			body: { ok: false, message: "size_bytes is not that of the upload", entry_id: "0" },
		};
	cache.isFinal = true;
	return { status: 200, body: { ok: true, message: "", entry_id: String(cache.id) } };
}

/** In each scope: the very key, then its prefix, then the prefix of each restore key; the newest of several. */
function findCache(call: TwirpCall): Cache | undefined {
	const version = fieldOf(call, "version");
	const restore = call.body["restore_keys"] ?? call.body["restoreKeys"];
	const keys = [fieldOf(call, "key"), ...(Array.isArray(restore) ? restore.map(String) : [])];
	for (const { scope } of call.rights.cacheScopes) {
		const held = call.world.state.caches.filter(
			(cache) => cache.isFinal && cache.scope === scope && cache.version === version,
		);
		const tries = [
			held.filter((cache) => cache.key === keys[0]),
			...keys.map((key) => held.filter((cache) => cache.key.startsWith(key))),
		];
		const found = tries.find((some) => some.length > 0)?.at(-1);
		if (found) return found;
	}
	return undefined;
}

function sign(call: TwirpCall): Reply {
	const wrong = judgeKey(fieldOf(call, "key"));
	if (wrong) return wrong;
	const cache = findCache(call);
	if (!cache) return { status: 200, body: { ok: false, signed_download_url: "", matched_key: "" } };
	return {
		status: 200,
		body: { ok: true, signed_download_url: signedUrl(call.world, cache.blob), matched_key: cache.key },
	};
}

export const cacheService: Readonly<Record<string, TwirpMethod>> = {
	CreateCacheEntry: create,
	FinalizeCacheEntryUpload: finalize,
	GetCacheEntryDownloadURL: sign,
};
