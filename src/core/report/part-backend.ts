// The parts of a merged result: their backends and how many there are.
import type { BackendFacts, Part, Result } from "../schema/result.ts";

/** What ran the record's engine: in a merged result, the backend of its part. */
export function backendOf(result: Result, record: { part?: string | undefined }): BackendFacts {
	if (record.part === undefined || result.parts === undefined) return result.backend;
	return result.parts.find((part) => part.name === record.part)?.backend ?? result.backend;
}

/** The backend that a row or a sentence names: without its caveat where headline and table title already state it for all of them. */
export function backendOfRow(result: Result, record: { part?: string | undefined }): BackendFacts {
	const own = backendOf(result, record);
	const caveats = new Set([result.backend, ...(result.parts ?? []).flatMap(({ backend }) => backend ?? [])].map(({ caveat }) => caveat));
	if (caveats.size > 1) return own;
	const { caveat: _, ...plain } = own;
	return plain;
}

/** `3 of 5 merged, 1 missing, 1 refused`. */
export function partsText(parts: readonly Part[]): string {
	const count = (state: Part["state"]): number => parts.filter((part) => part.state === state).length;
	const [merged, missing, refused] = [count("merged"), count("missing"), count("refused")];
	const rest = [...(missing === 0 ? [] : [`${missing} missing`]), ...(refused === 0 ? [] : [`${refused} refused`])];
	return [rest.length === 0 ? `all ${merged} merged` : `${merged} of ${parts.length} merged`, ...rest].join(", ");
}

/** The parts that a report shows: a single complete part is the result itself. */
export function partsToReport({ parts = [] }: Result): readonly Part[] {
	const [only] = parts;
	return parts.length === 1 && only?.state === "merged" && only.partial === undefined ? [] : parts;
}
