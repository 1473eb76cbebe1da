// Runs every bench in this folder, one after the other, but for zoo.ts, which downloads its models. `npm run bench`
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";

const left = ["all.ts", "zoo.ts"];
const benches = readdirSync("bench").filter((name) => name.endsWith(".ts") && !left.includes(name));
const failed = benches.filter(
	(name) => spawnSync(process.execPath, [`bench/${name}`], { stdio: "inherit" }).status !== 0,
);
if (failed.length > 0) {
	console.error(`failed: ${failed.join(", ")}`);
	process.exitCode = 1;
}
