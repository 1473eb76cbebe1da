// Turns any id into a short file name that is safe on every system.

const maxChars = 80;
const hashChars = 13;

// FNV-1a, 64 bit (RFC 9923).
const offsetBasis = 0xcbf29ce484222325n;
const prime = 0x100000001b3n;
const mask = 0xffffffffffffffffn;

const reserved = /^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)/;
/** Ids that look like altered names are altered too, so that the two never collide. */
const hashLike = new RegExp(`-[0-9a-z]{${hashChars}}$`);
const plain = /^[a-z0-9]+([._-][a-z0-9]+)*$/;

/**
 * At most 80 characters of `a-z 0-9 . _ -`; different ids give different names, even if the file system ignores case. A
 * slug and a hash, unless the id is such a name already.
 */
export function folderName(id: string): string {
	if (id.length <= maxChars && plain.test(id) && !reserved.test(id) && !hashLike.test(id)) return id;
	const hash = hashText(id);
	const slug = id
		.slice(0, maxChars)
		.toLowerCase()
		.replace(/[^a-z0-9]+/g, "-")
		.slice(0, maxChars - hashChars - 1)
		.replace(/^-+|-+$/g, "");
	return slug === "" ? `x-${hash}` : `${slug}-${hash}`;
}

/** FNV-1a over UTF-16 code units, low byte first; not secure against attackers. */
function hashText(text: string) {
	let hash = offsetBasis;
	for (let at = 0; at < text.length; at += 1) {
		const unit = text.charCodeAt(at);
		hash = ((hash ^ BigInt(unit & 0xff)) * prime) & mask;
		hash = ((hash ^ BigInt(unit >> 8)) * prime) & mask;
	}
	return hash.toString(36).padStart(hashChars, "0");
}
