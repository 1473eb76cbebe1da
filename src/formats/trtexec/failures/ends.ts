// Failures that the log does not explain.
import type { Facts, Rules } from "./rule.ts";

const signalByExit: Readonly<Record<number, string>> = {
	129: "SIGHUP",
	130: "SIGINT",
	132: "SIGILL",
	134: "SIGABRT",
	135: "SIGBUS",
	136: "SIGFPE",
	137: "SIGKILL",
	139: "SIGSEGV",
	143: "SIGTERM",
};

export function endingSignal(exitCode: number | null, signal: string | null): string | null {
	if (signal !== null && signal !== "") return signal.startsWith("SIG") ? signal : `SIG${signal}`;
	return exitCode === null ? null : (signalByExit[exitCode] ?? null);
}

const endedBy =
	(...signals: string[]) =>
	({ signal }: Facts) =>
		signal !== null && signals.includes(signal);
const crashed = endedBy("SIGABRT", "SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE", "SIGTRAP", "SIGSYS");

export const programMissing = {
	title: "The program could not be started because it does not exist.",
	fix: "Install TensorRT with trtexec, which the pip wheels lack, and put it on the PATH or give its full path.",
} as const;

export const startRules: Rules = {
	"program-not-allowed": {
		when: ({ exitCode, spawnError }) =>
			exitCode === 126 || /EACCES|permission denied/i.test(spawnError ?? ""),
		title: "There is no permission to execute the program.",
		fix: "Check its permissions (chmod +x) and that its disk is not mounted noexec.",
	},
	"program-missing": {
		...programMissing,
		when: ({ exitCode, spawnError, log }) => spawnError != null || (exitCode === 127 && log.lineCount === 0),
	},
};

export const outsideRules: Rules = {
	"timed-out": {
		when: (facts) => facts.timedOut === true,
		title: "trtexec did not finish within its time limit and was stopped.",
		fix: "If the last lines show progress, raise the limit; else look for a busy GPU or a hung driver.",
	},
	interrupted: {
		when: endedBy("SIGINT"),
		title: "trtexec was interrupted (SIGINT).",
		fix: "Nothing is wrong with the model: the workflow was cancelled, or Ctrl-C was pressed. Run again.",
	},
	terminated: {
		when: endedBy("SIGTERM", "SIGHUP"),
		title: "trtexec was terminated ({signal}).",
		fix: "Nothing is wrong with the model: the job was cancelled, or the runner shut down. Run again.",
	},
	killed: {
		when: endedBy("SIGKILL"),
		title: "trtexec was killed (SIGKILL), most often because the machine ran out of memory.",
		fix: "Check dmesg and the container's memory limit. The builder alone takes 5 GB: provide more, or build fewer engines at once.",
	},
};

export const crashRules: Rules = {
	"plan-crash": {
		kind: "refusal",
		when: (facts) => crashed(facts) && facts.flags.has("--loadEngine") && !facts.log.deserialised,
		title:
			"trtexec crashed ({signal}) while loading {plan|the engine}, as it does for a file that is no plan.",
		fix: "Check the file's size and first bytes (a plan begins with `ftrt`), and build it again.",
	},
	"inference-crash": {
		when: (facts) => crashed(facts) && facts.log.deserialised,
		title: "trtexec crashed ({signal}) after loading the engine, as it does when the GPU runs out of memory.",
		fix: "Check with nvidia-smi what else uses this GPU. If it keeps crashing, suspect a plugin.",
	},
	crashed: {
		when: crashed,
		title: "trtexec crashed ({signal}) and its log gives no reason.",
		fix: "Run again. If it keeps crashing, try another TensorRT version and report the model to NVIDIA.",
	},
};

export const incompleteRules: Rules = {
	"log-incomplete": {
		title: "The log stops before trtexec's last line, and no exit code or signal is known.",
		fix: "Pass the exit code or signal (--exit-code, --signal), or the complete log.",
	},
};
