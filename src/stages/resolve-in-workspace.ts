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
	if (real === realRoot || real.startsWith(`${realRoot}/`)) return wanted;
	throw new ConfigError({
		code: "path-outside-workspace",
		message: `${path} leads to ${real}, outside the workspace ${realRoot}.`,
		location: { path: wanted },
		fix: "Put the file itself into the workspace; trtgate does not follow links out of it.",
	});
}
