// Stands for git-lfs: `pull` puts the files of a folder in the place of pointers. Arguments: the folder with files by their
// hashes, then what git hands over. What it was asked for is added to `log` in that folder.
import { appendFileSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const [store, command, ...args] = process.argv.slice(2);
if (command === "version") console.log("git-lfs/3.3.0 (test)");
else if (command === "pull") {
	appendFileSync(
		join(store, "log"),
		`${JSON.stringify({ args, filter: process.env.GIT_CONFIG_PARAMETERS?.includes("git-lfs smudge") })}\n`,
	);
	const include = args.find((arg) => arg.startsWith("--include="))?.slice("--include=".length);
	const patterns = include
		?.split(",")
		.map((pattern) => new RegExp(`^${pattern.replace(/[.+^${}()|[\]\\]/g, "\\$&").replaceAll("?", ".")}$`));
	const missing = pull(process.cwd(), "", patterns);
	if (missing > 0) {
		console.error(`Failed to fetch some objects: ${missing} not found on the server`);
		process.exitCode = 2;
	}
} else {
	console.error(`git-lfs: unknown command ${command}`);
	process.exitCode = 127;
}

function pull(folder, prefix, patterns) {
	let missing = 0;
	for (const name of readdirSync(folder)) {
		const [path, shown] = [join(folder, name), `${prefix}/${name}`];
		if (name === ".git") continue;
		if (statSync(path).isDirectory()) missing += pull(path, shown, patterns);
		else if (patterns === undefined || patterns.some((pattern) => pattern.test(shown))) {
			const oid = /^version https:\/\/git-lfs[\s\S]*oid sha256:([0-9a-f]{64})/.exec(
				readFileSync(path, "latin1"),
			)?.[1];
			if (oid === undefined) continue;
			if (existsSync(join(store, oid))) writeFileSync(path, readFileSync(join(store, oid)));
			else missing += 1;
		}
	}
	return missing;
}
