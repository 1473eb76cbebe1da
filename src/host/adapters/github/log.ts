// Writes the workflow's log and job summary; separate from outputs, which not every action has.
import { summary } from "@actions/core";
import { standardStreams } from "../../../adapters/process/standard-streams.ts";

export function log(text: string): void {
	standardStreams({ isActions: true }).out(`${text}\n`);
}

const maxSummaryBytes = 1024 * 1024 - 1024;

export async function writeSummary(markdown: string): Promise<void> {
	const fits = Buffer.byteLength(markdown) <= maxSummaryBytes;
	const text = fits ? markdown : markdown.slice(0, maxSummaryBytes / 4);
	try {
		await summary.emptyBuffer().addRaw(text).write({ overwrite: true });
	} catch (fault) {
		log(`The job summary could not be written: ${String(fault)}`);
	}
}
