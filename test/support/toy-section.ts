// A report section that trtgate does not have: how busy the job's disk was. It takes one entry of the fingerprint.

import type { Result } from "../../generated/result.ts";
import { html, section } from "../../src/core/report/html/markup.ts";
import { gateKey } from "../../src/core/report/index-gates.ts";
import { foldedMarkdown, markdownTable } from "../../src/core/report/markdown-parts.ts";
import { defineSection } from "../../src/core/report/section.ts";
import { paint } from "../../src/core/report/terminal-text.ts";

/** The gate that its highlight explains. */
export const explainedGate = {
	gate: "memory",
	model: "classifier",
	engine: "fp16",
	workload: "batch 8",
} as const;

function diskUse({ environment }: Result): string | null {
	return environment["disk"] ?? null;
}

export const diskSection = defineSection({
	id: "disk",
	select: ({ result }) => diskUse(result),
	markdown: (use) => [foldedMarkdown("Disk", markdownTable(["what", "value"], [["disk in use", use]], [1]))],
	html: (use) => section("Disk", html`<p>disk in use: ${use}</p>`, "disk"),
	terminal: (use, { color }) => [paint(`Disk in use: ${use}`, "bold", color)],
	highlights: (result) => {
		const use = diskUse(result);
		if (use === null) return [];
		const { gate, ...subject } = explainedGate;
		return [
			{
				severity: "warn",
				topic: ["busy disk", "busy disks"],
				title: `The disk is busy: ${use}`,
				sentences: [["Free it."]],
				fix: "Free it.",
				explains: gateKey(gate, subject),
			},
		];
	},
});
