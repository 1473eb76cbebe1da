// Parses `--dims batch=4,height=224` and `--shape x=1,3,48,192`.
import { usageError } from "../../core/errors.ts";

const mostDigits = 10;
const largest = 2_147_483_647;

interface SizeArguments {
	texts(name: "dims" | "shape"): readonly string[];
}

export function givenSizes(args: SizeArguments) {
	return { dims: parseDims(args.texts("dims")), inputs: parseShapes(args.texts("shape")) };
}

export function sizeOptions(args: SizeArguments): string[] {
	return (["dims", "shape"] as const).flatMap((name) => args.texts(name).map((text) => `--${name}=${text}`));
}

function parseDims(texts: readonly string[]): Record<string, number> {
	const entries = texts
		.flatMap((text) => text.split(","))
		.map((text) => {
			const at = text.lastIndexOf("=");
			const size = parseSize(text.slice(at + 1));
			if (at > 0 && size !== null) return [text.slice(0, at), size];
			throw usageError(
				`--dims takes NAME=SIZE; got ${JSON.stringify(text)}.`,
				"Write --dims batch=4, or --dims batch=4,height=224.",
			);
		});
	return Object.fromEntries(entries);
}

/** `s=` is a scalar. Names may hold `=`. @throws ConfigError usage. */
export function parseShapes(texts: readonly string[]): Record<string, { shape: number[] }> {
	const entries = texts.map((text) => {
		const at = text.lastIndexOf("=");
		const listed = text.slice(at + 1);
		const sizes = listed === "" ? [] : listed.split(/[,x]/).map(parseSize);
		if (at > 0 && sizes.every((size) => size !== null)) return [text.slice(0, at), { shape: sizes }];
		throw usageError(
			`--shape takes INPUT=SIZE,SIZE,…; got ${JSON.stringify(text)}.`,
			"Write --shape x=1,3,48,192, once for each input.",
		);
	});
	const twice = entries.find(([name], index) => entries.findIndex(([other]) => other === name) < index);
	if (twice === undefined) return Object.fromEntries(entries);
	throw usageError(`--shape gives input ${JSON.stringify(twice[0])} two shapes.`, "Give each input once.");
}

function parseSize(text: string) {
	const size = Number(text);
	return /^\d+$/.test(text) && text.length <= mostDigits && size <= largest ? size : null;
}
