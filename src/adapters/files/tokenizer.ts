// Turns text into token ids with a tokenizer.json from Hugging Face.

import { ConfigError } from "../../core/errors.ts";
import { inputKinds } from "../../core/input-kind.ts";
import type { TokenizedText, TokenPadding } from "../../golden/core/record/tokens.ts";
import { digestOf, readInput } from "../process/input-file.ts";

export interface TextTokenizer {
	sha256: string;
	padding: TokenPadding;
	encode(text: string): TokenizedText;
}

/** Few goldens need the library, so it is loaded here. @throws ConfigError tokenizer-invalid. */
export async function readTokenizer(path: string): Promise<TextTokenizer> {
	const bytes = await readInput(path, inputKinds.tokenizer);
	const parsed = parseTokenizer(bytes, path);
	const { Tokenizer } = await import("@huggingface/tokenizers");
	const tokenizer = orInvalid(path, () => new Tokenizer(parsed, {}));
	const encode = (text: string, withSpecial: boolean) => {
		const { ids, token_type_ids } = orInvalid(path, () =>
			tokenizer.encode(text, { add_special_tokens: withSpecial, return_token_type_ids: true }),
		);
		if (!ids.every(Number.isSafeInteger)) throw invalid(path, "a token has no id");
		return { ids, token_type_ids };
	};
	const padding = paddingOf(parsed, (token) => tokenizer.token_to_id(token));
	return {
		sha256: digestOf(bytes),
		padding,
		encode: (text) => {
			const { ids, token_type_ids = [] } = encode(text, true);
			return { ids, types: token_type_ids, contentIds: encode(text, false).ids };
		},
	};
}

interface ParsedTokenizer {
	padding?: { direction?: unknown; pad_id?: unknown; pad_type_id?: unknown } | null;
}

function parseTokenizer(bytes: Uint8Array, path: string) {
	const parsed: unknown = orInvalid(path, () =>
		JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)),
	);
	if (typeof parsed === "object" && parsed !== null && "model" in parsed) return parsed as ParsedTokenizer;
	throw invalid(path, 'it has no "model"');
}

function orInvalid<T>(path: string, work: () => T) {
	try {
		return work();
	} catch (cause) {
		if (cause instanceof ConfigError) throw cause;
		throw invalid(path, cause instanceof Error ? cause.message.slice(0, 200) : "something else", cause);
	}
}

function invalid(path: string, why: string, cause?: unknown) {
	return new ConfigError({
		code: "tokenizer-invalid",
		message: `${path} is not a tokenizer that trtgate can run: ${JSON.stringify(why)}.`,
		cause,
		location: { path },
		fix: "Give the tokenizer.json of the model, or tensors of token ids (.npy).",
	});
}

const padTokens = ["[PAD]", "<pad>", "<|endoftext|>", "</s>"];

function paddingOf({ padding }: ParsedTokenizer, idOf: (token: string) => number | undefined): TokenPadding {
	const side = padding?.direction === "Left" ? "left" : "right";
	const typeId = typeof padding?.pad_type_id === "number" ? padding.pad_type_id : 0;
	if (typeof padding?.pad_id === "number") return { id: padding.pad_id, typeId, side };
	return { id: padTokens.map(idOf).find((id) => id !== undefined) ?? 0, typeId, side };
}
