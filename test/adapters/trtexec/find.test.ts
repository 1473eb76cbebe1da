import { chmodSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { createProcesses } from "../../../src/adapters/process/processes.ts";
import { type FindOptions, findTrtexec, libraryAdvice } from "../../../src/adapters/trtexec/find.ts";
import { temporaryFolder, writeProject, writeScript } from "../../support/project.ts";

const program = (folder: string, script: string) => writeScript(join(folder, "trtexec"), script);
const banner = (digits: string) =>
	`echo '&&&& RUNNING TensorRT.trtexec [TensorRT v${digits}] [b26] # trtexec --help'`;

function find(options: Partial<FindOptions>, path = "/usr/bin:/bin") {
	const processes = createProcesses({ env: { PATH: path } });
	onTestFinished(() => processes.killAll());
	return findTrtexec({
		cwd: "/",
		...(options.environment?.home === undefined && { installFolders: [] }),
		processes,
		...options,
	});
}

it("findTrtexec takes the path that the user names, relative to the folder that he is in, and looks nowhere else", async () => {
	const folder = temporaryFolder();
	program(join(folder, "bin"), banner("100600"));
	expect(await find({ trtexec: "bin/trtexec", cwd: folder })).toMatchObject({
		trtexec: { program: join(folder, "bin/trtexec"), version: { text: "10.6.0" } },
	});
	const tried = [{ program: join(folder, "bin/none"), why: "does not exist" }];
	const missing = await find({ trtexec: "bin/none", cwd: folder, installFolders: [join(folder, "bin")] });
	expect(missing).toMatchObject({ state: "missing", tried });
	// An artifact's files come without their modes.
	chmodSync(join(folder, "bin/trtexec"), 0o644);
	expect(await find({ trtexec: "bin/trtexec", cwd: folder })).toMatchObject({
		tried: [{ why: "is not executable" }],
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
	program(join(home, "TensorRT-9.3.0.1/bin"), banner("9300"));
	program(join(home, "TensorRT-10.6.0.26/bin"), banner("100600"));
	expect(await find({ environment: { home } })).toMatchObject({ trtexec: { version: { text: "10.6.0" } } });
});

it("findTrtexec explains why a program that exists cannot be used", async () => {
	const found = await find({ trtexec: program(temporaryFolder(), "echo 'no such GPU' >&2; exit 3") });
	const tried = [{ why: "ended with exit code 3 and named no version: no such GPU" }];
	expect(found).toMatchObject({ state: "missing", tried });
});

it("findTrtexec names the library that the loader does not find, with the remedy", async () => {
	const says =
		"trtexec: error while loading shared libraries: libnvinfer.so.8: cannot open shared object file";
	const found = await find({ trtexec: program(temporaryFolder(), `echo '${says}' >&2; exit 127`) });
	const why = "does not start: the loader does not find libnvinfer.so.8";
	expect(found).toMatchObject({ state: "missing", tried: [{ why, library: "libnvinfer.so.8" }] });
	if (found.state !== "missing") return;
	expect(libraryAdvice(found.tried)).toMatch(/libnvinfer\.so\.8.*LD_LIBRARY_PATH.*`libraries`/);
	expect(libraryAdvice([{ program: "trtexec", why: "does not exist" }])).toBeUndefined();
});

it("findTrtexec puts the libraries beside an unpacked trtexec, or the folder that is named, before those of the environment", async () => {
	const home = temporaryFolder();
	const path = program(join(home, "TensorRT-10.6/bin"), `${banner("100600")}\necho "$LD_LIBRARY_PATH"`);
	writeProject(home, { "TensorRT-10.6/lib/libnvinfer.so.10": "" });
	const libraryPathOf = async (options: Partial<FindOptions>) => {
		const { processes } = await find({
			trtexec: path,
			environment: { libraryPath: "/usr/lib/cuda" },
			...options,
		});
		return (await processes.run({ argv: [path], timeoutMs: 60_000 })).tail.at(-1);
	};
	expect(await libraryPathOf({})).toBe(`${join(home, "TensorRT-10.6/lib")}:/usr/lib/cuda`);
	expect(await libraryPathOf({ libraries: "/opt/other" })).toBe("/opt/other:/usr/lib/cuda");
	const onPath = await find({}, `${join(home, "TensorRT-10.6/bin")}:/usr/bin:/bin`);
	const ran = await onPath.processes.run({ argv: [path], timeoutMs: 60_000 });
	expect(ran.tail.at(-1)).toBe(join(home, "TensorRT-10.6/lib"));
});
