// Builds again beside dist/, compares byte for byte, and starts what is committed.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

function listFiles(folder: string): string[] {
	return readdirSync(folder, { recursive: true, withFileTypes: true })
		.filter((entry) => entry.isFile())
		.map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
		.sort();
}

const fresh = join(mkdtempSync(join(tmpdir(), "dist-")), "dist");
try {
	execFileSync(process.execPath, ["scripts/build.ts", fresh], { stdio: "inherit" });
	const names = [...new Set([...listFiles("dist"), ...listFiles(fresh)])];
	const different = names.filter((name) => {
		const [old, now] = [join("dist", name), join(fresh, name)].map((path) => {
			try {
				return readFileSync(path);
			} catch {
				return null;
			}
		});
		return !old || !now || !old.equals(now);
	});
	if (different.length > 0)
		throw new Error(`dist/ is not what \`npm run build\` makes: ${different.join(", ")}. Run it and commit.`);
	const said = execFileSync(process.execPath, ["dist/cli.js", "--version"], { encoding: "utf8" }).trim();
	console.log(`dist/ is up to date (${names.length} files) and starts: trtgate ${said}`);
} catch (error) {
	console.error(error instanceof Error ? error.message : error);
	process.exitCode = 1;
} finally {
	rmSync(join(fresh, ".."), { recursive: true, force: true });
}
