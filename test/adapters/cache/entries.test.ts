import {
	existsSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	rmSync,
	symlinkSync,
	truncateSync,
	utimesSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { collectEntries, entryStore, importEntries } from "../../../src/adapters/cache/entries.ts";
import { temporaryFolder } from "../../support/project.ts";

function open(maxBytes = 1e6) {
	const work = temporaryFolder();
	const folder = join(work, "cache");
	const store = entryStore({ folder, maxBytes });
	const put = (name: string, text: string, facts: unknown = { n: 1 }) => {
		writeFileSync(join(work, "source"), text);
		return store.keep(name, { files: { "engine.plan": join(work, "source") }, facts });
	};
	const target = join(work, "target");
	const get = (name: string) => store.fetch(name, { "engine.plan": target });
	return { work, folder, store, put, get, target, moved: join(work, "moved") };
}

function useAt(folder: string, name: string, seconds: number): void {
	utimesSync(join(folder, name, "entry.json"), seconds, seconds);
}

async function filled(names: readonly string[], bytes = 10) {
	const opened = open(1e9);
	for (const [at, name] of names.entries()) {
		await opened.put(name, name.padEnd(bytes, "."), {});
		useAt(opened.folder, name, Date.now() / 1000 - 1000 + at);
	}
	return opened;
}

type Damage = (plan: string, manifest: string, entry: string) => void;

function damageEntry(folder: string, damage: Damage): void {
	const entry = join(folder, "a");
	damage(join(entry, "engine.plan"), join(entry, "entry.json"), entry);
}

it("gives back the last files and facts kept under a name", async () => {
	const { put, get, target } = open();
	expect(await put("a", "one")).toBeNull();
	expect(await put("a", "second", { n: 2 })).toBeNull();
	expect(await get("a")).toEqual({ n: 2 });
	expect(readFileSync(target, "utf8")).toBe("second");
	expect(await get("b")).toBeNull();
});

it.each<[string, Damage]>([
	["a file is cut", (plan) => truncateSync(plan, 1)],
	["a byte is changed", (plan) => writeFileSync(plan, "onE")],
	["a file is gone", (plan) => rmSync(plan)],
	["the manifest is cut", (_, manifest) => truncateSync(manifest, 10)],
	["the manifest is another's", (_, manifest) => writeFileSync(manifest, "[]")],
	["the manifest is huge", (_, manifest) => truncateSync(manifest, 2 ** 21)],
])("gives nothing, and removes the entry, if %s", async (_, damage) => {
	const { folder, put, get, target, work } = open();
	await put("a", "one");
	writeFileSync(target, "before");
	damageEntry(folder, damage);
	expect(await get("a")).toBeNull();
	expect(readFileSync(target, "utf8")).toBe("before");
	expect(existsSync(join(folder, "a"))).toBe(false);
	expect(readdirSync(work).sort()).toEqual(["cache", "source", "target"]);
});

it("lists names by their beginning, last used first", async () => {
	const { store, get } = await filled(["k-1", "k-2", "other"]);
	expect(await store.list("k-")).toEqual(["k-2", "k-1"]);
	await get("k-1");
	expect(await store.list("k-")).toEqual(["k-1", "k-2"]);
});

it("drops the least recently used entries, and leftovers", async () => {
	const { folder, store, put } = open(2500);
	mkdirSync(join(folder, ".dead"), { recursive: true });
	utimesSync(join(folder, ".dead"), 1, 1);
	for (const [age, name] of ["a", "b", "c"].entries()) {
		await put(name, "x".repeat(1000));
		useAt(folder, name, 1e9 + age);
	}
	await put("d", "x".repeat(1000));
	expect(await store.list("")).toEqual(["d", "c"]);
	expect(readdirSync(folder).sort()).toEqual(["c", "d"]);
});

it("explains what it cannot keep, and leaves nothing", async () => {
	const { folder, store, work } = open();
	const files = { "engine.plan": join(work, "absent") };
	expect(await store.keep("a", { files, facts: {} })).toMatch(/ENOENT/);
	expect(readdirSync(folder)).toEqual([]);
});

const fetchA = (folder: string, target: string) =>
	entryStore({ folder, maxBytes: 1e9 }).fetch("a", { "engine.plan": target });

const every = { sinceMs: 0, names: [], maxBytes: 1e9 };

it("move a store, and give the same content the same digest", async () => {
	const { work, folder: store } = await filled(["a", "b"]);
	const [folder, other] = [join(work, "folder"), join(work, "other")];
	const collected = await collectEntries(store, folder, every);
	expect(collected).toMatchObject({ entries: 2, left: 0, digest: expect.stringMatching(/^[0-9a-f]{32}$/) });
	expect((await importEntries(folder, other)).names.toSorted()).toEqual(["a", "b"]);
	expect((await collectEntries(other, join(work, "again"), every)).digest).toBe(collected.digest);
	expect(await fetchA(other, join(work, "target"))).toEqual({});
});

it("take the last used, and count those without room", async () => {
	const { moved, folder: store } = await filled(["old", "middle", "new"], 1000);
	const collected = await collectEntries(store, moved, { ...every, maxBytes: 2500 });
	expect(readdirSync(moved).sort()).toEqual(["middle", "new"]);
	expect(collected).toMatchObject({ entries: 2, left: 1 });
});

it("leave entries that this run neither used nor brought", async () => {
	const { moved, folder: store } = await filled(["foreign", "brought", "used"]);
	useAt(store, "used", Date.now() / 1000);
	const since = { ...every, sinceMs: Date.now() - 5000, names: ["brought"] };
	await collectEntries(store, moved, since);
	expect(readdirSync(moved).sort()).toEqual(["brought", "used"]);
});

const outside = '{"version":1,"files":{"../../up":{"bytes":1,"sha256":"0"}},"facts":{}}';

it.each<[string, Damage]>([
	["a changed byte", (plan) => writeFileSync(plan, "a........X")],
	["a file more", (_, _manifest, entry) => writeFileSync(join(entry, "more"), "")],
	["a link in place of a file", (_, _manifest, entry) => symlinkSync("/etc/passwd", join(entry, "link"))],
	["no manifest", (_, manifest) => writeFileSync(manifest, "")],
	["a manifest that names a file outside", (_, manifest) => writeFileSync(manifest, outside)],
])("refuse an entry with %s", async (_, damage) => {
	const { work, folder: store } = await filled(["a"]);
	damageEntry(store, damage);
	expect(await importEntries(store, join(work, "other"))).toEqual({ names: [], refused: 1 });
	expect(readdirSync(join(work, "other"))).toEqual([]);
});

it("refuse a folder that is none, and names that lead elsewhere", async () => {
	const work = temporaryFolder();
	mkdirSync(join(work, "in", "..hidden"), { recursive: true });
	symlinkSync("/etc", join(work, "in", "link"));
	expect(await importEntries(join(work, "in"), join(work, "out"))).toEqual({ names: [], refused: 2 });
	expect(await importEntries(join(work, "nowhere"), join(work, "out"))).toEqual({ names: [], refused: 0 });
});

it("never replace existing entries", async () => {
	const { work, folder: store } = await filled(["a"]);
	const other = (await filled(["a"], 99)).folder;
	await importEntries(store, other);
	const target = join(work, "target");
	await fetchA(other, target);
	expect(existsSync(target)).toBe(true);
	expect((await collectEntries(other, join(work, "folder"), every)).bytes).toBeGreaterThan(99);
});
