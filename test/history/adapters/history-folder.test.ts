import { gunzipSync, gzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { toBytes, toText } from "../../../src/history/adapters/history-folder.ts";

it("toBytes compresses only files that end in .gz, with the same bytes each time", () => {
	expect(toBytes({ path: "a.json", text: "ü" })).toEqual(Buffer.from("ü"));
	const packed = toBytes({ path: "a.jsonl.gz", text: "ü\n" });
	expect(gunzipSync(packed).toString()).toBe("ü\n");
	expect(toBytes({ path: "a.jsonl.gz", text: "ü\n" })).toEqual(packed);
});

it("toText refuses compressed data that is broken or unpacks to more than 256 MiB", () => {
	expect(toText("a.gz", gzipSync("x"))).toBe("x");
	expect(() => toText("a.gz", gzipSync("x".repeat(99)).subarray(0, 15))).toThrow();
	expect(() => toText("a.gz", gzipSync(Buffer.alloc(257 * 1024 * 1024), { level: 1 }))).toThrow(
		/larger than/,
	);
});
