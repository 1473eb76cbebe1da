import { spawnSync } from "node:child_process";
import { homedir } from "node:os";
import { resolve } from "node:path";
import { createProcesses } from "../../src/adapters/process/processes.ts";
import { findTrtexec } from "../../src/adapters/trtexec/find.ts";
import { tensorRtWorker } from "../../src/golden/adapters/tensorrt-worker/worker.ts";

export interface Real {
	trtexec: string | null;
	python: boolean;
}

/** Says on stderr what is not here, so that a skipped test is not taken for a passed one. */
export async function lookForReal(): Promise<Real> {
	const smi = spawnSync("nvidia-smi", ["-L"], { encoding: "utf8" });
	if (smi.status !== 0) return absent("nvidia-smi shows no GPU here");
	const processes = createProcesses();
	const wanted = process.env["TRTEXEC"];
	const found = await findTrtexec({
		cwd: process.cwd(),
		environment: { home: homedir() },
		processes,
		trtexec: wanted,
	});
	if (found.state === "missing")
		return absent(
			`trtexec was not found: ${found.tried.map(({ program, why }) => `${program} ${why}`).join("; ")}`,
		);
	const probed = await tensorRtWorker({
		python: "python3",
		workerPath: resolve("worker/tensorrt.py"),
		processes,
	}).probe();
	if ("absent" in probed) process.stderr.write(`Tests of the Python worker are skipped: ${probed.absent}\n`);
	return { trtexec: found.trtexec.program, python: !("absent" in probed) };
}

function absent(why: string): Real {
	process.stderr.write(`Tests on a real GPU are skipped: ${why}.\n`);
	return { trtexec: null, python: false };
}
