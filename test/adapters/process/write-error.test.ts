import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { classifyWriteError, inNewFolder } from "../../../src/adapters/process/write-error.ts";
import { ConfigError, ToolError } from "../../../src/core/errors.ts";
import { temporaryFolder } from "../../support/project.ts";

const system = (code: string): Error => Object.assign(new Error(code), { code });

it.each(["ENOSPC", "EDQUOT"])(
	"classifyWriteError calls %s the machine's fault and names the file",
	(code) => {
		const error = classifyWriteError(system(code), "/out/result.json");
		expect(error).toBeInstanceOf(ToolError);
		const message = `No space left for /out/result.json (${code}).`;
		expect(error).toMatchObject({ code: "disk-full", message });
	},
);

it.each(["EACCES", "EROFS", "ENOTDIR", "EISDIR", "ENAMETOOLONG"])(
	"classifyWriteError calls %s the user's fault with a fix",
	(code) => {
		const error = classifyWriteError(system(code), "/out");
		expect(error).toBeInstanceOf(ConfigError);
		expect(error).toMatchObject({ code: "output-unwritable", fix: expect.stringMatching(/folder/) });
	},
);

it.each([
	["keeps the log of a crash", "tool-crashed", ["x.log"]],
	["keeps nothing of an interrupted run", "interrupted", []],
] as const)("inNewFolder %s and names no file that is gone", async (_what, code, kept) => {
	const parent = temporaryFolder();
	const error: unknown = await inNewFolder(
		"x",
		async (folder) => {
			writeFileSync(join(folder, "run.log"), "why");
			throw new ToolError({ code, message: "It ended.", log: join(folder, "run.log") });
		},
		parent,
	).catch((thrown: unknown) => thrown);
	expect(error).toMatchObject({ code, message: "It ended." });
	const { log } = error as ToolError;
	expect(readdirSync(parent).map((name) => name.replace(/^x.{6}/, "x"))).toEqual(kept);
	expect(log && readFileSync(log, "utf8")).toBe(kept.length > 0 ? "why" : undefined);
});
