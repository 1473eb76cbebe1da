// README.md of a repro folder, to attach to an issue.
import type { Result } from "../../../generated/result.ts";
import { markdownCode, markdownFence } from "../text/escape.ts";
import { describeCheck, type Failure, failedChecks, nameOf } from "./failures.ts";

/** @param commands for a shell in the folder. @param part how much of the model it holds. */
export function readmeOf(
	failure: Failure,
	result: Result,
	commands: readonly string[],
	part?: string,
): string {
	const { backend, environment, tool, builds, bisections = [] } = result;
	const versions = {
		trtgate: tool.version,
		[backend.name]: backend.version,
		device: backend.device,
		...environment,
	};
	const checks = failedChecks(failure.verdict ?? { checks: [] }).map((check) => {
		const { index, got, expected } = check.worst ?? {};
		return `${describeCheck(check)}${index ? `; at [${index}] got ${got}, expected ${expected}` : ""}`;
	});
	const blocks = [
		[...checks, ...bisections.map(({ message }) => message), ...(builds[0]?.failure?.excerpt ?? [])],
		Object.entries(versions).map(([name, value]) => `${name}: ${value}`),
		commands,
	];
	return [
		`# ${markdownCode(nameOf(failure))} fails on ${backend.name} ${backend.version}`,
		`${markdownCode(failure.says)} [${markdownCode(failure.code)}]`,
		...(part === undefined
			? []
			: [
					`Its model is the part that leads to the first wrong tensor: ${part}. The error was recorded in the whole model, relative to the larger of both norms; the part may be built differently.`,
				]),
		...blocks.filter((lines) => lines.length > 0).map(markdownFence),
		"`trtgate repro FOLDER` builds it, runs it and compares.",
		"The folder holds the model and its weights: give it only to those who may have them.\n",
	].join("\n\n");
}
