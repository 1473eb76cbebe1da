// Signals to process groups: every child leads its own, so that its children end with it.
import { errorCode } from "./write-error.ts";

/** Whether the group took the signal; false where it is gone. */
export function signalGroup(pid: number, signal: NodeJS.Signals): boolean {
	try {
		process.kill(process.platform === "win32" ? pid : -pid, signal);
		return true;
	} catch (error) {
		// EPERM: someone in the group changed its user; the others got the signal.
		return errorCode(error) === "EPERM";
	}
}
