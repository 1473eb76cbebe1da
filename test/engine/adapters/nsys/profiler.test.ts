// Profiles by what nsys leaves on disk, whatever it says at its end.
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createProcesses } from "../../../../src/adapters/process/processes.ts";
import { profileRun } from "../../../../src/engine/adapters/nsys/profiler.ts";
import { program } from "../../../support/ort-jobs.ts";

let folder = "";
beforeEach(() => {
	folder = mkdtempSync(join(tmpdir(), "trtgate-nsys-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

function profile(mode: string, timeoutMs = 600_000) {
	const argv: [string, ...string[]] =
		mode === "absent" ? ["/nonexistent/nsys"] : [process.execPath, program("nsys"), `mode=${mode}`];
	return profileRun(
		{ command: ["trtexec"], folder, name: "head", timeoutMs },
		{ argv, processes: createProcesses() },
	);
}

it.each([
	["full", "head_cuda_gpu_kern_sum.csv"],
	["old", "head_gpukernsum.csv"],
])("profileRun reads the kernels of one run (%s), and keeps the files", async (mode, csv) => {
	const { kernels, sentence, files } = await profile(mode);
	expect(kernels).toHaveLength(10);
	expect(sentence).toBeUndefined();
	expect(files).toEqual(expect.arrayContaining([join(folder, "head.nsys-rep"), join(folder, csv)]));
	expect(readdirSync(folder)).toContain("head.nsys-rep");
});

it.each([
	["absent", "Nsight Systems (nsys) is not installed, so there is no profile."],
	["no-importer", "This nsys installation lacks its importer"],
	["no-range", "nsys wrote no report: Generated:"],
	["no-data", "nsys stats wrote no head_cuda_gpu_kern_sum.csv"],
	["odd", "its table could not be parsed"],
])("profileRun explains why there are no kernels: %s", async (mode, sentence) => {
	const found = await profile(mode);
	expect(found.sentence).toContain(sentence);
	expect(found.kernels).toBeUndefined();
	if (mode === "no-data" || mode === "odd")
		expect(found.files).toContainEqual(expect.stringMatching(/\.nsys-rep$/));
});

it("profileRun ends an nsys that hangs", async () => {
	expect((await profile("hang", 200)).sentence).toBe("nsys did not finish within 200 ms and was killed.");
});
