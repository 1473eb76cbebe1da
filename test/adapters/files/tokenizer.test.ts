import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { readTokenizer } from "../../../src/adapters/files/tokenizer.ts";
import { fitTokens, type TokenRow } from "../../../src/golden/core/record/tokens.ts";
import { expectFault, folderWith } from "../../support/project.ts";

interface Oracle {
	lines: string[];
	tokenizers: Record<string, object>;
	rows: { tokenizer: string; length: number | null; rows: TokenRow[] }[];
}
const { texts }: { texts: Oracle } = JSON.parse(readFileSync("test/oracles/golden-inputs.json", "utf8"));

const store = (definition: string) => join(folderWith({ "tokenizer.json": definition }), "tokenizer.json");

it.each(texts.rows)(
	"readTokenizer gives the tokens of $tokenizer, length $length",
	async ({ tokenizer: name, length, rows }) => {
		const tokenizer = await readTokenizer(store(JSON.stringify(texts.tokenizers[name])));
		const got = texts.lines.map((line) => fitTokens(tokenizer.encode(line), length, tokenizer.padding));
		expect(got).toEqual(rows);
	},
);

const withModel = (model: object) => JSON.stringify({ ...texts.tokenizers["word-piece"], model });

it.each([
	["no JSON", "{"],
	["another document", '{ "version": 1 }'],
	["a model of no known kind", withModel({ type: "Magic", vocab: {} })],
	["a vocabulary of something else", withModel({ type: "WordPiece", vocab: 7 })],
	["a model of null", '{ "model": null }'],
])("readTokenizer refuses %s", async (_, definition) => {
	const reading = readTokenizer(store(definition)).then((tokenizer) => tokenizer.encode("the fox"));
	await expectFault(reading, "tokenizer-invalid");
});
