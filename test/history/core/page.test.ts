import { expect, it } from "vitest";
import { alarmBudget } from "../../../src/history/core/alarm-budget.ts";
import { findAlarms } from "../../../src/history/core/alarms.ts";
import { decide } from "../../../src/history/core/decisions.ts";
import { renderTrend } from "../../../src/history/core/page.ts";
import { readSeries } from "../../../src/history/core/series.ts";
import {
	buildFacts,
	buildRatio,
	buildRecord,
	buildRow,
	hash,
	nightAt,
} from "../../support/history-records.ts";

it("the page dates an accepted alarm by its decision, once, whatever epochs the series has", () => {
	const records = Array.from({ length: 60 }, (_, night) => {
		const ppm = night < 45 ? 0 : 13_000;
		const head = buildFacts(night < 45 ? {} : { structure: "0".repeat(16) });
		const ratio = buildRatio(ppm + (night % 3) * 100);
		const rows = [buildRow({ ratio, fresh: buildRatio(ppm, { halfPpm: 500 }), head })];
		const { machine } = buildRecord(night);
		return buildRecord(night, { rows, machine: { ...machine, driverBranch: night < 20 ? "570" : "580" } });
	});
	const given = { kind: "accept", patterns: ["*"], reason: "larger", at: nightAt(55.5), hash } as const;
	const decision = decide(findAlarms(readSeries(records.slice(0, 56))), given);
	expect(decision).not.toBeNull();
	const series = readSeries([...records, ...(decision === null ? [] : [decision.record])]);
	const findings = findAlarms(series);
	const page = renderTrend(findings, series, {
		...{ version: "0", skipped: [] },
		budget: alarmBudget(findings, series),
	});
	const marks = [...page.matchAll(/<path class="(accept|epoch)"[^>]*><title>([^<]*)</g)];
	expect(marks.filter(([, kind]) => kind === "accept").map(([, , title]) => title)).toEqual([
		`${nightAt(55.5).slice(0, 10)} · accepted: larger`,
	]);
	expect(marks.filter(([, kind]) => kind === "epoch").length).toBeGreaterThan(0);
});
