// Reads the event that GitHub Actions runs us for, from the payload file that the runner left.
import { type Environment, forgetEventFile } from "../../adapters/github/env.ts";
import { readInputText } from "../../adapters/process/input-file.ts";
import { inputKinds } from "../../core/input-kind.ts";
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
		return JSON.parse(await readInputText(path, { ...inputKinds.argument, mostBytes: mostPayloadBytes }));
	} catch {
		return null;
	}
}
