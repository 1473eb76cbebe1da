import { existsSync, readdirSync, readFileSync, renameSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { GoldenManifest } from "../../../generated/golden.ts";
import { fileStore } from "../../../src/adapters/files/store.ts";
import { keepGolden } from "../../../src/golden/app/keep.ts";
import type { Files } from "../../../src/ports/world.ts";
import { float32, manifestOf } from "../../support/golden-tensors.ts";
import { temporaryFolder } from "../../support/project.ts";

function revision(number: number): GoldenManifest {
	const manifest = manifestOf({ y: float32([number]) }, { y: {} });
	const [only] = manifest.cases;
	return {
		...manifest,
		goldenId: `net@${number}`,
		cases: [{ ...only, outputs: { y: { ...only.outputs["y"]!, path: `r${number}/only/y.npy` } } }],
	};
}

const tensors = (number: number) => [{ path: `r${number}/only/y.npy`, bytes: Uint8Array.of(number) }];

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

const idOf = (folder: string, name = "golden.json"): string =>
	JSON.parse(readFileSync(join(folder, name), "utf8")).goldenId;

function keeperOf(
	folder: string,
	number: number,
	{ store = fileStore(), ...more }: { old?: GoldenManifest; goesOn?: boolean; store?: Files } = {},
) {
	return keepGolden({ folder, old: null, goesOn: false, files: () => tensors(number), ...more }, store);
}

async function recorded(folder = temporaryFolder()) {
	await (await keeperOf(folder, 1)).finish(revision(1));
	return folder;
}

it.each([1, 2, 3])("cut off at write %i leaves the old golden, and the next attempt succeeds", async (at) => {
	const folder = await recorded();
	const cut = await keeperOf(folder, 2, { old: revision(1), store: breaking(at) });
	await expect(cut.finish(revision(2))).rejects.toThrow("power is gone");
	expect(idOf(folder)).toBe("net@1");
	expect([...readFileSync(join(folder, "r1/only/y.npy"))]).toEqual([1]);
	await (await keeperOf(folder, 2, { old: revision(1) })).finish(revision(2));
	expect(readdirSync(folder).sort()).toEqual(["golden.json", "r2"]);
	expect([...readFileSync(join(folder, "r2/only/y.npy"))]).toEqual([2]);
});

it("keeps the old golden beside the unfinished one, and removes it at the end of a later run", async () => {
	const folder = await recorded();
	await (await keeperOf(folder, 2, { old: revision(1) })).save(revision(2));
	expect([idOf(folder), idOf(folder, "golden.previous.json")]).toEqual(["net@2", "net@1"]);
	expect(existsSync(join(folder, "r1/only/y.npy"))).toBe(true);
	await (await keeperOf(folder, 2, { old: revision(2), goesOn: true })).finish(revision(2));
	expect(readdirSync(folder).sort()).toEqual(["golden.json", "r2"]);
});

it.each([false, true])("puts the old golden back, also in a later run: %s", async (later) => {
	const folder = await recorded();
	let keeper = await keeperOf(folder, 2, { old: revision(1) });
	await keeper.save(revision(2));
	if (later) keeper = await keeperOf(folder, 2, { old: revision(2), goesOn: true });
	await keeper.takeBack();
	expect([idOf(folder), readdirSync(folder).sort()]).toEqual(["net@1", ["golden.json", "r1"]]);
});

it("leaves nothing of its own if there was no golden before, and keeps others' files", async () => {
	const folder = join(temporaryFolder(), "golden");
	const keeper = await keeperOf(folder, 1);
	await keeper.takeBack();
	await keeper.save(revision(1));
	await keeper.takeBack();
	expect(existsSync(folder)).toBe(false);
});

it("a recording removes no tensor of the golden before outside of its folder, where a link leads", async () => {
	const root = temporaryFolder();
	const folder = join(root, "golden");
	await recorded(folder);
	renameSync(join(folder, "r1"), join(root, "r1"));
	symlinkSync(join(root, "r1"), join(folder, "r1"));
	const keeper = await keeperOf(folder, 2, { old: revision(1) });
	await expect(keeper.finish(revision(2))).rejects.toMatchObject({ code: "path-outside-workspace" });
	expect(existsSync(join(root, "r1/only/y.npy"))).toBe(true);
});
