// Finds invisible characters, which make different names look the same.

const invisible = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Surrogate}\p{Default_Ignorable_Code_Point}]/u;

export function describeInvisible(text: string): string | null {
	const found = invisible.exec(text);
	if (found === null) return null;
	const point = found[0].codePointAt(0) ?? 0;
	const what = /[\n\r\u2028\u2029]/.test(found[0]) ? "a line break" : "an invisible character";
	return `${what} (U+${point.toString(16).toUpperCase().padStart(4, "0")}) at position ${found.index + 1}`;
}

export function withoutInvisible(text: string): string {
	return text.replace(new RegExp(invisible, "gu"), "");
}
