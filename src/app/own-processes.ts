// Child processes of a command that opens no run. Apart from the environment, because help and preflight start none.
import { createProcesses, type Processes } from "../adapters/process/processes.ts";
import { childEnvironment } from "../host/adapters/github/env.ts";

export function ownProcesses(): Processes {
	return createProcesses({ env: childEnvironment() });
}
