// A bundle like the built one, whose ONNX Runtime worker does each job for real once: for tests of what is around it.
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

let made: string | null = null;

/** Its folder; one for all tests as long as the built bundle stays the same. */
export function rememberingDist(): string {
	made ??= makeDist(resolve(process.env["TRTGATE_DIST"] ?? "dist"));
	return made;
}

function makeDist(source: string): string {
	const program = resolve("test/support/remembering-worker.mjs");
	const hash = createHash("sha256").update(process.version).update(program).update(readFileSync(program));
	for (const entry of readdirSync(source, { withFileTypes: true }))
		if (entry.isFile()) hash.update(entry.name).update(readFileSync(join(source, entry.name)));
	const home = join(tmpdir(), `trtgate-test-dist-${hash.digest("hex").slice(0, 16)}`);
	const dist = join(home, "dist");
	if (existsSync(dist)) return dist;
	const fresh = mkdtempSync(join(tmpdir(), "trtgate-dist-"));
	cpSync(source, join(fresh, "dist"), { recursive: true });
	cpSync("package.json", join(fresh, "package.json"));
	renameSync(join(fresh, "dist/ort-worker.js"), join(fresh, "dist/ort-worker-itself.js"));
	writeFileSync(join(fresh, "dist/ort-worker.js"), workerText(program, join(home, "remembered")));
	mkdirSync(join(fresh, "remembered"));
	try {
		renameSync(fresh, home);
	} catch {
		// Another worker of vitest has made the same.
		rmSync(fresh, { recursive: true, force: true });
	}
	return dist;
}

function workerText(program: string, memory: string): string {
	return `import { answer } from ${JSON.stringify(pathToFileURL(program).href)};
await answer(${JSON.stringify(memory)}, new URL("./ort-worker-itself.js", import.meta.url).href);
`;
}
