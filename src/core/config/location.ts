// Where in trtgate.yml a value stands, for annotations and messages.
import type { Location } from "../schema/result.ts";
import type { Config } from "./config.ts";
import { parentPointer } from "./pointer.ts";

/** The place of `pointer`, or of the nearest thing around it that the file holds; undefined where it holds none. */
export function locate(config: Pick<Config, "sources">, pointer: string): Location | undefined {
	let at: string | undefined = pointer;
	while (at !== undefined) {
		const source = Object.hasOwn(config.sources, at) ? config.sources[at] : undefined;
		if (source?.kind === "file") return { path: source.path, line: source.line, column: source.column };
		at = parentPointer(at);
	}
	return undefined;
}
