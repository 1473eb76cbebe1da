// Outputs of which the user says that NaN and infinite values are right.
import { ConfigError } from "../../core/errors.ts";
import { quoteName } from "../../core/onnx/quote.ts";
import type { GoldenManifest, GoldenOutput } from "../../core/schema/golden.ts";

/** @throws ConfigError usage where the model has no such output. */
export function mustMatch(outputs: GoldenManifest["outputs"], names: readonly string[]): GoldenManifest["outputs"] {
	const unknown = names.find((name) => !Object.hasOwn(outputs, name));
	if (unknown !== undefined) {
		const known = Object.keys(outputs).map((name) => quoteName(name));
		throw new ConfigError({
			code: "usage",
			message: `--non-finite: there is no output ${quoteName(unknown)}.`,
			details: { fix: `The outputs are ${known.join(", ")}.` },
		});
	}
	const entries = Object.entries(outputs).map(([name, output]): [string, GoldenOutput] => [
		name,
		names.includes(name) ? { ...output, nonFinite: "must-match" } : output,
	]);
	return Object.fromEntries(entries);
}
