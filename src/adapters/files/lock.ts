// Keeps two runs from writing into one folder: a lock file that names its owner.
import { join } from "node:path";
import { ConfigError } from "../../core/errors.ts";
import { type Lock, tryLock } from "../process/lock-file.ts";
import { describeOwner, type Owner } from "../process/owner.ts";

const lockName = ".trtgate.lock";

/** @throws ConfigError output-busy (naming the owner), output-unwritable; ToolError disk-full. */
export async function lockFolder(folder: string): Promise<Lock> {
	const attempt = await tryLock(join(folder, lockName));
	if (attempt.state === "busy") throw busy(folder, attempt.owner);
	return attempt.lock;
}

function busy(folder: string, owner: Owner | null): ConfigError {
	const who = describeOwner(owner);
	return new ConfigError({
		code: "output-busy",
		message: `The output folder ${folder} is in use by ${who}.`,
		details: {
			fix: `Wait for it to end, or give this run another output folder. If nothing runs, delete ${join(folder, lockName)}.`,
			got: who,
		},
	});
}
