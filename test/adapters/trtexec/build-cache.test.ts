import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { entryStore } from "../../../src/adapters/cache/entries.ts";
import { buildRequest, restoreEngine, saveBuild } from "../../../src/adapters/trtexec/build-cache.ts";
import type { TrtexecContext } from "../../../src/adapters/trtexec/context.ts";
import type { BuildJob } from "../../../src/ports/backend.ts";
import { temporaryFolder } from "../../support/project.ts";

const facts = {
	...{ durationMs: 1500, builtAt: "2026-01-01T00:00:00Z", recipe: {} },
	...{ warnings: [], notes: [], weightsBytes: 7, entries: 3 },
};

function setUp() {
	const folder = temporaryFolder();
	mkdirSync(join(folder, "engine"));
	const places = {
		engine: join(folder, "engine/engine.plan"),
		layers: join(folder, "engine/layers.json"),
		cache: join(folder, "net.timing"),
	};
	const model = { path: join(folder, "model.onnx"), sha256: "m" };
	const job = {
		engineFolder: join(folder, "engine"),
		model,
		logPath: join(folder, "log"),
		spec: { id: "net", engine: { precision: "fp16" } },
	};
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
	return { folder, places, context, write, ask, notes };
}

it("the engine cache restores an engine with the timings that it was built on, and the facts about it", async () => {
	const { places, context, write, ask } = setUp();
	write("plan", "timings");
	await saveBuild(await ask("--fp16"), facts, { before: null, context });
	write("other", null);
	rmSync(places.cache);
	const recalled = await restoreEngine(await ask("--fp16"), context);
	expect(recalled).toEqual(facts);
	const contents = [places.engine, places.cache].map((path) => readFileSync(path, "utf8"));
	expect(contents).toEqual(["plan", "timings"]);
});

it("the engine cache does not give the second side an engine that was built on other timings", async () => {
	const { context, write, ask } = setUp();
	write("plan", "timings");
	await saveBuild(await ask(), facts, { before: null, context });
	expect(await restoreEngine(await ask(), context)).toBeNull();
});

it("the engine cache distinguishes flags, and the content of the files that they name", async () => {
	const { folder, context, write, ask } = setUp();
	const plugin = join(folder, "plugin.so");
	for (const content of ["one", "two"]) {
		writeFileSync(plugin, content);
		write(content, "timings");
		await saveBuild(await ask(`--staticPlugins=${plugin}`), facts, { before: null, context });
	}
	await saveBuild(await ask("--fp16"), facts, { before: null, context });
	expect(readdirSync(join(folder, "cache"))).toHaveLength(3);
});

it("the engine cache leaves no plan behind if the stored one is of another version", async () => {
	const { folder, places, context, write, ask } = setUp();
	write("plan", "timings");
	await saveBuild(
		await ask(),
		{ ...facts, durationMs: undefined as unknown as number },
		{ before: null, context },
	);
	for (const path of Object.values(places)) rmSync(path);
	expect(readdirSync(join(folder, "cache"))).toHaveLength(1);
	expect(await restoreEngine(await ask(), context)).toBeNull();
	for (const path of Object.values(places)) expect(existsSync(path), path).toBe(false);
});

it("the engine cache keeps nothing if the GPU is unknown, and reports once what could not be kept", async () => {
	const { context, write, ask, notes, folder } = setUp();
	write("plan", "timings");
	await saveBuild(await ask(), facts, { before: null, context: { ...context, machine: null } });
	expect(() => readdirSync(join(folder, "cache"))).toThrow();
	writeFileSync(join(folder, "cache"), "");
	await saveBuild(await ask(), facts, { before: null, context });
	expect(notes[0]).toMatch(/^The build could not be cached for later runs: /);
});
