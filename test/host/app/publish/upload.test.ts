import { renameSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { uploadFolder } from "../../../../src/host/app/publish/publish-run.ts";
import type { ArtifactDraft, ArtifactStore } from "../../../../src/ports/code-host.ts";
import { temporaryFolder, writeProject } from "../../../support/project.ts";

async function upload(outFolder: string) {
	const drafts: ArtifactDraft[] = [];
	const store: ArtifactStore = {
		async upload(draft) {
			drafts.push(draft);
			return { state: "done", artifact: { id: 1, name: draft.name, url: "https://example.com/1", bytes: 1 } };
		},
	};
	const inputs = { artifact: "trtgate", artifactEngines: true, name: "" };
	const roots = { workspace: dirname(outFolder), temp: "/nowhere" };
	const given = { outFolder, roots, configPath: "trtgate.yml", inputs, run: { job: "gate" } };
	return { drafts, published: (await uploadFolder(given, store)).published };
}

it("an upload of too many files keeps those at the top, and counts the others", async () => {
	const outFolder = temporaryFolder();
	writeProject(outFolder, { "result.json": "{}", "logs/run.log": "", "logs/deep/0.log": "" });
	for (let nth = 1; nth < 20_003; nth += 1) writeFileSync(join(outFolder, `logs/deep/${nth}.log`), "");
	const { drafts, published } = await upload(outFolder);
	expect(drafts[0]?.files).toHaveLength(20_000);
	const first = ["result.json", "logs/run.log"].map((name) => join(outFolder, name));
	expect(drafts[0]?.files.slice(0, 2)).toEqual(first);
	expect(published).toMatchObject([
		{ what: "artifact", state: "done", note: expect.stringMatching(/^5 of its files were left out/) },
	]);
});

it("an upload takes only files that a run writes, and follows no link among them", async () => {
	const root = temporaryFolder();
	const files = { "result.json": "{}", "raw/net/0.f64": "", "planted.html": "", "other/run.log": "" };
	const outFolder = writeProject(join(root, "out"), files);
	writeFileSync(join(root, "secret"), "");
	symlinkSync(root, join(outFolder, "raw/net/deep"));
	symlinkSync(join(root, "secret"), join(outFolder, "raw/secret"));
	const { drafts } = await upload(outFolder);
	const taken = ["result.json", "raw/net/0.f64"].map((name) => join(outFolder, name));
	expect(drafts.flatMap((draft) => draft.files)).toEqual(taken);
});

it.each(["", "engines", "nsys", "raw", "exports"])(
	"an upload does not begin if out/%s became a link",
	async (name) => {
		const root = temporaryFolder();
		const files = { "result.json": "{}", "engines/e": "", "nsys/n": "", "raw/r": "", "exports/e": "" };
		const outFolder = writeProject(join(root, "out"), files);
		const at = join(outFolder, name);
		renameSync(at, join(root, "moved"));
		symlinkSync(join(root, "moved"), at);
		const { drafts, published } = await upload(outFolder);
		expect(drafts).toEqual([]);
		expect(published).toMatchObject([
			{ what: "artifact", state: "skipped", why: expect.stringContaining("is a link") },
		]);
	},
);
