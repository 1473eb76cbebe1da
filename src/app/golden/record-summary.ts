// Words for a golden that was recorded.
import { quoteName } from "../../core/onnx/quote.ts";
import type { MutationRecord } from "../../core/schema/golden.ts";
import { counted } from "../../core/text/labels.ts";

const mostUnseen = 5;

export function noticedText({ tested, noticed, belowNoise, unseen }: MutationRecord): string {
	const text = `  Of ${counted(tested, "weight tensor")} changed by 1 %, it notices ${noticed}.\n`;
	if (belowNoise === 0) return text;
	const names = (unseen ?? []).slice(0, mostUnseen).map((name) => quoteName(name));
	const more = belowNoise > names.length ? ", …" : "";
	const [moves, them] = belowNoise === 1 ? ["One moves", "it"] : [`${belowNoise} move`, "them"];
	return `${text}  ${moves} no output beyond the noise: ${names.join(", ")}${more}. No case depends on ${them}.\n`;
}
