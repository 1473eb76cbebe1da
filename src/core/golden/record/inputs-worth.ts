// What a golden's inputs are worth: real ones show what the model does, made-up ones whether the arithmetic is right.
import { quoteName } from "../../onnx/quote.ts";
import { counted } from "../../text/labels.ts";

export function isGiven(how: string): boolean {
	return how === "given" || how.startsWith("given as ");
}

const made: readonly (readonly [RegExp, string])[] = [
	[/(^|\+)image/, "synthetic images"],
	[/(^|\+)tokens/, "random whole numbers"],
	[/(^|\+)(normal|uniform)/, "random numbers"],
	[/(^|\+)boundary/, "extreme values"],
];

export function describeWorth(how: Readonly<Record<string, string>>, cases: number): string {
	const all = Object.entries(how);
	const given = all.filter(([, one]) => isGiven(one));
	if (given.length > 0) {
		const beside = all
			.filter(([, one]) => !isGiven(one))
			.map(
				([name, one]) => `${quoteName(name, "")} ${quoteName(one.replace(/, SplitMix64| \(.*/g, ""), "")}`,
			);
		return `Inputs: ${realOnes(
			given.map(([, one]) => one),
			cases,
		)}${beside.length === 0 ? "" : `; ${beside.join(", ")}`}.`;
	}
	const kinds = made
		.filter(([pattern]) => all.some(([, one]) => pattern.test(one)))
		.map(([, words]) => words);
	if (kinds.length === 0) return "Inputs: constants.";
	return `Inputs: ${kinds.join(" and ")}. They test the arithmetic, not the accuracy of the model; pass real inputs with --inputs.`;
}

function realOnes(how: readonly string[], cases: number): string {
	const named = how.find((one) => one !== "given");
	const [, kind = "cases", pattern = ""] = /^given as (\w+)s \((.*)\)$/.exec(named ?? "") ?? [];
	return named === undefined
		? `${counted(cases, "real case")}`
		: `${counted(cases, `real ${kind}`)} (${quoteName(pattern, "")})`;
}
