// Ends well after writing nonsense to the file that its job file names as `resultPath`.
import { readFileSync, writeFileSync } from "node:fs";

console.log("\u001b[31mall is well\u001b[0m");
if (process.argv[2] !== undefined)
	writeFileSync(JSON.parse(readFileSync(process.argv[2], "utf8")).resultPath, '{"kind": "infer", "cases": 7');
