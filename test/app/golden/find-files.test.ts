// Names of the files that hold a case's tensors.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { fileNamesOf, findTensor } from "../../../src/app/golden/stored.ts";
import { temporaryFolder } from "../../support/project.ts";

it("a tensor whose name no file can have is found under its name with underscores, as trtexec writes it", async () => {
	const folder = temporaryFolder();
	writeFileSync(join(folder, "save_model_scale_0.tmp_1.npy"), "");
	const names = ["save_model/scale_0.tmp_1"];
	expect(await findTensor(folder, fileNamesOf(names, 0, "out"))).toBe(
		join(folder, "save_model_scale_0.tmp_1.npy"),
	);
});

it("a tensor whose name no file can have is not found so where another tensor would have the same name", () => {
	expect(fileNamesOf(["a/b", "a:b", "c/d"], 0, "out")).not.toContain("a_b");
	expect(fileNamesOf(["a/b", "a:b", "c/d"], 2, "in")).toEqual([
		"c/d",
		expect.stringMatching(/^in-c-d-/),
		"input_2",
		"c_d",
	]);
});
