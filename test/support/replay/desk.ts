// Answers the plain questions to the replayed trtexec in the test's own process: a Node for each of a gate's runs costs more than the gate.

import { execFileSync } from "node:child_process";
import { closeSync, constants, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { find, helpText, isPlain, noteAsked, openRecording, spoken, writeFiles } from "./recording.mjs";

const endOfQuestion = "end of question";
let desk: string | null = null;

/**
 * Words of a shell program that asks here first; what follows them is for what only a process of its own can do: to hang,
 * crash, flood or take its time. A test that blocks its own process while the program runs must do without.
 */
export function deskLabels(configPath: string): string {
	return `answer="${deskPath()}.$$"
mkfifo "$answer"
exec 9<>"$answer"
printf '%s\\0' "$answer" "\${CUDA_VISIBLE_DEVICES-unset}" "$PWD" "${configPath}" "$@" "${endOfQuestion}" >"${deskPath()}"
read -r _ <&9
exec 9<&-
. "$answer.sh"
`;
}

export function deskPath(): string {
	desk ??= openDesk();
	return desk;
}

function openDesk(): string {
	const folder = mkdtempSync(join(tmpdir(), "trtgate-desk-"));
	process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
	const path = join(folder, "questions");
	execFileSync("mkfifo", [path]);
	const socket = new Socket({
		fd: openSync(path, constants.O_RDWR | constants.O_NONBLOCK),
		readable: true,
		writable: false,
	});
	let fields: string[] = [];
	let rest = "";
	socket.setEncoding("utf8").on("data", (text: string) => {
		const parts = (rest + text).split("\0");
		rest = parts.pop() ?? "";
		for (const part of parts) {
			if (part !== endOfQuestion) fields.push(part);
			else {
				answer(fields);
				fields = [];
			}
		}
	});
	socket.unref();
	return path;
}

function answer([path = "", visible = "", cwd = "", configPath = "", ...argv]: readonly string[]): void {
	writeFileSync(
		`${path}.sh`,
		scriptOf({ configPath, cwd, argv, visible: visible === "unset" ? null : visible }),
	);
	try {
		const pipe = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
		writeSync(pipe, "\n");
		closeSync(pipe);
	} catch {
		// The process that asked has been killed meanwhile.
	}
}

interface Question {
	configPath: string;
	cwd: string;
	argv: readonly string[];
	visible: string | null;
}

/** Commands that the shell runs itself; nothing if a separate process has to answer. */
function scriptOf({ configPath, cwd, argv, visible }: Question): string {
	openRecording(configPath, argv, cwd);
	if (!isPlain()) return "";
	const asked = noteAsked(visible);
	if (asked.step === "help") return `printf %s ${quoted(helpText())}\nexit 0\n`;
	const step = find(asked);
	if (!step || step.signal) return `echo "the replay knows no run like this" >&2\nexit 99\n`;
	writeFiles(step);
	const lines = spoken(step).map(
		([, stream, line]) => `printf '%s\\n' ${quoted(line)}${stream === "err" ? " >&2" : ""}\n`,
	);
	return `${lines.join("")}exit ${step.exitCode ?? 1}\n`;
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
