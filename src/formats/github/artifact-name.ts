// Names of artifacts: what GitHub takes of what users call their jobs and configs.

/** Longer names only make lists unreadable. */
const mostChars = 100;

/** Letters, digits, dots, dashes and underscores; "" where nothing is left. */
export function slug(text: string): string {
	return text
		.slice(0, 1000)
		.normalize("NFKD")
		.replace(/[^A-Za-z0-9._-]+/g, "-")
		.replace(/-{2,}/g, "-")
		.replace(/^[-.]+|[-.]+$/g, "")
		.slice(0, mostChars)
		.replace(/[-.]+$/, "");
}

/** `trtgate-vision-l4`: prefix, config where it is not the usual one, and job. */
export function artifactName(prefix: string, { config, job }: { config: string; job: string }): string {
	const own = config === "trtgate.yml" ? "" : slug(config.replace(/\.ya?ml$/, ""));
	return [slug(prefix), own, slug(job)].filter((part) => part !== "").join("-") || "trtgate";
}

/** Names to try one after the other where the first is taken. */
export function otherNames(name: string, attempt: number): string[] {
	const dot = name.lastIndexOf(".");
	const [stem, ending] = dot > 0 && name.length - dot < 6 ? [name.slice(0, dot), name.slice(dot)] : [name, ""];
	const again = `${stem}-attempt${attempt}`;
	return [name, `${again}${ending}`, ...[2, 3, 4, 5].map((count) => `${again}-${count}${ending}`)];
}
