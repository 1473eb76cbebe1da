// Uploads the output folder.
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { type OutRoots, outNames, refuseLinks } from "../../../app/out-folder.ts";
import { ConfigError } from "../../../core/errors.ts";
import type { ReportLinks } from "../../../core/report/markdown.ts";
import type { ArtifactDraft, ArtifactStore, WorkflowRun } from "../../../ports/code-host.ts";
import { reportFiles } from "../../../stages/report.ts";
import type { PublishInputs } from "../../adapters/github/inputs.ts";
import { artifactName } from "../../formats/github/names.ts";
import type { Published, PublishedThing } from "../../stages/publish/plan.ts";

export interface Upload {
	outFolder: string;
	roots: OutRoots;
	configPath: string;
	inputs: Pick<PublishInputs, "artifact" | "artifactEngines" | "name">;
	run: Pick<WorkflowRun, "job">;
}

const separate: ReadonlySet<string> = new Set(["engines", "cache", "scratch", "worktrees", "nsys"]);
const maxFiles = 20_000;

export async function uploadFolder(
	upload: Upload,
	store: ArtifactStore,
): Promise<{ published: Published[]; links: ReportLinks }> {
	const published: Published[] = [];
	const links: ReportLinks = {};
	const { outFolder, roots, inputs } = upload;
	if (inputs.artifact === "none") return { published, links };
	try {
		await refuseLinks(outFolder, roots);
	} catch (error) {
		if (!(error instanceof ConfigError)) throw error;
		return { published: [{ what: "artifact", state: "skipped", why: error.message }], links };
	}
	for (const { what, link, draft } of await draftsOf(upload)) {
		// Drops the deepest first: result and reports are at the top.
		const depth = (path: string): number => path.split("/").length;
		const files = draft.files.toSorted((a, b) => depth(a) - depth(b)).slice(0, maxFiles);
		const leftOut = draft.files.length - files.length;
		const sent = await store.upload({ ...draft, files });
		if (sent.state === "failed") {
			published.push({ what, ...sent });
			if (sent.fault.code !== "github-rejected") break;
			continue;
		}
		const { url } = sent.artifact;
		const note = `${leftOut} of its files were left out, as at most ${maxFiles} are uploaded.`;
		published.push({ what, state: "done", url, note: leftOut === 0 ? undefined : note });
		if (link !== null) links[link] = url;
	}
	return { published, links };
}

interface Drafted {
	what: PublishedThing;
	link: keyof ReportLinks | null;
	draft: ArtifactDraft;
}

async function draftsOf({ outFolder, configPath, inputs, run }: Upload): Promise<Drafted[]> {
	const named = (prefix: string): string =>
		artifactName(prefix, { config: configPath, job: inputs.name || run.job });
	const names = outNames.filter((name) => !separate.has(name));
	const files = (await Promise.all(names.map((name) => filesBelow(join(outFolder, name))))).flat();
	const page = files.filter((path) => path === join(outFolder, reportFiles.html));
	const drafted = (
		what: PublishedThing,
		link: keyof ReportLinks | null,
		draft: Omit<ArtifactDraft, "root">,
		folder = "",
	): Drafted => ({ what, link, draft: { root: join(outFolder, folder), ...draft } });
	const nsys = await filesBelow(join(outFolder, "nsys"));
	const engines = inputs.artifactEngines ? await filesBelow(join(outFolder, "engines")) : [];
	const drafts = [
		drafted("artifact", "artifact", { name: named(inputs.artifact), files, compression: 6 }),
		drafted("report page", "report", {
			name: `${named("report")}.html`,
			files: page,
			compression: 0,
			asIs: true,
		}),
		drafted("profiles", "profiles", { name: named("nsys"), files: nsys, compression: 1 }, "nsys"),
		drafted("artifact", null, { name: named("engines"), files: engines, compression: 0 }, "engines"),
	];
	return drafts.filter(({ draft }) => draft.files.length > 0);
}

/** A link could lead out of the folder; hidden files are temporary. */
async function filesBelow(path: string): Promise<string[]> {
	const found = await lstat(path).catch(() => null);
	if (found === null || path.split("/").at(-1)?.startsWith(".")) return [];
	if (found.isFile()) return [path];
	if (!found.isDirectory()) return [];
	const files: string[] = [];
	// A call may not have so many arguments.
	for (const name of (await readdir(path)).sort())
		for (const file of await filesBelow(join(path, name))) files.push(file);
	return files;
}
