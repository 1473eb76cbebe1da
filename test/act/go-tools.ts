import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const tools = {
	act: { module: "github.com/nektos/act", version: "v0.2.89" },
	actionlint: { module: "github.com/rhysd/actionlint/cmd/actionlint", version: "v1.7.12" },
} as const;

type Found = { state: "found"; path: string } | { state: "absent"; sentence: string };

const goPaths = ["go", "/usr/local/go/bin/go"];

/** `TRTGATE_ACT` and `TRTGATE_ACTIONLINT` name ones that are already there. What is built stays for the next run. */
export function findGoTool(name: keyof typeof tools): Found {
	const given = process.env[`TRTGATE_${name.toUpperCase()}`];
	if (given !== undefined && given !== "") return { state: "found", path: given };
	const { module, version } = tools[name];
	const folder = join(tmpdir(), `trtgate-${name}-${version}`);
	const path = join(folder, name);
	if (existsSync(path)) return { state: "found", path };
	const go = goPaths.find((program) => spawnSync(program, ["version"], { stdio: "ignore" }).status === 0);
	if (go === undefined)
		return { state: "absent", sentence: `Skipped what needs ${name}: there is no Go here to build it with.` };
	mkdirSync(folder, { recursive: true });
	const env = { ...process.env, GOBIN: folder, CGO_ENABLED: "0" };
	// The first build downloads modules.
	const built = spawnSync(go, ["install", `${module}@${version}`], {
		env,
		encoding: "utf8",
		timeout: 10 * 60_000,
	});
	if (built.status === 0 && existsSync(path)) return { state: "found", path };
	return {
		state: "absent",
		sentence: `Skipped what needs ${name}: ${version} could not be built: ${built.stderr.trim().split("\n").at(-1)}`,
	};
}
