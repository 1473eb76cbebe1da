// Identities of processes, for locks, and signals to their groups.
import { randomBytes } from "node:crypto";
import { readFile, readlink } from "node:fs/promises";
import { hostname } from "node:os";
import { fieldsOf } from "../../core/found.ts";
import { errorCode } from "./write-error.ts";

export interface Owner {
	pid: number;
	host: string;
	/** The kernel's PID namespace; "" if unknown. */
	space: string;
	startedAt: string;
	/** The kernel's start time of the process; "" if unknown. */
	born: string;
	token: string;
}

export async function describeSelf(): Promise<Owner> {
	const { pid } = process;
	return {
		pid,
		host: hostname(),
		space: await numberSpace(),
		startedAt: new Date().toISOString(),
		born: (await readStat(pid)).born ?? "",
		token: randomBytes(8).toString("hex"),
	};
}

/** null: not one of our locks. */
export function parseOwner(text: string): Owner | null {
	try {
		const { pid, host, space, startedAt, born, token } = fieldsOf(JSON.parse(text));
		const wordOf = (value: unknown) => (typeof value === "string" ? value : "");
		if (typeof pid !== "number" || !Number.isSafeInteger(pid) || pid < 1 || typeof host !== "string")
			return null;
		const words = { space: wordOf(space), born: wordOf(born) };
		return { pid, host, startedAt: String(startedAt), token: String(token), ...words };
	} catch {
		return null;
	}
}

export function describeOwner(owner: Owner | null): string {
	return owner === null ? "another run" : `process ${owner.pid} on ${owner.host}, since ${owner.startedAt}`;
}

/** elsewhere: on another machine or in another container. */
export async function stateOfOwner(owner: Owner): Promise<"alive" | "dead" | "elsewhere"> {
	const space = await numberSpace();
	if (owner.host !== hostname() || (owner.space !== "" && space !== "" && owner.space !== space))
		return "elsewhere";
	try {
		process.kill(owner.pid, 0);
	} catch (error) {
		if (errorCode(error) === "ESRCH") return "dead";
	}
	const { state, born } = await readStat(owner.pid);
	// A zombie, which in a container may never be reaped.
	if (state === "Z" || state === "X") return "dead";
	return born === undefined || owner.born === "" || born === owner.born ? "alive" : "dead";
}

function numberSpace() {
	return readlink("/proc/self/ns/pid").catch(() => "");
}

export async function groupOf(pid: number): Promise<number | null> {
	const group = Number((await readStat(pid)).group);
	return Number.isSafeInteger(group) && group > 0 ? group : null;
}

/** Fields 3, 5 and 22 of /proc/PID/stat, after the name, which may hold anything. */
async function readStat(pid: number): Promise<{ state?: string; group?: string; born?: string }> {
	const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => null);
	if (text === null) return {};
	const [state = "", , group = "", ...others] = text.slice(text.lastIndexOf(")") + 2).split(" ");
	return { state, group, born: others[16] ?? "" };
}

/** false if the group is gone. */
export function signalGroup(pid: number, signal: NodeJS.Signals): boolean {
	try {
		process.kill(process.platform === "win32" ? pid : -pid, signal);
		return true;
	} catch (error) {
		// EPERM: someone in the group changed its user.
		return errorCode(error) === "EPERM";
	}
}
