// trtexec is found where the user says, on PATH, or in a folder, and what does not work is told with its reason.
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { createProcesses } from "../../../src/adapters/process/processes.ts";
import { type FindOptions, findTrtexec } from "../../../src/adapters/trtexec/find.ts";
import { temporaryFolder } from "../../support/project.ts";

function program(folder: string, text: string): string {
	mkdirSync(folder, { recursive: true });
	const path = join(folder, "trtexec");
	writeFileSync(path, `#!/bin/sh\n${text}\n`);
	chmodSync(path, 0o755);
	return path;
}

function banner(digits: string): string {
	return `echo '&&&& RUNNING TensorRT.trtexec [TensorRT v${digits}] [b26] # trtexec --help'`;
}

function find(options: Partial<FindOptions>, path = "/usr/bin:/bin") {
	const processes = createProcesses({ env: { PATH: path } });
	onTestFinished(() => processes.killAll());
	return findTrtexec({ cwd: "/", installFolders: [], processes, ...options });
}

it.each([
	["8601", "8.6.1"],
	["100600", "10.6.0"],
	["110100", "11.1.0"],
	["120000", "12.0.0"],
])("findTrtexec reads the version of banner %s as %s", async (digits, version) => {
	const path = program(temporaryFolder(), banner(digits));
	expect(await find({ wanted: path })).toMatchObject({
		state: "found",
		trtexec: { program: path, version: { text: version } },
	});
});

it("findTrtexec takes the path that the user names, relative to the folder that he is in, and looks nowhere else", async () => {
	const folder = temporaryFolder();
	program(join(folder, "bin"), banner("100600"));
	expect((await find({ wanted: "bin/trtexec", cwd: folder })).state).toBe("found");
	const missing = await find({ wanted: "bin/none", cwd: folder, installFolders: [join(folder, "bin")] });
	expect(missing).toMatchObject({
		state: "missing",
		tried: [{ program: join(folder, "bin/none"), why: "does not exist" }],
	});
});

it("findTrtexec prefers PATH, then the install folders", async () => {
	const folder = temporaryFolder();
	program(join(folder, "path"), banner("100600"));
	program(join(folder, "opt"), banner("110100"));
	const installFolders = [join(folder, "none"), join(folder, "opt")];
	expect(await find({ installFolders }, join(folder, "path"))).toMatchObject({
		trtexec: { program: "trtexec" },
	});
	expect(await find({ installFolders })).toMatchObject({ trtexec: { version: { text: "11.1.0" } } });
});

it("findTrtexec finds the newest unpacked archive in the user's home", async () => {
	const home = temporaryFolder();
	for (const [version, digits] of [
		["9.3.0.1", "9300"],
		["10.6.0.26", "100600"],
	] as const)
		program(join(home, `TensorRT-${version}/bin`), banner(digits));
	const processes = createProcesses({ env: { PATH: "/usr/bin:/bin" } });
	expect(await findTrtexec({ cwd: "/", home, processes })).toMatchObject({
		trtexec: { version: { text: "10.6.0" } },
	});
});

it("findTrtexec explains why a program that exists cannot be used", async () => {
	const path = program(
		temporaryFolder(),
		"echo 'error while loading shared libraries: libnvinfer.so.10' >&2; exit 127",
	);
	const found = await find({ wanted: path });
	expect(found).toMatchObject({
		state: "missing",
		tried: [{ why: expect.stringMatching(/127.*libnvinfer\.so\.10/) }],
	});
});

it("findTrtexec puts the libraries beside an unpacked trtexec, or the folder that is named, before those of the environment", async () => {
	const home = temporaryFolder();
	const path = program(join(home, "TensorRT-10.6/bin"), `${banner("100600")}\necho "$LD_LIBRARY_PATH"`);
	mkdirSync(join(home, "TensorRT-10.6/lib"));
	writeFileSync(join(home, "TensorRT-10.6/lib/libnvinfer.so.10"), "");
	const libraryPathOf = async (options: Partial<FindOptions>) => {
		const { processes } = await find({ wanted: path, libraryPath: "/usr/lib/cuda", ...options });
		return (await processes.run({ argv: [path], timeoutMs: 60_000 })).tail.at(-1);
	};
	expect(await libraryPathOf({})).toBe(`${join(home, "TensorRT-10.6/lib")}:/usr/lib/cuda`);
	expect(await libraryPathOf({ libraries: "/opt/other" })).toBe("/opt/other:/usr/lib/cuda");
});
