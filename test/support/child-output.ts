import type { ChildProcessByStdio } from "node:child_process";
import type { Readable } from "node:stream";

export interface ChildOutput {
	exit: number | null;
	signal: NodeJS.Signals | null;
	stdout: string;
	stderr: string;
}

export function outputOf(child: ChildProcessByStdio<null, Readable, Readable>): Promise<ChildOutput> {
	let [stdout, stderr] = ["", ""];
	child.stdout.setEncoding("utf8").on("data", (text) => (stdout += text));
	child.stderr.setEncoding("utf8").on("data", (text) => (stderr += text));
	return new Promise((settle, reject) => {
		child.on("error", reject);
		child.on("close", (exit, signal) => settle({ exit, signal, stdout, stderr }));
	});
}
