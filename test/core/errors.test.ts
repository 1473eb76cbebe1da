import { expect, it } from "vitest";
import { recordError } from "../../src/core/errors.ts";

const systemError = (code: string, message: string) =>
	Object.assign(new Error(`${code}: ${message}, open '/x/golden.json'`), { code, syscall: "open" });

it.each([
	["EMFILE", "too many open files"],
	["ENFILE", "file table overflow"],
	["ENOMEM", "not enough memory"],
	["EIO", "i/o error"],
	["ESTALE", "stale file handle"],
	["EAGAIN", "resource temporarily unavailable"],
])("%s is the machine's fault, with its own words and a fix", (code, message) => {
	const record = recordError(systemError(code, message));
	expect(record).toMatchObject({ kind: "runner", code: "system-error", fix: expect.stringMatching(/\w/) });
	expect(record.message).toContain("/x/golden.json");
});
