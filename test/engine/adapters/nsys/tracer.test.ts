import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { createProcesses } from "../../../../src/adapters/process/processes.ts";
import { findNsight, nsightTracer, traceRun } from "../../../../src/engine/adapters/nsys/tracer.ts";
import { program } from "../../../support/ort-jobs.ts";
import { temporaryFolder } from "../../../support/project.ts";

type Tool = "nsys" | "ncu";

let folder = "";
beforeEach(() => {
	folder = temporaryFolder();
});

/** Only what stands in `folder` is found, whatever this machine has. */
const processes = createProcesses({ env: { PATH: "/nonexistent" } });

const jobIn = (cwd: string, timeoutMs = 600_000) => ({
	...{ command: ["trtexec"], cwd, folder: cwd, name: "head", timeoutMs },
});

function trace(tool: Tool, mode: string, timeoutMs?: number) {
	const argv: [string, ...string[]] =
		mode === "absent" ? [`/nonexistent/${tool}`] : [process.execPath, program(tool), `mode=${mode}`];
	return traceRun(tool, { ...jobIn(folder, timeoutMs), kernel: "k" }, { argv, processes });
}

function install(path: string) {
	const at = join(folder, path);
	mkdirSync(dirname(at), { recursive: true });
	const script = `#!/bin/sh\nexec "${process.execPath}" "${program("nsys")}" mode=full "$@"\n`;
	writeFileSync(at, script, { mode: 0o755 });
	return at;
}

it.each([
	["full", "head_cuda_gpu_kern_sum.csv"],
	["old", "head_gpukernsum.csv"],
])("traceRun reads the kernels of one run (%s), and keeps the files", async (mode, csv) => {
	const { kernels, sentence, files } = await trace("nsys", mode);
	expect([kernels?.length, sentence]).toEqual([10, undefined]);
	expect(files).toEqual(expect.arrayContaining([join(folder, "head.nsys-rep"), join(folder, csv)]));
});

it.each<[Tool, mode: string, sentence: string]>([
	["nsys", "absent", "Nsight Systems (nsys) does not start"],
	["nsys", "no-importer", "This nsys installation lacks its importer"],
	["nsys", "no-range", "nsys wrote no report: Generated:"],
	["nsys", "no-data", "nsys stats wrote no head_cuda_gpu_kern_sum.csv"],
	["nsys", "odd", "its table could not be parsed"],
	["ncu", "absent", "Nsight Compute (ncu) does not start"],
	["ncu", "forbidden", "NVreg_RestrictProfilingToAdminUsers=0"],
])("traceRun explains why there are no kernels of %s: %s", async (tool, mode, says) => {
	const { kernels, sentence, files } = await trace(tool, mode);
	expect([kernels, sentence]).toEqual([undefined, expect.stringContaining(says)]);
	if (mode === "no-data" || mode === "odd") expect(files).toContain(join(folder, "head.nsys-rep"));
});

it("traceRun ends an nsys that hangs", async () => {
	expect((await trace("nsys", "hang", 200)).sentence).toBe(
		"nsys did not finish within 200 ms and was killed.",
	);
});

it("findNsight prefers a program on PATH, then the newest of the installers' folders", async () => {
	install("opt/nvidia/nsight-systems/2023.4.4/bin/nsys");
	const newest = install("opt/nvidia/nsight-systems/2024.10.1/bin/nsys");
	mkdirSync(join(folder, "opt/nvidia/nsight-systems/2025.1.1"));
	expect(await findNsight("nsys", { processes, root: folder })).toBe(newest);
	const own = createProcesses({ env: { PATH: dirname(install("bin/nsys")) } });
	expect(await findNsight("nsys", { processes: own, root: folder })).toBe("nsys");
});

it("nsightTracer traces with what it found, and reports the kernels", async () => {
	install("usr/local/cuda/bin/nsys");
	const traced = await nsightTracer({ processes, root: folder })({ ...jobIn(folder), tool: "nsys" });
	expect([traced.kernels?.length, traced.sentence]).toEqual([10, undefined]);
});

it.each<Tool>(["nsys", "ncu"])("nsightTracer reports where it looked for %s", async (tool) => {
	const { files, sentence } = await nsightTracer({ processes, root: folder })({ ...jobIn(folder), tool });
	expect(files).toEqual([]);
	expect(sentence).toMatch(
		new RegExp(`\\(${tool}\\) is not installed, so .+ not on PATH, in /opt/nvidia/nsight-`),
	);
});
