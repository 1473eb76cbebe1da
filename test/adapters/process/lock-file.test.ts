import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { beforeEach, expect, it } from "vitest";
import { tryLock } from "../../../src/adapters/process/lock-file.ts";
import { outputOf } from "../../support/child-output.ts";
import { program } from "../../support/ort-jobs.ts";
import { temporaryFolder } from "../../support/project.ts";

let folder = "";
beforeEach(() => {
	folder = temporaryFolder();
});

const module = pathToFileURL(resolve("src/adapters/process/lock-file.ts")).href;

function contend(times: number, seed: number) {
	const args = [program("lock-contender"), module, folder, String(times), String(seed)];
	const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
	const lines = outputOf(child).then(({ stdout, stderr }) => `${stderr}${stdout}`.trim().split("\n"));
	return { child, started: once(child.stdout, "data"), lines };
}

it("tryLock gives the lock to one holder at a time if four contend and owners die", async () => {
	const lines = await Promise.all([1, 2, 3, 4].map((seed) => contend(75, seed).lines));
	expect(lines).toEqual(Array.from({ length: 4 }, () => ["started", "done"]));
});

it("tryLock gets the lock after contenders were killed at any step", async () => {
	for (let seed = 1; seed <= 6; seed += 1) {
		const contenders = [seed, seed + 100].map((one) => contend(1_000_000, one));
		await Promise.all(contenders.map(({ started }) => started));
		for (let reads = 0; reads < 40 * seed; reads += 1) await readdir(folder);
		for (const { child } of contenders) child.kill("SIGKILL");
		expect((await Promise.all(contenders.map(({ lines }) => lines))).flat()).toEqual(["started", "started"]);
		const attempt = await tryLock(join(folder, "a.lock"));
		expect(attempt.state).toBe("held");
		if (attempt.state === "held") await attempt.lock.release();
		expect(readdirSync(folder)).not.toContain("a.lock");
	}
});
