// Types of recording.mjs.
export interface Step {
	signal: string | null;
	exitCode: number | null;
}
export interface Asked {
	step: "help" | "build" | "golden" | "warm" | "perf" | "profile";
	arm?: "base" | "head";
	n?: number;
}
export function openRecording(configPath: string, theirArgv: readonly string[], theirCwd: string): void;
export function isPlain(): boolean;
export function noteAsked(visible: string | null): Asked;
export function find(asked: Asked): Step | undefined;
export function helpText(): string;
export function writeFiles(step: Step): void;
export function spoken(step: Step): [ms: number, stream: "out" | "err", line: string][];
