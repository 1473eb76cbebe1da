import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { entryStore } from "../../../src/adapters/cache/entries.ts";
import { buildRequest, restoreEngine, saveBuild } from "../../../src/adapters/trtexec/build-cache.ts";
import type { TrtexecContext } from "../../../src/adapters/trtexec/run.ts";
import type { BuildJob } from "../../../src/ports/backend.ts";
import { temporaryFolder } from "../../support/project.ts";

const facts = {
	...{ durationMs: 1500, builtAt: "2026-01-01T00:00:00Z", recipe: {} },
	...{ warnings: [], notes: [], weightsBytes: 7, entries: 3 },
};

function setUp() {
	const folder = temporaryFolder();
	const engineFolder = join(folder, "engine");
	mkdirSync(engineFolder);
	const places = {
		engine: join(engineFolder, "engine.plan"),
		layers: join(engineFolder, "layers.json"),
		cache: join(folder, "net.timing"),
	};
	const model = { path: join(folder, "model.onnx"), sha256: "m" };
	const spec = { id: "net", engine: { precision: "fp16" } };
	const job = { engineFolder, model, logPath: join(folder, "log"), spec };
	const engines = entryStore({ folder: join(folder, "cache"), maxBytes: 1e6 });
	const notes: string[] = [];
	const context = {
		caches: { engines, timing: null },
		machine: "H200",
		note: (text: string) => notes.push(text),
	} as unknown as TrtexecContext;
	const write = (engine: string, timing: string | null): void => {
		writeFileSync(places.engine, engine);
		writeFileSync(places.layers, "{}");
		if (timing !== null) writeFileSync(places.cache, timing);
	};
	const ask = (...flags: string[]) =>
		buildRequest(job as unknown as BuildJob, places, [`--onnx=${model.path}`, ...flags]);
	const save = async (flags: readonly string[] = [], changes: object = {}, known = facts) =>
		saveBuild(await ask(...flags), known, { before: null, context: { ...context, ...changes } });
	return { folder, places, context, write, ask, save, notes };
}

it("the engine cache restores an engine with the timings that it was built on, and the facts about it", async () => {
	const { places, context, write, ask, save } = setUp();
	write("plan", "timings");
	await save(["--fp16"]);
	write("other", null);
	rmSync(places.cache);
	const recalled = await restoreEngine(await ask("--fp16"), context);
	expect(recalled).toEqual(facts);
	const contents = [places.engine, places.cache].map((path) => readFileSync(path, "utf8"));
	expect(contents).toEqual(["plan", "timings"]);
});

it("the engine cache does not give the second side an engine that was built on other timings", async () => {
	const { context, write, ask, save } = setUp();
	write("plan", "timings");
	await save();
	expect(await restoreEngine(await ask(), context)).toBeNull();
});

it("the engine cache distinguishes flags, and the content of the files that they name", async () => {
	const { folder, write, save } = setUp();
	const plugin = join(folder, "plugin.so");
	for (const content of ["one", "two"]) {
		writeFileSync(plugin, content);
		write(content, "timings");
		await save([`--staticPlugins=${plugin}`]);
	}
	await save(["--fp16"]);
	expect(readdirSync(join(folder, "cache"))).toHaveLength(3);
});

it("the engine cache leaves no plan behind if the stored one is of another version", async () => {
	const { folder, places, context, write, ask, save } = setUp();
	write("plan", "timings");
	await save([], {}, { ...facts, durationMs: undefined as unknown as number });
	for (const path of Object.values(places)) rmSync(path);
	expect(readdirSync(join(folder, "cache"))).toHaveLength(1);
	expect(await restoreEngine(await ask(), context)).toBeNull();
	for (const path of Object.values(places)) expect(existsSync(path), path).toBe(false);
});

it("the engine cache keeps nothing if the GPU is unknown, and reports once what could not be kept", async () => {
	const { write, save, notes, folder } = setUp();
	write("plan", "timings");
	await save([], { machine: null });
	expect(() => readdirSync(join(folder, "cache"))).toThrow();
	writeFileSync(join(folder, "cache"), "");
	await save();
	expect(notes[0]).toMatch(/^The build could not be cached for later runs: /);
});
