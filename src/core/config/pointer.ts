// JSON pointers (RFC 6901) into the config file.
import { cleanText, shorten } from "../text/escape.ts";

export function childPointer(pointer: string, key: string | number): string {
	return `${pointer}/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

export function parsePointer(pointer: string): string[] {
	return pointer
		.split("/")
		.slice(1)
		.map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
}

export function valueAt(root: unknown, pointer: string): unknown {
	const own = (value: unknown, key: string) =>
		typeof value === "object" && value !== null && Object.hasOwn(value, key)
			? (value as Record<string, unknown>)[key]
			: undefined;
	return parsePointer(pointer).reduce(own, root);
}

export function parentPointer(pointer: string): string | undefined {
	const at = pointer.lastIndexOf("/");
	return at < 0 ? undefined : pointer.slice(0, at);
}

const listKeys =
	"workloads pairs shape plugins profiles flags runners labels env together accept only command".split(" ");
const isIndex = (part: string) => /^\d+$/.test(part);
const maxNameChars = 60;

/** `/models/resnet50/workloads/0/batch` becomes `models.resnet50.workloads[0].batch`. */
export function formatPointer(pointer: string): string {
	const parts = parsePointer(pointer);
	if (parts.length === 0) return "the file";
	const formatted = parts.map((part, index) => {
		const list = parts.slice(0, index).findLast((above) => !isIndex(above));
		if (isIndex(part) && listKeys.includes(list ?? "")) return `[${part}]`;
		if (/^[\p{L}_][\p{L}\p{N}_-]*$/u.test(part)) return `.${shorten(part, maxNameChars)}`;
		return `[${formatName(part)}]`;
	});
	return formatted.join("").replace(/^\./, "");
}

export function formatName(name: string): string {
	return JSON.stringify(cleanText(shorten(name, maxNameChars)));
}
