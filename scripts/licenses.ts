// Names everything that the bundle holds, from the packages in node_modules: the licences as a text, the packages as an SBOM.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export interface BundledPackage {
	name: string;
	version: string;
	/** SPDX expression. */
	license: string;
	folder: string;
}

/** What packages that ship no licence file say elsewhere; all of them name the MIT licence in package.json. */
const notices: Readonly<Record<string, string>> = {
	"@nodable/entities": "Copyright (c) Amit Gupta (https://solothought.com)",
	"onnxruntime-common": "Copyright (c) Microsoft Corporation",
	"onnxruntime-web": "Copyright (c) Microsoft Corporation",
	"proxy-agent-negotiate": "Copyright (c) Nathan Rajlich <nathan@tootallnate.net>",
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

/** @throws Error where a package names no licence: nobody may distribute it. */
export function readPackages(folders: Iterable<string>): BundledPackage[] {
	return [...folders].map((folder) => {
		const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
		if (typeof license !== "string" || license === "" || license === "UNLICENSED")
			throw new Error(
				`${name} ${version} is bundled, and its package.json names no licence: replace the package.`,
			);
		return { name, version, license, folder };
	});
}

/**
 * The text for all packages, in the order of their names; packages with the same text share it.
 * @throws Error where a package ships no licence text and `notices` does not name it.
 */
export function licencesOf(packages: readonly BundledPackage[]): string {
	const holders = new Map<string, Set<string>>();
	for (const { name, version, license, folder } of packages) {
		const text = textOf(folder, name);
		holders.set(text, (holders.get(text) ?? new Set()).add(`${name} ${version} (${license})`));
	}
	const sections = [...holders].map(([text, names]) => ({ names: [...names].sort().join("\n"), text }));
	sections.sort((left, right) => (left.names < right.names ? -1 : 1));
	return `${[head, ...sections.map(({ names, text }) => `${rule}\n${names}\n\n${text}`)].join("\n\n")}\n`;
}

function textOf(folder: string, name: string): string {
	const files = readdirSync(folder)
		.filter((file) => /^(licen[cs]e|copying|notice)/i.test(file))
		.sort();
	if (files.length > 0)
		return files.map((file) => plain(readFileSync(join(folder, file), "utf8"))).join("\n\n");
	const notice = notices[name];
	if (notice === undefined)
		throw new Error(`${name} ships no licence file: add its notice to scripts/licenses.ts, or leave it out.`);
	return `${notice}\n\n${mit}`;
}

/** A CycloneDX 1.6 document; without a time, so that the build is the same everywhere. */
export function sbomOf(packages: readonly BundledPackage[]): string {
	const root = JSON.parse(readFileSync("package.json", "utf8"));
	const lock = JSON.parse(readFileSync("package-lock.json", "utf8")).packages;
	const components = packages.map(({ name, version, license, folder }) => {
		const purl = `pkg:npm/${name.replace("@", "%40")}@${version}`;
		const { integrity } = lock[folder.slice(folder.indexOf("node_modules/"))];
		const hashes = [
			{ alg: "SHA-512", content: Buffer.from(integrity.replace("sha512-", ""), "base64").toString("hex") },
		];
		return {
			type: "library",
			"bom-ref": purl,
			name,
			version,
			hashes,
			licenses: [{ expression: license }],
			purl,
		};
	});
	components.sort((left, right) => (left.purl < right.purl ? -1 : 1));
	const component = { type: "application", "bom-ref": "trtgate", name: root.name, version: root.version };
	const metadata = { component: { ...component, licenses: [{ expression: root.license }] } };
	return `${JSON.stringify({ bomFormat: "CycloneDX", specVersion: "1.6", version: 1, metadata, components }, null, "\t")}\n`;
}

function plain(text: string): string {
	return text
		.replace(/\r\n/g, "\n")
		.replace(/[ \t]+$/gm, "")
		.trim();
}
