// How each TensorRT version states a fact in its log. Where several lines state one, the first row counts.
import type { LogLine } from "./transcript.ts";

const numeral = "(-?\\d+(?:\\.\\d+)?(?:e[-+]?\\d+)?)";
const managed = (when: string) =>
	new RegExp(`TensorRT-managed allocation in ${when}: .*now: CPU \\d+, GPU (\\d+) \\(MiB\\)`);

interface FactLine {
	/** In which it was recorded, or read in trtexec's source. */
	versions: string;
	pattern: RegExp;
	/** Bytes in one of the number; 1 unless given. */
	unit?: number;
}

const mebibyte = 1024 * 1024;

/** The same fact means the same in all its rows. Memory is the GPU's, in bytes. */
export const factLines = {
	/** Of one engine; 8.6 rounds down to a MiB. */
	weights: [
		{ versions: "10", pattern: /Total Weights Memory: (\d+)/ },
		{
			versions: "8.6",
			pattern: managed("engine deserialization"),
			unit: mebibyte,
		},
	],
	/** Activations of one context, so of one stream, at the largest shapes. */
	context: [
		{
			versions: "10, 11",
			pattern: new RegExp(`Created execution context with device memory size: ${numeral} MiB`),
			unit: mebibyte,
		},
		{
			versions: "10, 11 with --allocationStrategy",
			pattern: new RegExp(`Only allocated device memory enough for current [\\w ]+: ${numeral} MiB`),
			unit: mebibyte,
		},
	],
	/** Weights and all contexts, rounded down to a MiB. */
	managed: [
		{
			versions: "8.6, 10",
			pattern: managed("IExecutionContext creation"),
			unit: mebibyte,
		},
	],
	/** Of one context, as planned by the build. */
	activations: [{ versions: "8.6, 10", pattern: /Total Activation Memory: (\d+)/ }],
	/** The most that one layer needs. 8.6 states a sum, `Total Scratch Memory`, which is another fact. */
	scratch: [{ versions: "10", pattern: /Max Scratch Memory: (\d+)/ }],
	/** Inferences a second. */
	throughput: [
		{
			versions: "8.6, 10",
			pattern: new RegExp(`\\] Throughput:\\s*${numeral}`),
		},
	],
	/** Kernel timings in the timing cache. */
	entries: [{ versions: "10", pattern: /Serialized (\d+) timing cache entries/ }],
	/** Bytes of the timing cache's file after the build. */
	kept: [
		{
			versions: "8.6, 10",
			pattern: /Saved (\d+) bytes of (?:timing )?cache to/,
		},
	],
} as const satisfies Readonly<Record<string, readonly FactLine[]>>;

type LogFact = keyof typeof factLines;

const rows = Object.entries(factLines).flatMap(([fact, lines]) =>
	lines.map((line: FactLine, rank) => ({ fact: fact as LogFact, rank, ...line })),
);

interface Stated {
	rank: number;
	value: number;
	line: string;
}

/** Several passes and contexts state a fact again: the largest counts, since it must fit into memory. */
export function createFactReader() {
	const found = new Map<LogFact, Stated>();
	let lastOnMemory: string | null = null;
	const take = (fact: LogFact, now: Stated) => {
		const known = found.get(fact);
		const isBetter = known === undefined || now.rank < known.rank;
		if (isBetter || (now.rank === known.rank && now.value > known.value)) found.set(fact, now);
	};
	return {
		feed({ level, text }: Pick<LogLine, "level" | "text">) {
			if (level !== "info") return;
			if (/\[MemUsage|device memory|Memory: \d/.test(text)) lastOnMemory = text;
			for (const { fact, rank, pattern, unit = 1 } of rows) {
				const stated = pattern.exec(text)?.[1];
				if (stated !== undefined) take(fact, { rank, value: Number(stated) * unit, line: text });
			}
		},
		value: (fact: LogFact) => found.get(fact)?.value ?? null,
		/** Of the first of the facts that is stated, else the last line on memory. */
		lineOf: (...facts: LogFact[]) => facts.map((fact) => found.get(fact)?.line).find(Boolean) ?? lastOnMemory,
	};
}
