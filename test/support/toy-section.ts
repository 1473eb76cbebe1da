import { gateKey } from "../../src/core/report/highlight.ts";
import { type ReportSection, table } from "../../src/core/report/section.ts";

export const explainedGate = {
	gate: "memory",
	model: "classifier",
	engine: "fp16",
	workload: "batch 8",
} as const;

export const diskSection: ReportSection = {
	id: "disk",
	show({ result: { environment } }) {
		const use = environment["disk"];
		if (use === undefined) return null;
		const columns = [{ title: "disk in use", heading: true, text: (row: string) => row }];
		return { title: "Disk", blocks: [table("disk", columns, [use], { noun: "disk" })] };
	},
	highlights({ environment }) {
		const use = environment["disk"];
		if (use === undefined) return [];
		const { gate, ...subject } = explainedGate;
		return [
			{
				severity: "warn",
				topic: ["busy disk", "busy disks"],
				title: `The disk is busy: ${use}`,
				sentences: ["Free it."],
				fix: "Free it.",
				explains: [gateKey(gate, subject)],
			},
		];
	},
};
