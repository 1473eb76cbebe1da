import {
	existsSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	rmSync,
	truncateSync,
	utimesSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { entryStore } from "../../../src/adapters/cache/entries.ts";
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
	return { work, folder, store, put, get, target };
}

it("entryStore gives back the last files and facts kept under a name", async () => {
	const { put, get, target } = open();
	expect(await put("a", "one")).toBeNull();
	expect(await put("a", "second", { n: 2 })).toBeNull();
	expect(await get("a")).toEqual({ n: 2 });
	expect(readFileSync(target, "utf8")).toBe("second");
	expect(await get("b")).toBeNull();
});

it.each([
	["a file is cut", (place: string) => truncateSync(join(place, "engine.plan"), 1)],
	["a byte is changed", (place: string) => writeFileSync(join(place, "engine.plan"), "onE")],
	["a file is gone", (place: string) => rmSync(join(place, "engine.plan"))],
	["the manifest is cut", (place: string) => truncateSync(join(place, "entry.json"), 10)],
	["the manifest is another's", (place: string) => writeFileSync(join(place, "entry.json"), "[]")],
	["the manifest is huge", (place: string) => truncateSync(join(place, "entry.json"), 2 ** 21)],
])("entryStore gives nothing, and removes the entry, if %s", async (_, damage) => {
	const { folder, put, get, target, work } = open();
	await put("a", "one");
	writeFileSync(target, "before");
	damage(join(folder, "a"));
	expect(await get("a")).toBeNull();
	expect(readFileSync(target, "utf8")).toBe("before");
	expect(existsSync(join(folder, "a"))).toBe(false);
	expect(readdirSync(work).sort()).toEqual(["cache", "source", "target"]);
});

it("entryStore lists names by their beginning, last used first", async () => {
	const { folder, store, put, get } = open();
	for (const name of ["k-1", "k-2", "other"]) await put(name, name);
	for (const [name, age] of [
		["k-1", 200],
		["k-2", 100],
	] as const) {
		utimesSync(join(folder, name, "entry.json"), Date.now() / 1000 - age, Date.now() / 1000 - age);
	}
	expect(await store.list("k-")).toEqual(["k-2", "k-1"]);
	await get("k-1");
	expect(await store.list("k-")).toEqual(["k-1", "k-2"]);
});

it("entryStore drops the least recently used entries, and leftovers", async () => {
	const { folder, store, put } = open(2500);
	mkdirSync(join(folder, ".dead"), { recursive: true });
	utimesSync(join(folder, ".dead"), 1, 1);
	for (const [age, name] of ["a", "b", "c"].entries()) {
		await put(name, "x".repeat(1000));
		utimesSync(join(folder, name, "entry.json"), 1e9 + age, 1e9 + age);
	}
	await put("d", "x".repeat(1000));
	expect(await store.list("")).toEqual(["d", "c"]);
	expect(readdirSync(folder).sort()).toEqual(["c", "d"]);
});

it("entryStore explains what it cannot keep, and leaves nothing", async () => {
	const { folder, store, work } = open();
	expect(await store.keep("a", { files: { "engine.plan": join(work, "absent") }, facts: {} })).toMatch(
		/ENOENT/,
	);
	expect(readdirSync(folder)).toEqual([]);
});
