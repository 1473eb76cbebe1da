import { expect, it } from "vitest";
import { classifyWriteError } from "../../../src/adapters/process/write-error.ts";
import { ConfigError, ToolError } from "../../../src/core/errors.ts";

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
