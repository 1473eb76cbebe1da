// Resolves paths of the config inside their workspace.
import { ConfigError } from "../core/errors.ts";
import type { Files } from "../ports/world.ts";

/**
 * @returns the absolute path, or null if nothing is there.
 * @throws ConfigError path-outside-workspace if a link or `..` leads out of `root`; path-unreadable.
 */
export async function confine(
	files: Pick<Files, "realPath">,
	root: string,
	path: string,
): Promise<string | null> {
	const wanted = `${root}/${path}`;
	const [realRoot, real] = await Promise.all([files.realPath(root), files.realPath(wanted)]);
	if (real === null || realRoot === null) return null;
	if (isIn(real, realRoot)) return wanted;
	throw new ConfigError({
		code: "path-outside-workspace",
		message: `${path} leads to ${real}, outside the workspace ${realRoot}.`,
		location: { path: wanted },
		fix: "Put the file itself into the workspace; trtgate does not follow links out of it.",
	});
}

/**
 * The base's checkout lies below the workspace while a run lasts, and no file of a change may be one of the base's.
 * @throws ConfigError path-outside-workspace if one of `paths` leads from `root` into `other`.
 */
export async function keepOutOf(
	other: string,
	{ root, paths }: { root: string; paths: readonly string[] },
	files: Pick<Files, "realPath">,
): Promise<void> {
	const [realOther, realRoot] = await Promise.all([files.realPath(other), files.realPath(root)]);
	if (realOther === null || realRoot === null || isIn(realRoot, realOther)) return;
	for (const path of paths) {
		const real = await files.realPath(path);
		if (real === null || !isIn(real, realOther)) continue;
		throw new ConfigError({
			code: "path-outside-workspace",
			message: `${path} leads to ${real}, a file of the other side of the comparison.`,
			location: { path },
			fix: "Put the file itself into the repository.",
		});
	}
}

function isIn(path: string, folder: string) {
	return path === folder || path.startsWith(`${folder}/`);
}
