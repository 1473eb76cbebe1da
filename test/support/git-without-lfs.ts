import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export function pathWithoutLfs(folder: string): string {
	const bin = join(folder, "git-only");
	mkdirSync(bin);
	const path = execFileSync("sh", ["-c", "command -v git"], { encoding: "utf8" }).trim();
	// git finds git-lfs also beside its own programs.
	writeFileSync(
		join(bin, "git"),
		`#!/bin/sh\ncase " $* " in *" lfs "*) echo "git: 'lfs' is not a git command." >&2; exit 1;; esac\nexec ${path} "$@"\n`,
		{ mode: 0o755 },
	);
	return `${bin}:/usr/bin:/bin`;
}
