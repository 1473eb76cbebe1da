// Parses the generator of an input: `image:0..1`, `const:16000`, several in turn with `+`.
import { didYouMean } from "../../../../core/config/did-you-mean.ts";

const generatorKinds = ["normal", "uniform", "image", "tokens", "zeros", "ones", "const", "length"] as const;
export type GeneratorKind = (typeof generatorKinds)[number];

export interface GeneratorSpec {
	kind: GeneratorKind;
	/** Both ends included for tokens; the interval of the values of uniform and image; twice the value of const. */
	range?: readonly [low: number, high: number];
}

type ParsedGenerator =
	| { state: "ok"; input: string; specs: readonly GeneratorSpec[] }
	| { state: "wrong"; problem: string; fix: string };

const drawn: ReadonlySet<GeneratorKind> = new Set(["normal", "uniform", "image", "tokens"]);
const ranged: ReadonlySet<GeneratorKind> = new Set(["uniform", "image", "tokens"]);
const fix =
	"Write INPUT=KIND, as in --generator image=image:0..1, --generator ids=tokens:0..30521 or --generator rate=const:16000; several by turns with +.";
const number = String.raw`-?[\d.]+(?:e[+-]?\d+)?`;

/** `input=kind[:low..high][+kind…]`; the input's name may hold `=`, the kinds may not. */
export function parseGenerator(text: string): ParsedGenerator {
	const at = text.lastIndexOf("=");
	if (at <= 0) return { state: "wrong", problem: `${JSON.stringify(text)} names no input and kind`, fix };
	const specs: GeneratorSpec[] = [];
	for (const part of text.slice(at + 1).split(/\+(?=[a-z])/)) {
		const spec = parseSpec(part);
		if (typeof spec === "string") return { state: "wrong", problem: spec, fix };
		specs.push(spec);
	}
	return { state: "ok", input: text.slice(0, at), specs };
}

/** A string is the problem. */
function parseSpec(text: string): GeneratorSpec | string {
	const [name = "", range] = text.split(/:(.*)/s);
	const kind = generatorKinds.find((known) => known === name);
	if (kind === undefined) {
		const meant = didYouMean(name, generatorKinds);
		const hint = meant === undefined ? `known are ${generatorKinds.join(", ")}` : `did you mean ${meant}?`;
		return `there is no generator ${JSON.stringify(name)}; ${hint}`;
	}
	if (kind === "const") {
		const value = new RegExp(`^${number}$`, "i").test(range ?? "") ? Number(range) : Number.NaN;
		if (Number.isFinite(value)) return { kind, range: [value, value] };
		return `const takes a number, such as const:16000, and got ${JSON.stringify(range ?? "")}`;
	}
	if (range === undefined) return { kind };
	if (!ranged.has(kind)) return `${kind} takes no range`;
	const [low = Number.NaN, high = Number.NaN] =
		new RegExp(`^(${number})\\.\\.(${number})$`, "i").exec(range)?.slice(1).map(Number) ?? [];
	return low < high ? { kind, range: [low, high] } : `${JSON.stringify(range)} is not a range such as 0..255`;
}

export function formatGenerator(specs: readonly GeneratorSpec[]): string {
	return specs
		.map(({ kind, range }) => {
			if (range === undefined) return kind;
			return kind === "const" ? `const:${range[0]}` : `${kind}:${range[0]}..${range[1]}`;
		})
		.join("+");
}

export function isDrawn(specs: readonly GeneratorSpec[]): boolean {
	return specs.some(({ kind }) => drawn.has(kind));
}
