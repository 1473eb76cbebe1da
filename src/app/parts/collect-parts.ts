// Fetches the parts' results from a run's artifacts, which are untrusted: bounded, checked, and never unpacked onto the disk.

import { rm } from "node:fs/promises";
import { dirname } from "node:path";
import { inNewFolder } from "../../adapters/process/write-error.ts";
import { ToolError } from "../../core/errors.ts";
import { type PartContent, type PartInput, type PickedPart, pickArtifacts } from "../../core/merge/parts.ts";
import { cleanName } from "../../core/text/escape.ts";
import { takeFile } from "../../host/adapters/github/part-archive.ts";
import type { RunArtifact, RunArtifacts } from "../../ports/code-host.ts";
import { reportFiles } from "../../stages/report.ts";
import { beyondAll, maxParts, maxResultBytes, maxTextBytes, parsePart } from "./read-parts.ts";

/** Raw samples and logs of some hundred workloads. */
const maxPartBytes = 200 * 1024 * 1024;
const maxBytes = 2 * 1024 * 1024 * 1024;
const atOnce = 6;

export interface Collecting {
	artifacts: RunArtifacts;
	/** Expected parts, by the artifacts that their jobs leave. */
	expected: readonly { name: string; artifact: string }[];
	/** Absolute; a folder in it is made and removed. */
	temp: string;
	log(line: string): void;
}

/** @throws ToolError part-missing if the artifacts cannot be listed. */
export async function collectParts(collecting: Collecting): Promise<PartInput[]> {
	const listed = await collecting.artifacts.list();
	if (listed.state === "failed") {
		throw new ToolError({
			code: "part-missing",
			message: `The parts cannot be found: ${listed.fault.message}`,
			fix: listed.fault.fix,
		});
	}
	const picked = pickArtifacts(listed.artifacts, collecting.expected);
	if (picked.length > maxParts)
		throw new ToolError({
			code: "part-missing",
			message: `The run has ${picked.length} artifacts that could be parts; at most ${maxParts} are merged.`,
			fix: "Give the parts of each report an `artifact` prefix of their own.",
		});
	return inNewFolder("trtgate-parts-", (folder) => fetchAll(picked, collecting, folder), collecting.temp);
}

async function fetchAll(
	picked: readonly PickedPart<RunArtifact>[],
	collecting: Collecting,
	folder: string,
): Promise<PartInput[]> {
	const parts: PartInput[] = [];
	const budget = { packedBytes: maxBytes, textBytes: maxTextBytes };
	for (let from = 0; from < picked.length; from += atOnce) {
		const some = picked.slice(from, from + atOnce).map(async ({ name, artifact }): Promise<PartInput> => {
			const content = await fetchOne(artifact, { collecting, folder, budget });
			collecting.log(`${cleanName(artifact.name)}: ${content.state === "read" ? "read" : content.reason}`);
			return { name, artifact: artifact.name, uploadedMs: artifact.uploadedMs, content };
		});
		parts.push(...(await Promise.all(some)));
	}
	return parts;
}

function refused(reason: string): PartContent {
	return { state: "refused", reason, kind: "runner" };
}

interface Fetching {
	collecting: Collecting;
	folder: string;
	/** Bytes left for all parts together. */
	budget: { packedBytes: number; textBytes: number };
}

async function fetchOne(
	artifact: RunArtifact,
	{ collecting, folder, budget }: Fetching,
): Promise<PartContent> {
	const { bytes } = artifact;
	if (bytes > maxPartBytes)
		return refused(`Its artifact has ${bytes} bytes; at most ${maxPartBytes} are fetched.`);
	budget.packedBytes -= bytes;
	if (budget.packedBytes < 0)
		return refused(`All artifacts together are larger than ${maxBytes} bytes; this one was not fetched.`);
	const fetched = await collecting.artifacts.fetch(artifact, folder);
	if (fetched.state === "failed") return refused(fetched.fault.message);
	try {
		const taken = await takeFile(fetched.path, reportFiles.result, {
			packedBytes: maxPartBytes,
			bytes: maxResultBytes,
		});
		if (taken.state === "absent")
			return refused(`The artifact ${cleanName(artifact.name)} contains no ${reportFiles.result}.`);
		if (taken.state === "refused") return refused(taken.reason);
		budget.textBytes -= taken.text.length;
		if (budget.textBytes < 0) return beyondAll();
		return parsePart(taken.text, reportFiles.result);
	} finally {
		await rm(dirname(fetched.path), { recursive: true, force: true });
	}
}
