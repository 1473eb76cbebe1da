import { createHash } from "node:crypto";
import type { EngineFacts, HistoryRecord, HistoryRow, LogRatio } from "../../generated/history.ts";
import { fileOf } from "../../src/history/core/files.ts";

export const hash = (text: string): string => createHash("sha256").update(text).digest("hex");
export const short = (text: string): string => hash(text).slice(0, 12);

export function buildRatio(ppm: number, overrides: Partial<LogRatio> = {}): LogRatio {
	return { ppm, halfPpm: 1200, pairs: 8, sdPpm: 1200, ...overrides };
}

export function buildFacts(overrides: Partial<EngineFacts> = {}): EngineFacts {
	return {
		model: short("model"),
		recipe: short("recipe"),
		structure: short("layers"),
		ns: 623_047,
		bytes: 4_700_000,
		memoryBytes: 80_000_000,
		...overrides,
	};
}

export function buildRow(overrides: Partial<HistoryRow> = {}): HistoryRow {
	return {
		series: "det/fp16/b1",
		kind: "engine",
		ratio: buildRatio(53_560),
		base: buildFacts(),
		head: buildFacts(),
		...overrides,
	};
}

export function nightAt(night: number): string {
	return new Date(Date.UTC(2026, 0, 1 + night, 3)).toISOString();
}

export function buildRecord(night: number, overrides: Partial<HistoryRecord> = {}): HistoryRecord {
	return {
		schemaVersion: 1,
		at: nightAt(night),
		source: short(`${night} ${JSON.stringify(overrides)}`),
		run: `${1000 + night}-1`,
		label: "main",
		commit: hash(`commit ${night}`).slice(0, 40),
		reference: { label: "v3.2" },
		machine: { gpu: "NVIDIA H200", driverBranch: "580", tensorrt: "10.6.0", host: "h200-a" },
		method: { trtgate: "0.1.0" },
		rows: [buildRow()],
		...overrides,
	};
}

export function fasterNights(record: HistoryRecord): Record<string, string> {
	const files = Array.from({ length: 30 }, (_, night) => {
		const ratio = buildRatio(-1_600_000 + (night % 3) * 500);
		const rows = record.rows.map((row) => ({
			...row,
			ratio,
			head: { ...row.head, model: short("earlier") },
		}));
		const identity = { source: short(`${night}`), commit: hash(`${night}`).slice(0, 40) };
		return fileOf({ ...record, ...identity, at: nightAt(night).replace("2026", "2021"), rows }, hash);
	});
	return Object.fromEntries(files.map(({ path, text }) => [path, text]));
}
