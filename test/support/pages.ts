import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const folders = ["bench", "docs", "examples", "golden-schema", "worker", "workflows-examples"];

export const pages = [
	...readdirSync("."),
	...folders.flatMap((folder) =>
		readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => join(folder, name)),
	),
].filter((path) => path.endsWith(".md") || path === "llms.txt");

export function blocksOf(path: string, language: string): string[] {
	const fenced = new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, "gm");
	return [...readFileSync(path, "utf8").matchAll(fenced)].map(([, block = ""]) => block);
}

export function codeSpansOf(path: string): string[] {
	const prose = readFileSync(path, "utf8").replace(/^```[\s\S]*?^```$/gm, "");
	return [...prose.matchAll(/`([^`\n]+)`/g)].map(([, code = ""]) => code);
}
