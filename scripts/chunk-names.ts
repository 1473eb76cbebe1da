// Names each chunk of the bundle by the module that brings in most of the others: `app-gate`, `core-config-parse`, `undici`.
import { relative } from "node:path";
import type { Plugin, PreRenderedChunk } from "rolldown";
import { packageFolder } from "./licenses.ts";

/** The plugin has to run with the build: it learns which module imports which. */
export function chunkNames(): { plugin: Plugin; nameOf(chunk: PreRenderedChunk): string } {
	const imports = new Map<string, readonly string[]>();
	const plugin: Plugin = {
		name: "chunk-names",
		moduleParsed: ({ id, importedIds }) => void imports.set(id, importedIds),
	};
	const nameOf = ({ name, moduleIds, facadeModuleId }: PreRenderedChunk): string => {
		// What is loaded on demand, but lies in a chunk that others load too.
		if (moduleIds.length === 0) return `${nameOfModule(facadeModuleId ?? name)}-entry`;
		// Ids of the bundler's own helpers begin with a zero.
		const own = moduleIds.filter((id) => !id.startsWith("\0"));
		if (own.length === 0) return name;
		const lead = facadeModuleId ?? leadOf(own, imports);
		return imports.has(lead) ? nameOfModule(lead) : name;
	};
	return { plugin, nameOf };
}

/** Of equals the first by name, so that the order in which modules were read does not matter. */
function leadOf(modules: readonly string[], imports: ReadonlyMap<string, readonly string[]>): string {
	const broughtIn = (id: string): number => {
		const seen = new Set([id]);
		for (const reached of seen) for (const next of imports.get(reached) ?? []) seen.add(next);
		return modules.filter((module) => seen.has(module)).length;
	};
	const sized = [...modules].sort().map((id) => ({ id, size: broughtIn(id) }));
	return sized.reduce((best, next) => (next.size > best.size ? next : best)).id;
}

function nameOfModule(id: string): string {
	const folder = packageFolder(id);
	const inside = relative(folder ?? "src", id).replace(/\.[cm]?[jt]s$/, "");
	if (folder === null) return inside.replaceAll("/", "-");
	const name = folder
		.slice(folder.lastIndexOf("node_modules/") + "node_modules/".length)
		.replace("@", "")
		.replaceAll("/", "-");
	const file = inside.slice(inside.lastIndexOf("/") + 1);
	return file === "index" || name.includes(file) ? name : `${name}-${file}`;
}
