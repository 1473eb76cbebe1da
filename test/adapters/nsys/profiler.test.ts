// Profiles by what nsys leaves on disk, whatever it says at its end.
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { profileRun } from "../../../src/adapters/nsys/profiler.ts";
import { createProcesses } from "../../../src/adapters/process/processes.ts";
import { program } from "../../support/ort-jobs.ts";

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

it.each(["full", "old"])(
	"profileRun reads the kernels of one run (%s), and keeps the files",
	async (mode) => {
		const done = await profile(mode);
		if (done.state !== "done") throw new Error(done.sentence);
		expect(done.kernels).toHaveLength(10);
		expect(done.sentence).toBeUndefined();
		expect(done.report).toBe(join(folder, "head.nsys-rep"));
		expect(readdirSync(folder)).toContain("head.nsys-rep");
		expect(
			done.files.some((path) =>
				path.endsWith(mode === "old" ? "head_gpukernsum.csv" : "head_cuda_gpu_kern_sum.csv"),
			),
		).toBe(true);
	},
);

it.each([
	["absent", "Nsight Systems (nsys) is not installed, so there is no profile."],
	["no-importer", "This nsys installation lacks its importer"],
	["no-range", "nsys wrote no report: Generated:"],
])("profileRun explains why there is no profile: %s", async (mode, sentence) => {
	expect(await profile(mode)).toMatchObject({
		state: "unavailable",
		sentence: expect.stringContaining(sentence),
	});
});

it.each([
	["no-data", "nsys stats wrote no head_cuda_gpu_kern_sum.csv"],
	["odd", "its table could not be parsed"],
])("profileRun keeps a report whose kernels cannot be told: %s", async (mode, sentence) => {
	expect(await profile(mode)).toMatchObject({
		state: "done",
		kernels: [],
		sentence: expect.stringContaining(sentence),
	});
});

it("profileRun ends an nsys that hangs", async () => {
	expect(await profile("hang", 200)).toMatchObject({
		state: "unavailable",
		sentence: "nsys did not finish within 200 ms and was killed.",
	});
});
