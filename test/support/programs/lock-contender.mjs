// Takes a lock so many times, and says where it was not alone in it: node lock-contender.mjs MODULE FOLDER TIMES SEED
// Now and then it leaves its lock as one that a dead process holds.
import { readFileSync, readlinkSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const [module, folder, times, seed] = process.argv.slice(2);
const { tryLock } = await import(module);
const path = join(folder, "a.lock");
const inside = join(folder, "inside");
let state = Number(seed);
const random = () => {
	state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
	return state / 2 ** 31;
};

/** A killed process that nobody has reaped yet holds nothing. */
function isAlive(pid) {
	try {
		return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
	} catch {
		return false;
	}
}

/** A link has its text from the start, so a contender that is killed here never leaves an empty one. */
function enter() {
	try {
		symlinkSync(String(process.pid), inside);
	} catch {
		const other = Number(readlinkSync(inside));
		if (isAlive(other)) console.log(`not alone: ${other}`);
		rmSync(inside, { force: true });
		symlinkSync(String(process.pid), inside);
	}
}

function abandon() {
	const owner = { ...JSON.parse(readFileSync(path, "utf8")), born: "1", token: `${process.pid}-${random()}` };
	writeFileSync(`${path}.${process.pid}`, JSON.stringify(owner));
	renameSync(`${path}.${process.pid}`, path);
}

console.log("started");
for (let held = 0; held < Number(times); ) {
	const attempt = await tryLock(path).catch((error) => {
		console.log(`threw: ${error.code} ${error.message}`);
		process.exit(1);
	});
	if (attempt.state !== "held") continue;
	held += 1;
	enter();
	await new Promise((done) => setTimeout(done, random() * 2));
	rmSync(inside, { force: true });
	if (random() < 0.4) abandon();
	else await attempt.lock.release();
}
console.log("done");
