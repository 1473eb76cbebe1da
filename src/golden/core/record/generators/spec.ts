// Parses the generator of an input, and describes what the inputs of a golden are worth.
import { didYouMean } from "../../../../core/config/did-you-mean.ts";
import { quoteName } from "../../../../core/onnx/quote.ts";
import { counted } from "../../../../core/text/labels.ts";

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

export function isGiven(how: string): boolean {
	return how === "given" || how.startsWith("given as ");
}

const generatedKinds: readonly (readonly [RegExp, string])[] = [
	[/(^|\+)image/, "synthetic images"],
	[/(^|\+)tokens/, "random whole numbers"],
	[/(^|\+)(normal|uniform)/, "random numbers"],
];

export function describeWorth(how: Readonly<Record<string, string>>, cases: number): string {
	const all = Object.entries(how);
	const given = all.map(([, one]) => one).filter(isGiven);
	if (given.length > 0) {
		const generated = all
			.filter(([, one]) => !isGiven(one))
			.map(
				([name, one]) => `${quoteName(name, "")} ${quoteName(one.replace(/, SplitMix64| \(.*/g, ""), "")}`,
			);
		return `Inputs: ${[describeGiven(given, cases), generated.join(", ")].filter(Boolean).join("; ")}.`;
	}
	const kinds = generatedKinds.flatMap(([pattern, words]) =>
		all.some(([, one]) => pattern.test(one)) ? words : [],
	);
	if (kinds.length === 0) return "Inputs: constants.";
	return `Inputs: ${kinds.join(" and ")}. They test the arithmetic, not the accuracy of the model; pass real inputs with --inputs.`;
}

function describeGiven(given: readonly string[], cases: number): string {
	const [, kind, pattern = ""] = /^given as (\w+)s \((.*)\)$/m.exec(given.join("\n")) ?? [];
	return kind === undefined
		? counted(cases, "real case")
		: `${counted(cases, `real ${kind}`)} (${quoteName(pattern, "")})`;
}
