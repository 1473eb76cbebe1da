// Starts a grandchild that outlives it and holds its pipes, and prints the grandchild's number.
import { spawn } from "node:child_process";

const child = spawn(process.execPath, ["-e", "setTimeout(() => {}, 3600000)"], { stdio: "inherit" });
console.log(child.pid);
if (process.argv[2] === "leave") {
	child.unref();
	process.exit(0);
}
setTimeout(() => {}, 3_600_000);
