// What an upload takes of an output folder, and what it says of the rest.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { uploadFolder } from "../../../src/app/publish/upload.ts";
import type { ArtifactDraft, ArtifactStore } from "../../../src/ports/code-host.ts";
import { temporaryFolder } from "../../support/project.ts";

it("an upload of more files than an artifact takes keeps what lies at the top, and reports how many files it left out", async () => {
	const outFolder = temporaryFolder();
	mkdirSync(join(outFolder, "logs/deep"), { recursive: true });
	for (let nth = 0; nth < 20_003; nth += 1) writeFileSync(join(outFolder, `logs/deep/${nth}.log`), "");
	writeFileSync(join(outFolder, "result.json"), "{}");
	writeFileSync(join(outFolder, "logs/run.log"), "");
	const drafts: ArtifactDraft[] = [];
	const store: ArtifactStore = {
		async upload(draft) {
			drafts.push(draft);
			return { state: "done", artifact: { id: 1, name: draft.name, url: "https://github.example.com/1", bytes: 1 } };
		},
	};
	const inputs = { artifact: "trtgate", artifactEngines: false, name: "" };
	const { published } = await uploadFolder({ outFolder, configPath: "trtgate.yml", inputs, run: { job: "gate" } }, store);
	expect(drafts[0]?.files).toHaveLength(20_000);
	expect(drafts[0]?.files.slice(0, 2)).toEqual([join(outFolder, "result.json"), join(outFolder, "logs/run.log")]);
	expect(published).toMatchObject([{ what: "artifact", state: "done", note: expect.stringMatching(/^5 of its files were left out/) }]);
});
