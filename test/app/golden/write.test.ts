// A recording that is cut off at any write leaves the old golden whole.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { fileStore } from "../../../src/adapters/files/store.ts";
import { writeGolden } from "../../../src/app/golden/write.ts";
import type { GoldenManifest } from "../../../src/core/schema/golden.ts";
import type { Files } from "../../../src/ports/world.ts";
import { float32, manifestOf } from "../../support/golden-tensors.ts";
import { temporaryFolder } from "../../support/project.ts";

function revision(number: number): GoldenManifest {
	const manifest = manifestOf({ y: float32([number]) });
	const [only] = manifest.cases;
	return {
		...manifest,
		goldenId: `net@${number}`,
		cases: [{ ...only, outputs: { y: { ...only.outputs["y"]!, path: `r${number}/only/y.npy` } } }],
	};
}

const tensors = (number: number) => [{ path: `r${number}/only/y.npy`, bytes: Uint8Array.of(number) }];

/** Breaks at the n-th write. */
function breaking(at: number): Files {
	const files = fileStore();
	let writes = 0;
	const counted = async (write: () => Promise<void>): Promise<void> => {
		writes += 1;
		if (writes === at) throw new Error("power is gone");
		await write();
	};
	return {
		...files,
		writeText: (path, text) => counted(() => files.writeText(path, text)),
		writeBytes: (path, bytes) => counted(() => files.writeBytes(path, bytes)),
	};
}

describe("writeGolden", () => {
	it.each([1, 2])("cut off at write %i leaves the old manifest with its tensors, and the next attempt succeeds", async (at) => {
		const folder = temporaryFolder();
		await writeGolden({ folder, manifest: revision(1), files: tensors(1), revisionFolder: "r1", old: null }, fileStore());
		const next = { folder, manifest: revision(2), files: tensors(2), revisionFolder: "r2", old: revision(1) };
		await expect(writeGolden(next, breaking(at))).rejects.toThrow("power is gone");
		expect(JSON.parse(readFileSync(join(folder, "golden.json"), "utf8")).goldenId).toBe("net@1");
		expect([...readFileSync(join(folder, "r1/only/y.npy"))]).toEqual([1]);
		await writeGolden(next, fileStore());
		expect(readdirSync(folder).sort()).toEqual(["golden.json", "r2"]);
		expect(existsSync(join(folder, "r1"))).toBe(false);
		expect([...readFileSync(join(folder, "r2/only/y.npy"))]).toEqual([2]);
	});
});
