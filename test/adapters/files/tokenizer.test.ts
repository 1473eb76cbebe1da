import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { readTokenizer } from "../../../src/adapters/files/tokenizer.ts";
import { fitTokens, type TokenRow } from "../../../src/golden/core/record/tokens.ts";
import { temporaryFolder } from "../../support/project.ts";

interface Oracle {
	lines: string[];
	tokenizers: Record<string, object>;
	rows: { tokenizer: string; length: number | null; rows: TokenRow[] }[];
}
const { texts }: { texts: Oracle } = JSON.parse(readFileSync("test/oracles/golden-inputs.json", "utf8"));

function store(definition: unknown): string {
	const path = join(temporaryFolder(), "tokenizer.json");
	writeFileSync(path, typeof definition === "string" ? definition : JSON.stringify(definition));
	return path;
}

it.each(texts.rows)(
	"readTokenizer gives the tokens of $tokenizer, length $length",
	async ({ tokenizer: name, length, rows }) => {
		const tokenizer = await readTokenizer(store(texts.tokenizers[name]));
		const got = texts.lines.map((line) => fitTokens(tokenizer.encode(line), length, tokenizer.padding));
		expect(got).toEqual(rows);
	},
);

it.each([
	["no JSON", "{", "tokenizer-invalid"],
	["another document", { version: 1 }, "tokenizer-invalid"],
	[
		"a model of no known kind",
		{ ...texts.tokenizers["word-piece"], model: { type: "Magic", vocab: {} } },
		"tokenizer-invalid",
	],
	[
		"a vocabulary of something else",
		{ ...texts.tokenizers["word-piece"], model: { type: "WordPiece", vocab: 7 } },
		"tokenizer-invalid",
	],
	["a model of null", { model: null }, "tokenizer-invalid"],
])("readTokenizer refuses %s", async (_, definition, code) => {
	const reading = readTokenizer(store(definition)).then((tokenizer) => tokenizer.encode("the fox"));
	await expect(reading).rejects.toMatchObject({ code });
});
