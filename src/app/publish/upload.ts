// Uploads what a run leaves in its output folder: the files together, the report as a page of its own, profiles and engines separately.
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { WorkflowRun } from "../../adapters/github/env.ts";
import type { PublishInputs } from "../../adapters/github/inputs.ts";
import { ConfigError } from "../../core/errors.ts";
import type { ReportLinks } from "../../core/report/markdown.ts";
import { artifactName } from "../../formats/github/names.ts";
import type { ArtifactDraft, ArtifactStore } from "../../ports/code-host.ts";
import type { Published, PublishedThing } from "../../stages/publish/plan.ts";
import { reportFiles } from "../../stages/report.ts";
import { type OutRoots, outNames, refuseLinks } from "../out-folder.ts";

export interface Upload {
	outFolder: string;
	roots: OutRoots;
	/** As in the result. */
	configPath: string;
	inputs: Pick<PublishInputs, "artifact" | "artifactEngines" | "name">;
	run: Pick<WorkflowRun, "job">;
}

export interface Uploaded {
	published: Published[];
	links: ReportLinks;
}

/** Folders of the output folder that do not go into the artifact of the run. */
const separate: ReadonlySet<string> = new Set(["engines", "cache", "scratch", "worktrees", "nsys"]);
/** GitHub shows and keeps them; more files than this are a mistake. */
const maxFiles = 20_000;

export async function uploadFolder(upload: Upload, store: ArtifactStore): Promise<Uploaded> {
	const uploaded: Uploaded = { published: [], links: {} };
	if (upload.inputs.artifact === "none") return uploaded;
	try {
		await refuseLinks(upload.outFolder, { cwd: upload.roots.workspace, roots: upload.roots });
	} catch (error) {
		if (!(error instanceof ConfigError)) throw error;
		return { ...uploaded, published: [{ what: "artifact", state: "skipped", why: error.message }] };
	}
	for (const { what, link, draft, leftOut } of await draftsOf(upload)) {
		const sent = await store.upload(draft);
		if (sent.state === "failed") {
			uploaded.published.push({ what, ...sent });
			// A failure other than a rejection would repeat for every artifact.
			if (sent.fault.code !== "github-rejected") break;
			continue;
		}
		const { url } = sent.artifact;
		const note =
			leftOut === 0
				? {}
				: { note: `${leftOut} of its files were left out, as at most ${maxFiles} are uploaded.` };
		uploaded.published.push({ what, state: "done", url, ...note });
		if (link !== null) uploaded.links[link] = url;
	}
	return uploaded;
}

interface Drafted {
	what: PublishedThing;
	link: keyof ReportLinks | null;
	draft: ArtifactDraft;
	/** Files beyond the most that are uploaded. */
	leftOut: number;
}

async function draftsOf({ outFolder, configPath, inputs, run }: Upload): Promise<Drafted[]> {
	const named = (prefix: string): string =>
		artifactName(prefix, { config: configPath, job: inputs.name || run.job });
	const names = outNames.filter((name) => !separate.has(name));
	const files = (await Promise.all(names.map((name) => filesBelow(join(outFolder, name))))).flat();
	const folder = async (name: string): Promise<string[]> => filesBelow(join(outFolder, name));
	const [profiles, engines] = [await folder("nsys"), inputs.artifactEngines ? await folder("engines") : []];
	const page = files.filter((path) => path === join(outFolder, reportFiles.html));
	const drafts: Omit<Drafted, "leftOut">[] = [
		{
			what: "artifact",
			link: "artifact",
			draft: { name: named(inputs.artifact), root: outFolder, files, compression: 6 },
		},
		{
			what: "report page",
			link: "report",
			draft: { name: `${named("report")}.html`, root: outFolder, files: page, compression: 0, asIs: true },
		},
		{
			what: "profiles",
			link: "profiles",
			draft: { name: named("nsys"), root: join(outFolder, "nsys"), files: profiles, compression: 1 },
		},
		{
			what: "artifact",
			link: null,
			draft: { name: named("engines"), root: join(outFolder, "engines"), files: engines, compression: 0 },
		},
	];
	return drafts.filter(({ draft }) => draft.files.length > 0).map(withinLimit);
}

/** Drops the deepest files first: result and reports are at the top. */
function withinLimit(drafted: Omit<Drafted, "leftOut">): Drafted {
	const { draft } = drafted;
	const depth = (path: string): number => path.split("/").length;
	const files = [...draft.files].sort((a, b) => depth(a) - depth(b)).slice(0, maxFiles);
	return { ...drafted, draft: { ...draft, files }, leftOut: draft.files.length - files.length };
}

/** Regular files only: a link could lead out of the folder. Hidden files are temporary. */
async function filesBelow(path: string): Promise<string[]> {
	const found = await lstat(path).catch(() => null);
	if (found === null || path.split("/").at(-1)?.startsWith(".")) return [];
	if (found.isFile()) return [path];
	if (!found.isDirectory()) return [];
	const files: string[] = [];
	for (const name of (await readdir(path)).sort()) {
		for (const file of await filesBelow(join(path, name))) files.push(file);
	}
	return files;
}
