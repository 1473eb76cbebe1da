// Finds nektos/act, an independent implementation of GitHub's runner, or builds the pinned version where Go is found.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const version = "v0.2.89";

/** Kept between runs: the build takes half a minute, and the first one downloads act's modules. */
const folder = join(tmpdir(), `trtgate-act-${version}`);

type Found = { state: "found"; path: string } | { state: "absent"; sentence: string };

/** `TRTGATE_ACT` names one that is already there. */
export function findAct(): Found {
	const given = process.env["TRTGATE_ACT"];
	if (given !== undefined && given !== "") return { state: "found", path: given };
	const path = join(folder, "act");
	if (existsSync(path)) return { state: "found", path };
	const go = ["go", "/usr/local/go/bin/go"].find((program) => spawnSync(program, ["version"], { stdio: "ignore" }).status === 0);
	if (go === undefined)
		return { state: "absent", sentence: "There is no Go here to build act with: the examples were not run by an independent runner." };
	mkdirSync(folder, { recursive: true });
	const env = { ...process.env, GOBIN: folder, CGO_ENABLED: "0" };
	const built = spawnSync(go, ["install", `github.com/nektos/act@${version}`], { env, encoding: "utf8", timeout: 10 * 60_000 });
	if (built.status === 0 && existsSync(path)) return { state: "found", path };
	return {
		state: "absent",
		sentence: `act ${version} could not be built, so the examples were not run by it: ${built.stderr.trim().split("\n").at(-1)}`,
	};
}
