// A 64-bit hash of text, to compare structures; not for security. Faster than FNV-1a on BigInt, which names of folders use.

/** 16 hex digits: two lanes of 32-bit FNV-1a over UTF-16 code units, each with a start and a multiplier of its own. */
export function hashText(text: string): string {
	let [first, second] = [0x811c9dc5, 0x9747b28c];
	for (let at = 0; at < text.length; at += 1) {
		const unit = text.charCodeAt(at);
		first = Math.imul(first ^ unit, 0x01000193);
		second = Math.imul(second ^ unit, 0x0019660d);
	}
	return [first, second].map((lane) => (lane >>> 0).toString(16).padStart(8, "0")).join("");
}
