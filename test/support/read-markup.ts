export interface Element {
	name: string;
	attributes: Map<string, string>;
	path: string[];
}

const voidElements = new Set(["meta", "br", "img", "link", "input", "hr"]);
const tag = /<(\/?)([a-zA-Z][\w-]*)((?:\s+[\w:-]+(?:="[^"<]*")?)*)\s*(\/?)>/y;

export function readMarkup(text: string, kind: "html" | "xml"): Element[] {
	const elements: Element[] = [];
	const open: string[] = [];
	let at = 0;
	while (at < text.length) {
		const next = text.indexOf("<", at);
		const between = text.slice(at, next < 0 ? undefined : next);
		if (!rawText(open.at(-1), kind)) checkText(between);
		if (next < 0) break;
		if (text.startsWith("<!doctype html>", next)) {
			at = next + "<!doctype html>".length;
			continue;
		}
		if (rawText(open.at(-1), kind) && !text.startsWith(`</${open.at(-1)}>`, next)) {
			at = next + 1;
			continue;
		}
		tag.lastIndex = next;
		const found = tag.exec(text);
		if (found === null) throw new Error(`not a tag: ${text.slice(next, next + 80)}`);
		at = tag.lastIndex;
		const [, closing, name = "", attributes = "", empty] = found;
		if (closing === "/") {
			const expected = open.pop();
			if (expected !== name) throw new Error(`</${name}> closes <${expected}>`);
			continue;
		}
		elements.push({ name, attributes: readAttributes(attributes), path: [...open] });
		if (empty !== "/" && !(kind === "html" && voidElements.has(name))) open.push(name);
	}
	if (open.length > 0) throw new Error(`not closed: ${open.join(", ")}`);
	return elements;
}

function rawText(name: string | undefined, kind: "html" | "xml"): boolean {
	return kind === "html" && (name === "script" || name === "style");
}

function checkText(text: string): void {
	const bare = /&(?!(amp|lt|gt|quot|#39);)|>/.exec(text);
	if (bare !== null)
		throw new Error(`not escaped: ${text.slice(Math.max(0, bare.index - 40), bare.index + 40)}`);
}

function readAttributes(text: string): Map<string, string> {
	const found = new Map<string, string>();
	for (const [, name = "", value = ""] of text.matchAll(/([\w:-]+)(?:="([^"]*)")?/g)) {
		checkText(value);
		if (found.has(name)) throw new Error(`attribute twice: ${name}`);
		found.set(name, value);
	}
	return found;
}
