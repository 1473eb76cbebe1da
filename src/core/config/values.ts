// Reads and checks single values: shares, times, sizes, names, paths and refs.
import { describeFound } from "../found.ts";
import { describeInvisible } from "../text/escape.ts";
import type { Resolution } from "./source.ts";

/** Node's timers run for at most 24.8 days. */
const maxDurationMs = 24 * 3_600_000;

/** `2%` and 0.02 are 0.02. Bare numbers of 1 or more are refused: 2 probably means 2 %. */
export function* parseShare(pointer: string, value: number | string): Resolution<number | "off"> {
	if (value === "off") return "off";
	if (typeof value === "number" && value >= 1) {
		const expected = `${value}% or ${Number((value / 100).toPrecision(6))}`;
		const fix = `Write ${value}% if you mean percent, ${value * 100}% if you mean that many times the base.`;
		yield { pointer, says: `is ${value}, which would be ${value * 100} %`, expected, fix };
		return "off";
	}
	const share = typeof value === "number" ? value : Number((Number.parseFloat(value) / 100).toPrecision(12));
	if (share > 0 && Number.isFinite(share)) return share;
	const fix = "Write a small share such as 0.1%, or off for no limit.";
	yield { pointer, says: `is ${describeGot(value)}`, expected: "more than 0 %", fix };
	return "off";
}

/** In ms; NaN if it is none. */
export function durationOf(text: string): number {
	return inUnits(text, { ms: 1, s: 1000, m: 60_000, h: 3_600_000 });
}

export function* parseDuration(
	pointer: string,
	options: { text: string; allowsZero?: boolean },
): Resolution<number> {
	const durationMs = durationOf(options.text);
	if (durationMs <= maxDurationMs && (durationMs > 0 || options.allowsZero === true)) return durationMs;
	const expected = durationMs > maxDurationMs ? "at most 24h" : "more than 0";
	yield { pointer, says: `is ${describeGot(options.text)}`, expected, fix: "Write a time such as 3s." };
	return 1000;
}

/** trtexec counts in whole MiB. */
const minBytes = 1024 ** 2;
const maxBytes = 1024 ** 4;

export function* parseSize(pointer: string, text: string): Resolution<number> {
	const bytes = inUnits(text, { MB: 1e6, MiB: 1024 ** 2, GB: 1e9, GiB: 1024 ** 3 });
	if (bytes >= minBytes && bytes <= maxBytes) return bytes;
	const fix = "Write a size such as 4GiB.";
	yield { pointer, says: `is ${describeGot(text)}`, expected: "1MiB to 1024GiB", fix };
	return minBytes;
}

export function* parseRate(pointer: string, text: string): Resolution<number> {
	const rate = Number.parseFloat(text);
	if (rate > 0 && Number.isFinite(rate)) return rate;
	yield {
		pointer,
		says: `is ${describeGot(text)}`,
		expected: "more than 0",
		fix: "Write a rate such as 400/s.",
	};
	return 1;
}

function inUnits(text: string, units: Readonly<Record<string, number>>) {
	const [, number, unit = ""] = /^([0-9.]+) ?([A-Za-z]+)$/.exec(text) ?? [];
	return Number(number) * (units[unit] ?? NaN);
}

const maxNameChars = 300;

export function isName(text: string): boolean {
	return nameFault(text) === null;
}

function nameFault(name: string) {
	if (name.trim() === "") return "is empty";
	const invisible = describeInvisible(name);
	if (invisible !== null) return `contains ${invisible}`;
	return name.length > maxNameChars ? `has ${name.length} characters` : null;
}

export function* checkName(
	pointer: string,
	options: { name: string; what: string; at?: "key" | "value" },
): Resolution<void> {
	const { name, what, at = "key" } = options;
	const fault = nameFault(name);
	if (fault === null) return;
	const says = `is not a valid name for ${what}: it ${fault}`;
	const expected = `one line of 1 to ${maxNameChars} visible characters`;
	yield {
		pointer,
		says,
		expected,
		fix: "Type the name again; pasted text may contain invisible characters.",
		at,
	};
}

export function* checkPath(pointer: string, path: string): Resolution<string> {
	const inside = insidePath(path);
	const fault = pathFault(path, inside);
	if (fault === null) return inside ?? path;
	const expected = "a relative path inside the workspace, such as models/net.onnx";
	const fix = "Put the file into the repository and write its path from there.";
	yield { pointer, code: fault.code, says: `is ${describeGot(path)}, ${fault.why}`, expected, fix };
	return path;
}

function pathFault(
	path: string,
	inside: string | null,
): { code: "config-value" | "path-outside-workspace"; why: string } | null {
	const code = "config-value";
	const invisible = describeInvisible(path);
	if (invisible !== null) return { code, why: `which contains ${invisible}` };
	if (/^~[/\\]|\$\{|^\$\w+[/\\]|%\w+%/.test(path))
		return { code, why: "with a variable, which is not replaced" };
	if (/^[a-z][a-z0-9+.-]+:\/\//i.test(path)) return { code, why: "an address and not a file" };
	if (/^([/\\]|[a-z]:)/i.test(path)) return { code: "path-outside-workspace", why: "an absolute path" };
	if (inside === null) return { code: "path-outside-workspace", why: "which leads out of the workspace" };
	return inside === "" ? { code, why: "which names no file" } : null;
}

function insidePath(path: string) {
	const parts: string[] = [];
	// A backslash separates on Windows.
	const hasBackslash = path.includes("\\");
	for (const part of path.split(hasBackslash ? /[/\\]/ : "/")) {
		if (part === "" || part === ".") continue;
		if (part !== "..") parts.push(part);
		else if (parts.pop() === undefined) return null;
	}
	return hasBackslash && parts.length > 0 ? path : parts.join("/");
}

/** Refuses text that git could read as an option. */
export function* checkRef(pointer: string, ref: string): Resolution<void> {
	if (ref.length <= maxNameChars && !/^-|[\s\p{Cc}]/u.test(ref)) return;
	const fix = "Write a branch, a tag or a commit.";
	yield { pointer, says: `is ${describeGot(ref)}`, expected: "a git ref such as v1.4 or main", fix };
}

export function describeGot(value: unknown, pointer = "/"): string {
	if (value === null || value === undefined) return "empty";
	return describeFound(value, pointer).replace(/^an (empty )?object$/, (_, empty) =>
		empty ? "an empty mapping" : "a mapping",
	);
}

export const prebuiltFix =
	"Name the ONNX file, from which trtgate builds the engines: onnx: models/net.onnx. For a prebuilt engine, write build: { plan: net.plan } in an engine.";

const maxFolderChars = 80;
const hashChars = 13;

// FNV-1a, 64 bit (RFC 9923).
const offsetBasis = 0xcbf29ce484222325n;
const prime = 0x100000001b3n;
const mask64 = 0xffffffffffffffffn;

const reserved = /^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)/;
/** Ids that look like altered names are altered too, so that the two never collide. */
const hashLike = new RegExp(`-[0-9a-z]{${hashChars}}$`);
const plainFolder = /^[a-z0-9]+([._-][a-z0-9]+)*$/;

/**
 * At most 80 characters of `a-z 0-9 . _ -`; different ids give different names, even if the file system ignores case. A
 * slug and a hash, unless the id is such a name already.
 */
export function folderName(id: string): string {
	if (id.length <= maxFolderChars && plainFolder.test(id) && !reserved.test(id) && !hashLike.test(id))
		return id;
	const hash = hashText(id);
	const slug = id
		.slice(0, maxFolderChars)
		.toLowerCase()
		.replace(/[^a-z0-9]+/g, "-")
		.slice(0, maxFolderChars - hashChars - 1)
		.replace(/^-+|-+$/g, "");
	return slug === "" ? `x-${hash}` : `${slug}-${hash}`;
}

function hashText(text: string) {
	let hash = offsetBasis;
	for (let at = 0; at < text.length; at += 1) {
		const unit = text.charCodeAt(at);
		hash = ((hash ^ BigInt(unit & 0xff)) * prime) & mask64;
		hash = ((hash ^ BigInt(unit >> 8)) * prime) & mask64;
	}
	return hash.toString(36).padStart(hashChars, "0");
}
