// Reads the event that GitHub Actions runs us for, from the payload file that the runner left.
import { open } from "node:fs/promises";
import { type Environment, forgetEventFile } from "../../adapters/github/env.ts";
import { parseRunEvent, type RunEvent } from "../../formats/github/event.ts";

/** GitHub caps payloads at 25 MB. */
const mostPayloadBytes = 32 * 1024 * 1024;

/** Absent outside of GitHub Actions. A payload that cannot be read makes the event `other`, by its name. */
export async function readRunEvent(environment: Environment): Promise<RunEvent | undefined> {
	const { isActions, eventName, eventPath, sha, ref } = environment;
	if (!isActions || eventName === undefined) return undefined;
	const payload = eventPath === undefined ? null : await readPayload(eventPath);
	if (payload === null) forgetEventFile();
	return parseRunEvent(eventName, payload, { sha: sha ?? "", ref: ref ?? "" });
}

async function readPayload(path: string): Promise<unknown> {
	try {
		const file = await open(path);
		try {
			const facts = await file.stat();
			return facts.isFile() && facts.size <= mostPayloadBytes ? JSON.parse(await file.readFile("utf8")) : null;
		} finally {
			await file.close();
		}
	} catch {
		return null;
	}
}
