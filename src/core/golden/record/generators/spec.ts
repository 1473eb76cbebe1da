// How the values of an input are made: `image:0..1`, `const:16000`, several by turns with `+`.
import { didYouMean } from "../../../config/did-you-mean.ts";

const generatorKinds = [
	"normal",
	"uniform",
	"image",
	"tokens",
	"boundary",
	"zeros",
	"ones",
	"const",
	"length",
] as const;
export type GeneratorKind = (typeof generatorKinds)[number];

export interface GeneratorSpec {
	kind: GeneratorKind;
	/** Both ends included for tokens; of uniform and image the interval of the values; of const twice the value. */
	range?: readonly [low: number, high: number];
}

type ParsedGenerator =
	| { state: "ok"; input: string; specs: readonly GeneratorSpec[] }
	| { state: "wrong"; problem: string; fix: string };

const drawn: ReadonlySet<GeneratorKind> = new Set(["normal", "uniform", "image", "tokens"]);
const ranged: ReadonlySet<GeneratorKind> = new Set(["uniform", "image", "tokens"]);
const form =
	"Write INPUT=KIND, as in --generator image=image:0..1, --generator ids=tokens:0..30521 or --generator rate=const:16000; several by turns with +.";
const number = String.raw`-?[\d.]+(?:e[+-]?\d+)?`;

/** `input=kind[:low..high][+kind…]`; the input's name may hold `=`, the kinds may not. */
export function parseGenerator(text: string): ParsedGenerator {
	const at = text.lastIndexOf("=");
	if (at <= 0)
		return { state: "wrong", problem: `${JSON.stringify(text)} names no input and kind`, fix: form };
	const specs: GeneratorSpec[] = [];
	for (const part of text.slice(at + 1).split(/\+(?=[a-z])/)) {
		const spec = parseSpec(part);
		if (typeof spec === "string") return { state: "wrong", problem: spec, fix: form };
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
	if (kind === "const") return parseConst(range);
	if (range === undefined) return { kind };
	const ends = new RegExp(`^(${number})\\.\\.(${number})$`, "i").exec(range);
	const [low, high] = [Number(ends?.[1] ?? Number.NaN), Number(ends?.[2] ?? Number.NaN)];
	if (!ranged.has(kind)) return `${kind} takes no range`;
	if (!(low < high)) return `${JSON.stringify(range)} is not a range such as 0..255`;
	return { kind, range: [low, high] };
}

function parseConst(text: string | undefined): GeneratorSpec | string {
	const value = text !== undefined && new RegExp(`^${number}$`, "i").test(text) ? Number(text) : Number.NaN;
	if (!Number.isFinite(value))
		return `const takes a number, such as const:16000, and got ${JSON.stringify(text ?? "")}`;
	return { kind: "const", range: [value, value] };
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
