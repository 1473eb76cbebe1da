import { cpSync, existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { Arm } from "../../../../generated/result.ts";
import { entryStore } from "../../../../src/adapters/cache/entries.ts";
import { engineSpecs } from "../../../../src/core/plan/plan.ts";
import {
	recipeDigest,
	type SharedCacheOptions,
	sharedCaches,
} from "../../../../src/host/app/publish/shared-caches.ts";
import type { RemoteCache } from "../../../../src/ports/code-host.ts";
import type { PreparedModel } from "../../../../src/stages/prepared.ts";
import { buildConfig } from "../../../support/build-config.ts";
import { temporaryFolder } from "../../../support/project.ts";

const fingerprint = { os: "linux", arch: "x64", gpu: "NVIDIA H200", driver: "580.159", tensorrt: "10.15.1" };
const config = { ...buildConfig(), cache: { engines: true, timing: false, verdicts: false } };

function prepared(arm: Arm, sha256: string, engine = "{ precision: fp32 }"): PreparedModel {
	const [spec] = engineSpecs(buildConfig("", engine));
	if (spec === undefined) throw new Error("no engine");
	return { state: "ready", arm, spec, model: { sha256 } } as PreparedModel;
}

/** Keeps folders by key as GitHub does: a key is written once, the newest that begins with a key is found. */
function fakeRemote(): RemoteCache & { keys(): string[] } {
	const home = temporaryFolder();
	const keys: string[] = [];
	return {
		keys: () => [...keys],
		async restore(folder, wanted) {
			const found = wanted.flatMap((one) => keys.findLast((kept) => kept.startsWith(one)) ?? []);
			const key = found[0] ?? null;
			if (key !== null) cpSync(join(home, key), folder, { recursive: true });
			return { state: "done", key };
		},
		async save(folder, { key }) {
			if (keys.includes(key)) return { state: "done", saved: false };
			cpSync(folder, join(home, key), { recursive: true });
			keys.push(key);
			return { state: "done", saved: true };
		},
	};
}

interface Ran {
	base?: string;
	head: string;
	builds?: readonly string[];
}

async function freshRun(
	remote: RemoteCache,
	{ base, head, builds = [] }: Ran,
	more: Partial<SharedCacheOptions> = {},
) {
	const work = temporaryFolder();
	const cacheFolder = join(work, "store");
	const usual = { refusal: null, always: false, startedMs: Date.now() };
	const caches = sharedCaches({ remote, cacheFolder, temp: join(work, "temp"), ...usual, ...more });
	const models = [...(base === undefined ? [] : [prepared("base", base)]), prepared("head", head)];
	await caches.restore({ config, fingerprint, models });
	const store = join(cacheFolder, "engines");
	const found = existsSync(store) ? readdirSync(store).sort() : [];
	for (const name of builds) {
		const source = join(work, name);
		writeFileSync(source, name);
		const entry = { files: { "engine.plan": source }, facts: {} };
		await entryStore({ folder: store, maxBytes: 1e9 }).keep(name, entry);
	}
	await caches.save();
	return {
		found,
		said: caches
			.published()
			.map((one) => (one.state === "failed" ? one.fault.message : one.state === "done" ? one.note : one.why)),
	};
}

const expectRun = (run: object, found: readonly string[], ...words: string[]) =>
	expect(run).toMatchObject({ found, said: words.map((one) => expect.stringContaining(one)) });

it("sharedCaches give back the head's builds, else the base's, else the newest", async () => {
	const remote = fakeRemote();
	await freshRun(remote, { head: "one", builds: ["engine-one"] });
	const other = await freshRun(remote, { head: "other", builds: ["engine-other"] });
	expectRun(other, ["engine-one"], "the newest of this kind of machine", "");
	const again = await freshRun(remote, { base: "zero", head: "one" });
	expectRun(again, ["engine-one"], "the head's models", "nothing new");
	const next = await freshRun(remote, { base: "one", head: "two", builds: ["engine-two"] });
	expectRun(next, ["engine-one"], "the base's models", "saved 2 entries");
	expect((await freshRun(remote, { base: "one", head: "two" })).found).toEqual(["engine-one", "engine-two"]);
});

it("sharedCaches are completed by a later run with the same models", async () => {
	const remote = fakeRemote();
	await freshRun(remote, { head: "one", builds: ["first"] });
	await freshRun(remote, { head: "one", builds: ["second"] });
	expect(remote.keys()).toHaveLength(2);
	expect((await freshRun(remote, { head: "one" })).found).toEqual(["first", "second"]);
});

it("sharedCaches save nothing if the run may not", async () => {
	const remote = fakeRemote();
	const refusal = "the change comes from a fork";
	const fork = await freshRun(remote, { head: "one", builds: ["first"] }, { refusal });
	expect(fork.said.at(-1)).toContain("is not saved: the change comes from a fork");
	expect(remote.keys()).toEqual([]);
});

it("sharedCaches that cannot be unpacked end no run", async () => {
	const remote = fakeRemote();
	await freshRun(remote, { head: "one", builds: ["first"] });
	const file = join(temporaryFolder(), "file");
	writeFileSync(file, "in the way");
	const { said } = await freshRun(remote, { head: "one" }, { cacheFolder: file });
	expect(said[0]).toContain("cannot be used here");
});

it("recipeDigest is the same for the same models and flags, whatever their order, and for no others", () => {
	const [one, two] = [prepared("head", "one"), prepared("head", "two", "{ precision: fp16 }")];
	expect(recipeDigest([one, two], "head")).toBe(recipeDigest([two, one], "head"));
	const digests = [[one], [two], [one, two], [prepared("head", "two")]].map((models) =>
		recipeDigest(models, "head"),
	);
	expect(new Set(digests).size).toBe(4);
	expect(recipeDigest([one], "base")).toBeNull();
});
