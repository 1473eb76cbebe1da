// A 64-bit hash of text, to compare structures; not for security.

/** 16 hex digits. */
export function hashText(text: string): string {
	let [a, b] = [0xdeadbeef, 0x41c6ce57];
	for (let at = 0; at < text.length; at += 1) {
		const code = text.charCodeAt(at);
		a = Math.imul(a ^ code, 2654435761);
		b = Math.imul(b ^ code, 1597334677);
	}
	a = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909);
	b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909);
	return [b, a].map((half) => (half >>> 0).toString(16).padStart(8, "0")).join("");
}
