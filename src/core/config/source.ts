// Describes where a resolved value came from.
import type { Location } from "../../../generated/result.ts";
import { cleanText } from "../text/escape.ts";
import type { Config, Occasion, Source } from "./config.ts";
import { parentPointer } from "./pointer.ts";
import { formatLocation } from "./problem.ts";

const occasionLabels: Readonly<Record<Occasion, string>> = {
	release: "default on a release",
	nightly: "default in a scheduled run",
};

type Placed = Pick<Config, "sources">;

/** `trtgate.yml:7:5`, `input backend` or `default`; for a mapping, the source of its first part that is not a default. */
export function formatSource({ sources }: Placed, pointer: string): string {
	const own = Object.hasOwn(sources, pointer) ? sources[pointer] : undefined;
	const isPart = ([at, { kind }]: [string, Source]): boolean =>
		at.startsWith(`${pointer}/`) && kind !== "default";
	const source = own ?? Object.entries(sources).find(isPart)?.[1] ?? { kind: "default" };
	switch (source.kind) {
		case "default":
			return source.because === undefined ? "default" : occasionLabels[source.because];
		case "input":
			return `input ${source.name}`;
		case "file":
			return cleanText(formatLocation(source));
	}
}

/** The place of `pointer`, or of the nearest enclosing value in the file. */
export function locate(config: Placed, pointer: string | undefined): Location | undefined {
	if (pointer === undefined) return undefined;
	const source = Object.hasOwn(config.sources, pointer) ? config.sources[pointer] : undefined;
	if (source?.kind !== "file") return locate(config, parentPointer(pointer));
	return { path: source.path, line: source.line, column: source.column };
}

export function placeOf(config: Placed, pointer: string): { location?: Location } {
	const location = locate(config, pointer);
	return location === undefined ? {} : { location };
}

export function placeOfInherited(
	config: Placed,
	{ holders, key }: { holders: readonly string[]; key: string },
): { location?: Location } {
	const place = holders.map((holder) => `${holder}${key}`).find((at) => Object.hasOwn(config.sources, at));
	return placeOf(config, place ?? holders.at(-1) ?? "");
}
