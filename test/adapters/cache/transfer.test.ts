import { existsSync, mkdirSync, readdirSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { collectEntries, entryStore, importEntries } from "../../../src/adapters/cache/entries.ts";
import { temporaryFolder } from "../../support/project.ts";

async function filled(names: readonly string[], bytes = 10): Promise<{ work: string; store: string }> {
	const work = temporaryFolder();
	const store = join(work, "store");
	const source = join(work, "source");
	for (const [at, name] of names.entries()) {
		writeFileSync(source, name.padEnd(bytes, "."));
		await entryStore({ folder: store, maxBytes: 1e9 }).keep(name, {
			files: { "engine.plan": source },
			facts: {},
		});
		const usedS = Date.now() / 1000 - 1000 + at;
		utimesSync(join(store, name, "entry.json"), usedS, usedS);
	}
	return { work, store };
}

const every = { sinceMs: 0, names: [], maxBytes: 1e9 };

it("importEntries and collectEntries move a store, and give the same content the same digest", async () => {
	const { work, store } = await filled(["a", "b"]);
	const [folder, other] = [join(work, "folder"), join(work, "other")];
	const collected = await collectEntries(store, folder, every);
	expect(collected).toMatchObject({ entries: 2, left: 0, digest: expect.stringMatching(/^[0-9a-f]{32}$/) });
	expect((await importEntries(folder, other)).names.toSorted()).toEqual(["a", "b"]);
	expect((await collectEntries(other, join(work, "again"), every)).digest).toBe(collected.digest);
	const target = join(work, "target");
	expect(await entryStore({ folder: other, maxBytes: 1e9 }).fetch("a", { "engine.plan": target })).toEqual(
		{},
	);
});

it("importEntries and collectEntries take the last used, and count those without room", async () => {
	const { work, store } = await filled(["old", "middle", "new"], 1000);
	const collected = await collectEntries(store, join(work, "folder"), { ...every, maxBytes: 2500 });
	expect(readdirSync(join(work, "folder")).sort()).toEqual(["middle", "new"]);
	expect(collected).toMatchObject({ entries: 2, left: 1 });
});

it("importEntries and collectEntries leave entries that this run neither used nor brought", async () => {
	const { work, store } = await filled(["foreign", "brought", "used"]);
	utimesSync(join(store, "used", "entry.json"), Date.now() / 1000, Date.now() / 1000);
	await collectEntries(store, join(work, "folder"), {
		sinceMs: Date.now() - 5000,
		names: ["brought"],
		maxBytes: 1e9,
	});
	expect(readdirSync(join(work, "folder")).sort()).toEqual(["brought", "used"]);
});

it.each<[string, (place: string) => void]>([
	["a changed byte", (place) => writeFileSync(join(place, "engine.plan"), "a........X")],
	["a file more", (place) => writeFileSync(join(place, "more"), "")],
	["a link in place of a file", (place) => symlinkSync("/etc/passwd", join(place, "link"))],
	["no manifest", (place) => writeFileSync(join(place, "entry.json"), "")],
	[
		"a manifest that names a file outside",
		(place) =>
			writeFileSync(
				join(place, "entry.json"),
				'{"version":1,"files":{"../../up":{"bytes":1,"sha256":"0"}},"facts":{}}',
			),
	],
])("importEntries and collectEntries refuse an entry with %s", async (_, damage) => {
	const { work, store } = await filled(["a"]);
	damage(join(store, "a"));
	expect(await importEntries(store, join(work, "other"))).toEqual({ names: [], refused: 1 });
	expect(readdirSync(join(work, "other"))).toEqual([]);
});

it("importEntries and collectEntries refuse a folder that is none, and names that lead elsewhere", async () => {
	const work = temporaryFolder();
	mkdirSync(join(work, "in", "..hidden"), { recursive: true });
	symlinkSync("/etc", join(work, "in", "link"));
	expect(await importEntries(join(work, "in"), join(work, "out"))).toEqual({ names: [], refused: 2 });
	expect(await importEntries(join(work, "nowhere"), join(work, "out"))).toEqual({ names: [], refused: 0 });
});

it("importEntries and collectEntries never replace existing entries", async () => {
	const { work, store } = await filled(["a"]);
	const other = (await filled(["a"], 99)).store;
	await importEntries(store, other);
	const target = join(work, "target");
	await entryStore({ folder: other, maxBytes: 1e9 }).fetch("a", { "engine.plan": target });
	expect(existsSync(target)).toBe(true);
	expect((await collectEntries(other, join(work, "folder"), every)).bytes).toBeGreaterThan(99);
});
