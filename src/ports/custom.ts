// Asks a command of the user's own how far an output is from the golden's. Types only.
import type { CommandConfig } from "../core/config/config.ts";
import type { CommandAnswer, CommandQuestion } from "../core/golden/compare/custom.ts";
import type { Tensor } from "../core/golden/tensor/tensor.ts";

export interface CommandJob {
	command: CommandConfig;
	/** Absolute folder in which it runs. */
	cwd: string;
	/** Absolute folder of our own, for the tensors in passing. */
	scratchFolder: string;
	/** As the command is told. */
	about: CommandQuestion;
	expected: Tensor;
	got: Tensor;
}

/** Never throws: what goes wrong is an answer, and never a pass. */
export interface CustomCommands {
	ask(job: CommandJob): Promise<CommandAnswer>;
}
