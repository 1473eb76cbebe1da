// Names and hashes that git and GitHub accept, and names of artifacts.

const maxRefBytes = 255;
const maxNameChars = 140;

/** The null hash is not a commit. */
export function isCommit(text: unknown): text is string {
	return typeof text === "string" && /^([0-9a-f]{40}|[0-9a-f]{64})$/.test(text) && !/^0+$/.test(text);
}

/** As in git-check-ref-format(1), and no option (`-x`). */
export function isRefName(text: unknown): text is string {
	if (typeof text !== "string" || text === "" || text === "@" || text.length > maxRefBytes) return false;
	if (new TextEncoder().encode(text).length > maxRefBytes) return false;
	if (/[\p{Cc}\p{Zl}\p{Zp}\p{Surrogate} ~^:?*[\\]|\.\.|@\{|\.$/u.test(text)) return false;
	return text
		.split("/")
		.every(
			(part) => part !== "" && !part.startsWith(".") && !part.startsWith("-") && !part.endsWith(".lock"),
		);
}

export function isRepositoryName(text: unknown): text is string {
	return (
		typeof text === "string" &&
		text.length <= maxNameChars &&
		/^[A-Za-z0-9][A-Za-z0-9-]*\/[A-Za-z0-9._-]+$/.test(text)
	);
}

export function shortName(ref: unknown, kind: "heads" | "tags"): string | null {
	const prefix = `refs/${kind}/`;
	if (typeof ref !== "string" || !ref.startsWith(prefix)) return null;
	const name = ref.slice(prefix.length);
	return isRefName(name) ? name : null;
}

const maxChars = 100;

export function slug(text: string): string {
	return text
		.slice(0, 1000)
		.normalize("NFKD")
		.replace(/[^A-Za-z0-9._-]+/g, "-")
		.replace(/-{2,}/g, "-")
		.replace(/^[-.]+|[-.]+$/g, "")
		.slice(0, maxChars)
		.replace(/[-.]+$/, "");
}

/** `trtgate-vision-l4`: prefix, config unless it is trtgate.yml, job. */
export function artifactName(prefix: string, { config, job }: { config: string; job: string }): string {
	const own = config === "trtgate.yml" ? "" : slug(config.replace(/\.ya?ml$/, ""));
	return [slug(prefix), own, slug(job)].filter((part) => part !== "").join("-") || "trtgate";
}

export function otherNames(name: string, attempt: number): string[] {
	const dot = name.lastIndexOf(".");
	const [stem, ending] =
		dot > 0 && name.length - dot < 6 ? [name.slice(0, dot), name.slice(dot)] : [name, ""];
	const again = `${stem}-attempt${attempt}`;
	return [name, `${again}${ending}`, ...[2, 3, 4, 5].map((count) => `${again}-${count}${ending}`)];
}
