// Describes a golden's inputs: real ones show what the model does, generated ones whether its arithmetic is right.
import { quoteName } from "../../../core/onnx/quote.ts";
import { counted } from "../../../core/text/labels.ts";

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
