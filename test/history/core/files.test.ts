import { expect, it } from "vitest";
import type { HistoryRecord } from "../../../generated/history.ts";
import { compact, fileOf, type HistoryFile, readHistory } from "../../../src/history/core/files.ts";
import { buildRatio, buildRecord, buildRow, hash } from "../../support/history-records.ts";

const fileOfNight = (night: number): HistoryFile => fileOf(buildRecord(night), hash);

function recordsIn(file: HistoryFile | undefined) {
	const lines = (file?.text ?? "").trimEnd().split("\n");
	return lines.map((line): HistoryRecord => JSON.parse(line).record);
}

const namesIn = (files: readonly HistoryFile[]) => readHistory(files).records.map(({ name }) => name);

const varied: HistoryRecord[] = [
	buildRecord(0),
	buildRecord(1, { rows: [] }),
	buildRecord(2, {
		rows: [buildRow({ kind: "link" }), buildRow({ kind: "link", ratio: buildRatio(-7) }), buildRow()],
	}),
	buildRecord(3, {
		rows: [buildRow({ errors: { "out cosine": 1.234e-7, "": 0 }, base: {}, head: {} })],
		label: "",
	}),
	buildRecord(4, { machine: {}, method: { ["__proto__"]: "x", constructor: "y" } }),
];

it("history files name a record by its time, run and content", () => {
	expect(fileOfNight(0).path).toMatch(/^runs\/2026\/01\/20260101T030000Z-1000-1-[0-9a-f]{12}\.json$/);
	expect(fileOfNight(0)).toEqual(fileOfNight(0));
});

it("history files give every record back after compaction, whatever it holds", () => {
	const files = varied.map((record) => fileOf(record, hash));
	const compaction = compact(files, "2026-02");
	expect(compaction?.remove).toEqual(files.map(({ path }) => path));
	expect(compaction?.write.map(({ path }) => path)).toEqual(["months/2026-01.jsonl.gz"]);
	expect(recordsIn(compaction?.write[0])).toEqual(varied);
	expect(namesIn(compaction?.write ?? [])).toEqual(
		files.map(({ path }) => path.slice("runs/2026/01/".length)),
	);
});

it("history files compact past months once, and add to them", () => {
	const [first, late, next] = [fileOfNight(0), fileOfNight(20), fileOfNight(35)];
	const once = compact([first, next], "2026-02");
	expect(once?.remove).toEqual([first.path]);
	const month = once?.write ?? [];
	expect(compact([...month, next], "2026-02")).toBeNull();
	const twice = compact([...month, late, next], "2026-02");
	expect(recordsIn(twice?.write[0]).map(({ at }) => at.slice(8, 10))).toEqual(["01", "21"]);
});

it("history files read a run once after an interrupted compaction", () => {
	const files = [fileOfNight(0), fileOfNight(1)];
	const both = [...files, ...(compact(files, "2026-02")?.write ?? [])];
	expect(namesIn(both)).toHaveLength(2);
	expect(readHistory(both).skipped).toEqual([]);
});

const { path, text } = fileOfNight(1);
const month = "months/2025-12.jsonl.gz";

it.each([
	["cut short", { text: text.slice(0, 100) }, "not JSON"],
	["foreign", { text: '{"hello":1}' }, "not a record"],
	[
		"newer",
		{ text: text.replace('"schemaVersion":1', '"schemaVersion":7') },
		"a newer trtgate wrote it (schemaVersion 7)",
	],
	["a duplicate", { path: path.replace(".json", "-copy.json"), text: fileOfNight(0).text }, "duplicate"],
	["elsewhere", { path: "notes/x.txt" }, "not a file of a history"],
	["a month without records", { path: month, text: "" }, "not a month"],
	["a damaged month", { path: month, text: '{"name":"a.json","record":{"rows":[]}}\n' }, "not a month"],
])("history files keep and name a file that is %s", (_, damage, why) => {
	const bad = { path, text, ...damage };
	const { skipped } = readHistory([fileOfNight(0), bad]);
	expect(skipped).toEqual([expect.stringContaining(why)]);
	expect(skipped[0]).toContain(bad.path);
	expect(namesIn([fileOfNight(0), bad])).toHaveLength(1);
	const compaction = compact([fileOfNight(0), bad], "2026-02");
	if (why !== "duplicate") expect(compaction?.remove).not.toContain(bad.path);
});

it("history files never write over a month that cannot be read", () => {
	const damaged = { path: "months/2026-01.jsonl.gz", text: "damaged" };
	expect(compact([fileOfNight(0), damaged], "2026-02")).toBeNull();
});
