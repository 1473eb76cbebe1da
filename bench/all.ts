// Runs every bench in this folder, one after the other. `npm run bench`
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";

const benches = readdirSync("bench").filter((name) => name.endsWith(".ts") && name !== "all.ts");
const failed = benches.filter((name) => spawnSync(process.execPath, [`bench/${name}`], { stdio: "inherit" }).status !== 0);
if (failed.length > 0) {
	console.error(`failed: ${failed.join(", ")}`);
	process.exitCode = 1;
}
