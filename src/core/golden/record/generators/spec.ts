// What may be said about how an input is made: `normal`, `uniform:-1..1`, `image:0..255`, `tokens:0..30521`, `boundary`, or several by turns.
import { didYouMean } from "../../../config/did-you-mean.ts";

export const generatorKinds = ["normal", "uniform", "image", "tokens", "boundary", "zeros", "ones"] as const;
export type GeneratorKind = (typeof generatorKinds)[number];

export interface GeneratorSpec {
	kind: GeneratorKind;
	/** Both ends included for tokens; of uniform and image the interval of the values. */
	range?: readonly [low: number, high: number];
}

export type ParsedGenerator =
	| { state: "ok"; input: string; specs: readonly GeneratorSpec[] }
	| { state: "wrong"; says: string; fix: string };

const ranged: ReadonlySet<GeneratorKind> = new Set(["uniform", "image", "tokens"]);
const form = "Write INPUT=KIND, as in --generator image=image:0..1 or --generator ids=tokens:0..30521; several by turns with +.";

/** `input=kind[:low..high][+kind…]`; the input's name may hold `=`, the kinds may not. */
export function parseGenerator(text: string): ParsedGenerator {
	const at = text.lastIndexOf("=");
	if (at <= 0) return { state: "wrong", says: `${JSON.stringify(text)} names no input and kind`, fix: form };
	const specs: GeneratorSpec[] = [];
	for (const part of text.slice(at + 1).split("+")) {
		const spec = parseSpec(part);
		if (typeof spec === "string") return { state: "wrong", says: spec, fix: form };
		specs.push(spec);
	}
	return { state: "ok", input: text.slice(0, at), specs };
}

function parseSpec(text: string): GeneratorSpec | string {
	const [name = "", range] = text.split(/:(.*)/s);
	const kind = generatorKinds.find((known) => known === name);
	if (kind === undefined) {
		const meant = didYouMean(name, generatorKinds);
		const hint = meant === undefined ? `known are ${generatorKinds.join(", ")}` : `did you mean ${meant}?`;
		return `there is no generator ${JSON.stringify(name)}; ${hint}`;
	}
	if (range === undefined) return { kind };
	const ends = /^(-?[\d.]+(?:e[+-]?\d+)?)\.\.(-?[\d.]+(?:e[+-]?\d+)?)$/i.exec(range);
	const [low, high] = [Number(ends?.[1] ?? Number.NaN), Number(ends?.[2] ?? Number.NaN)];
	if (!ranged.has(kind)) return `${kind} takes no range`;
	if (!(low < high)) return `${JSON.stringify(range)} is no range, such as 0..255`;
	return { kind, range: [low, high] };
}

export function formatGenerator(specs: readonly GeneratorSpec[]): string {
	return specs.map(({ kind, range }) => (range === undefined ? kind : `${kind}:${range[0]}..${range[1]}`)).join("+");
}
