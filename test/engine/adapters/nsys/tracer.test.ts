// Looks into kernels by what ncu leaves on disk, and finds both profilers where they are installed.
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createProcesses } from "../../../../src/adapters/process/processes.ts";
import { findNsight, lookIntoKernel, nsightTracer } from "../../../../src/engine/adapters/nsys/tracer.ts";
import { program } from "../../../support/ort-jobs.ts";

let folder = "";
beforeEach(() => {
	folder = mkdtempSync(join(tmpdir(), "trtgate-ncu-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Only what stands in `folder` is found, whatever this machine has. */
const processes = createProcesses({ env: { PATH: "/nonexistent" } });

function look(mode: string, timeoutMs = 600_000) {
	const argv: [string, ...string[]] =
		mode === "absent" ? ["/nonexistent/ncu"] : [process.execPath, program("ncu"), `mode=${mode}`];
	return lookIntoKernel(
		{ command: ["trtexec"], kernel: "k", folder, name: "head", timeoutMs },
		{ argv, processes },
	);
}

function install(path: string, tool: "nsys" | "ncu"): string {
	const at = join(folder, path);
	mkdirSync(dirname(at), { recursive: true });
	writeFileSync(at, `#!/bin/sh\nexec "${process.execPath}" "${program(tool)}" mode=full "$@"\n`);
	chmodSync(at, 0o755);
	return at;
}

it.each([
	["absent", "does not start"],
	["forbidden", "NVreg_RestrictProfilingToAdminUsers=0"],
	["no-kernels", "saw no launch of the selected kernel"],
])("lookIntoKernel explains why there is no report: %s", async (mode, words) => {
	expect((await look(mode)).sentence).toContain(words);
});

it("findNsight chooses the newest of the installers' folders", async () => {
	install("opt/nvidia/nsight-systems/2023.4.4/bin/nsys", "nsys");
	const newest = install("opt/nvidia/nsight-systems/2024.10.1/bin/nsys", "nsys");
	mkdirSync(join(folder, "opt/nvidia/nsight-systems/2025.1.1"));
	expect(await findNsight("nsys", { processes, root: folder })).toBe(newest);
});

it("findNsight prefers a program on PATH", async () => {
	install("opt/nvidia/nsight-systems/2024.10.1/bin/nsys", "nsys");
	const bin = dirname(install("bin/nsys", "nsys"));
	const own = createProcesses({ env: { PATH: bin } });
	expect(await findNsight("nsys", { processes: own, root: folder })).toBe("nsys");
});

describe("nsightTracer", () => {
	const job = { command: ["trtexec"], name: "head", timeoutMs: 600_000 };

	it("nsightTracer traces with what it found, and reports the kernels", async () => {
		install("usr/local/cuda/bin/nsys", "nsys");
		const traced = await nsightTracer({ processes, root: folder })({
			...job,
			tool: "nsys",
			folder: join(folder, "out"),
		});
		expect(traced.kernels).toHaveLength(10);
		expect(traced.sentence).toBeUndefined();
	});

	it.each(["nsys", "ncu"] as const)("nsightTracer reports where it looked for %s", async (tool) => {
		const { files, sentence } = await nsightTracer({ processes, root: folder })({ ...job, tool, folder });
		expect(files).toEqual([]);
		expect(sentence).toMatch(
			new RegExp(`\\(${tool}\\) is not installed, so .+ not on PATH, in /opt/nvidia/nsight-`),
		);
	});
});
