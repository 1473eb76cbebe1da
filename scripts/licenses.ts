// Writes the licences of everything that the bundle holds, from the packages in node_modules.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

interface Package {
	name: string;
	version: string;
	license?: string;
}

/** What packages that ship no licence file say elsewhere; all of them but the last name the MIT licence in package.json. */
const notices: Readonly<Record<string, string>> = {
	"@nodable/entities": "Copyright (c) Amit Gupta (https://solothought.com)",
	binary: "Copyright (c) James Halliday <mail@substack.net>",
	chainsaw: "Copyright (c) James Halliday <mail@substack.net>",
	isarray: "Copyright (c) 2013 Julian Gruber <julian@juliangruber.com>",
	"onnxruntime-common": "Copyright (c) Microsoft Corporation",
	"onnxruntime-web": "Copyright (c) Microsoft Corporation",
	"proxy-agent-negotiate": "Copyright (c) Nathan Rajlich <nathan@tootallnate.net>",
	buffers: "Copyright (c) James Halliday <mail@substack.net>\n\nThe package ships no licence text and names no licence.",
};

const mit = `Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation
files (the "Software"), to deal in the Software without restriction, including without limitation the rights to use, copy,
modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the
Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.`;

const head = `dist/ holds the packages below. Written by \`npm run build\`; trtgate's own licence is in LICENSE.

The WebAssembly file of ONNX Runtime holds more components; their notices are in ThirdPartyNotices.txt of its release:
https://github.com/microsoft/onnxruntime`;

const rule = "=".repeat(80);

/** The folder of the package that a module belongs to, or null for our own. */
export function packageFolder(moduleId: string): string | null {
	return /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(moduleId)?.[0] ?? null;
}

/**
 * The text for all packages, in the order of their names; packages with the same text share it.
 * @throws Error where a package ships no licence and `notices` does not name it.
 */
export function licencesOf(folders: Iterable<string>): string {
	const holders = new Map<string, Set<string>>();
	for (const folder of folders) {
		const about: Package = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
		const text = textOf(folder, about);
		const license = about.license === undefined ? "" : ` (${about.license})`;
		holders.set(text, (holders.get(text) ?? new Set()).add(`${about.name} ${about.version}${license}`));
	}
	const sections = [...holders].map(([text, names]) => ({ names: [...names].sort().join("\n"), text }));
	sections.sort((left, right) => (left.names < right.names ? -1 : 1));
	return `${[head, ...sections.map(({ names, text }) => `${rule}\n${names}\n\n${text}`)].join("\n\n")}\n`;
}

function textOf(folder: string, about: Package): string {
	const files = readdirSync(folder)
		.filter((name) => /^(licen[cs]e|copying|notice)/i.test(name))
		.sort();
	if (files.length > 0) return files.map((name) => plain(readFileSync(join(folder, name), "utf8"))).join("\n\n");
	const notice = notices[about.name];
	if (notice === undefined) throw new Error(`${about.name} ships no licence file: add its notice to scripts/licenses.ts, or leave it out.`);
	return about.license?.startsWith("MIT") === true ? `${notice}\n\n${mit}` : notice;
}

function plain(text: string): string {
	return text
		.replace(/\r\n/g, "\n")
		.replace(/[ \t]+$/gm, "")
		.trim();
}
