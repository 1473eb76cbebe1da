import type { Terminal } from "../../src/app/terminal.ts";
import { readEnvironment } from "../../src/host/adapters/github/env.ts";

export function testTerminal(cwd: string, written: (text: string) => void = () => {}): Terminal {
	return {
		out: written,
		echo: () => {},
		err: () => {},
		command: () => {},
		color: { out: false, err: false },
		columns: 100,
		interactive: false,
		environment: readEnvironment({}),
		cwd,
	};
}
