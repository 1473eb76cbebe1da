import { expect, it } from "vitest";
import type { HistoryRecord } from "../../../generated/history.ts";
import { dueForFreshPairs, findAlarms } from "../../../src/history/core/alarms.ts";
import { decide, stateOf } from "../../../src/history/core/decisions.ts";
import { answer, judgeTrend } from "../../../src/history/core/judge-trend.ts";
import { kindOf } from "../../../src/history/core/points.ts";
import { pinToLink, readSeries } from "../../../src/history/core/series.ts";
import { planOf, simulateNights } from "../../support/history-nights.ts";
import {
	buildFacts,
	buildRatio,
	buildRecord,
	buildRow,
	hash,
	nightAt,
	short,
} from "../../support/history-records.ts";
import { scoreNights } from "../../support/history-score.ts";
import { randomFrom } from "../../support/random.ts";

const alarmsOf = (records: readonly HistoryRecord[]) => findAlarms(readSeries(records));

const latencyOf = (records: readonly HistoryRecord[]) =>
	readSeries(records).chains.filter(({ metric }) => metric === "latency");

function nights(
	count: number,
	change: (night: number) => Parameters<typeof buildRow>[0] & { ppm?: number },
	record: (night: number) => Partial<HistoryRecord> = () => ({}),
): HistoryRecord[] {
	const random = randomFrom(5);
	return Array.from({ length: count }, (_, night) => {
		const { ppm = 0, ...row } = change(night);
		const level = Math.round(ppm + 300 * random.normal());
		return buildRecord(night, {
			rows: [
				buildRow({
					ratio: buildRatio(level, { sdPpm: 800 }),
					fresh: buildRatio(ppm, { halfPpm: 500 }),
					...row,
				}),
			],
			...record(night),
		});
	});
}

const from =
	<Change>(first: number, change: Change) =>
	(night: number) =>
		night < first ? {} : change;

const other = buildFacts({ model: short("other model"), structure: short("other layers") });

it("alarms find creep, steps and deviating goldens, and their causes", () => {
	const plan = planOf(1);
	const events = plan.events.filter(({ night }) => night < 96);
	const score = scoreNights(simulateNights({ ...plan, nights: 96, series: 12, events }));
	expect(Math.max(...score.delays.creep.map((delay) => delay ?? 99))).toBeLessThanOrEqual(15);
	expect(Math.max(...score.delays.step.map((delay) => delay ?? 99))).toBeLessThanOrEqual(2);
	expect(score).toMatchObject({ falseAlarms: 0, blamed: 0 });
	expect(score.right / score.explained).toBeGreaterThanOrEqual(0.95);
	expect(score.levelError).toBeLessThanOrEqual(0.002);
});

it("alarms name the night whose structure changed, and close on recovery", () => {
	const { alarms } = alarmsOf(
		nights(60, (night) => (night >= 40 && night < 50 ? { ppm: 6000, head: other } : {})),
	);
	expect(alarms).toHaveLength(1);
	expect(alarms[0]).toMatchObject({ start: 40, raised: 40, cause: "change", isOpen: false });
	expect(alarms[0]?.shifts[0]).toMatchObject({
		foundBy: "structure",
		shift: { closed: { by: "recovered" } },
	});
});

it.each([
	["method", {}, { method: { trtgate: "1.1" } }, "trtgate: 0.1.0 → 1.1"],
	["host", { base: buildFacts({ ns: 680_000 }) }, {}, "+9.1 %"],
	["noise", {}, {}, "are the same"],
])("alarms put a step of the same engine down to %s, never to a change", (cause, row, record, evidence) => {
	const { alarms } = alarmsOf(nights(50, from(40, { ppm: 6000, ...row }), from(40, record)));
	expect(alarms[0]).toMatchObject({ cause, evidence: expect.stringContaining(evidence) });
});

it("alarms say their size, start, cause and commits, with a command that compares these", () => {
	const url = (night: number) => ({ url: `https://github.com/acme/engines/actions/runs/${night}` });
	const records = nights(60, from(40, { ppm: 13_000, head: other }), url);
	const series = readSeries(records);
	const [good, bad] = [39, 40].map((night) => records[night]?.commit ?? "");
	expect(judgeTrend(findAlarms(series), series)).toEqual([
		{
			gate: "trend",
			...{ model: "det", engine: "fp16", workload: "b1" },
			status: "fail",
			message: `+1.30 % ± 0.05 % slower since 2026-02-10. Cause: the change (measured against the pin in one job; the layers, precisions or tactics of the engine changed). It began between ${good?.slice(0, 7)} and ${bad?.slice(0, 7)}: \`trtgate run --base ${good?.slice(0, 12)} --head ${bad?.slice(0, 12)} --only det/fp16\`. The run in which it began: \`https://github.com/acme/engines/actions/runs/40\`. Open for 19 days.`,
		},
	]);
});

it("the answer counts engines of one figure, and other alarms apart", () => {
	const slower = from(40, { fresh: buildRatio(13_000, { halfPpm: 500 }), head: other });
	const further = from(50, { errors: { "out l2": 2e-3 }, head: other });
	const records = Array.from({ length: 60 }, (_, night) => {
		const ratio = buildRatio(night >= 40 ? 13_000 : 0);
		const rows = [
			buildRow({ series: "a/fp16/b1", ratio, ...slower(night) }),
			buildRow({ series: "b/fp16/b1", errors: { "out l2": 1e-3 }, ...further(night) }),
		];
		return buildRecord(night, { rows });
	});
	const series = readSeries(records);
	expect(answer(findAlarms(series), series)).toMatch(
		/^1 engine further from its golden than v3\.2, since 2026-02-20, .*; 1 more open alarm$/,
	);
});

it("alarms give a golden that crept its own start, beside a step found in the same night", () => {
	const random = randomFrom(7);
	const records = nights(53, (night) => ({
		...(night < 52 ? {} : { ppm: 13_000 }),
		head: buildFacts({
			model: short(`trained ${Math.floor(night / 3)}`),
			structure: short(night < 52 ? "layers" : "other layers"),
		}),
		errors: {
			"out l2": Number(
				(1e-3 * Math.exp(0.008 * Math.max(0, night - 38) + 0.005 * random.normal())).toPrecision(4),
			),
		},
	}));
	const series = readSeries(records);
	const { alarms } = findAlarms(series);
	expect(alarms.map(({ start, shifts }) => [shifts[0]?.chain.metric, start]).sort()).toEqual([
		["error", expect.toSatisfy((start: number) => start >= 35 && start <= 43)],
		["latency", 52],
	]);
	const messages = judgeTrend({ alarms }, series).map(({ message }) => message);
	expect(messages).toContainEqual(
		expect.stringMatching(
			/^\+[\d.]+ % ± \S+ % further from its golden \(out l2\), creeping since 2026-02-\d\d\. .*It moved between/,
		),
	);
	expect(messages).toContainEqual(expect.stringMatching(/slower since 2026-02-22/));
});

it("alarms need fresh pairs to confirm a step", () => {
	const quiet = { fresh: buildRatio(0, { halfPpm: 500 }) };
	expect(alarmsOf(nights(60, (night) => (night === 45 ? { ppm: 9000, ...quiet } : quiet))).alarms).toEqual(
		[],
	);
});

it.each([
	[3, "Too few runs to tell whether an engine is worse than its reference, as of 2026-01-03"],
	[30, "No engine is worse than its reference, as of 2026-01-30"],
])("the answer after %d nights says whether anything was watched", (count, said) => {
	const series = readSeries(nights(count, () => ({})));
	expect(answer(findAlarms(series), series)).toBe(said);
});

it("alarms request fresh pairs only for outliers of the newest night", () => {
	const records = nights(50, (night) => (night === 49 ? { ppm: 6000 } : {}));
	for (const { rows } of records) for (const row of rows) delete row.fresh;
	const series = (count: number) => readSeries(records.slice(0, count));
	expect(dueForFreshPairs(series(50))).toEqual(["det/fp16/b1"]);
	expect(dueForFreshPairs(series(49))).toEqual([]);
});

it("alarms of what no job repeats, such as P99 at load, need two nights and request no fresh pairs", () => {
	const once = { series: "det/fp16/b1 · P99 at load", fresh: undefined, unrepeated: true } as const;
	const steps = (count: number, last: number) =>
		nights(count, (night) => ({ ...once, ppm: night >= 40 && night < last ? 100_000 : 0 }));
	expect(dueForFreshPairs(readSeries(steps(41, 41)))).toEqual([]);
	expect(alarmsOf(steps(50, 41)).alarms).toEqual([]);
	const { alarms } = alarmsOf(steps(50, 50));
	expect(alarms.map(({ start, raised }) => [start, raised])).toEqual([[40, 41]]);
});

it("alarms start anew from an accepted level", () => {
	const third = buildFacts({ model: short("third") });
	const records = nights(80, (night) => {
		if (night < 30) return {};
		return night < 60 ? { ppm: 6000, head: other } : { ppm: 12_000, head: third };
	});
	const series = readSeries(records.slice(0, 36));
	const given = { kind: "accept", patterns: ["det"], reason: "larger net", at: nightAt(35.5), hash } as const;
	const decision = decide(findAlarms(series), given);
	const { alarms } = alarmsOf([...records, ...(decision === null ? [] : [decision.record])]);
	expect(alarms.map(({ start, isOpen }) => [start, isOpen])).toEqual([
		// One later: the decision is a run of its own.
		[61, true],
		[30, false],
	]);
	expect(alarms[0]?.shifts[0]?.shift.size).toBeCloseTo(0.006, 3);
});

it("alarms that someone watches stay open and fail, and say who, since when and why", () => {
	const records = nights(60, from(40, { ppm: 13_000, head: other }));
	const given = { patterns: ["det"], by: "Ada <b>", reason: "new kernels are due", hash } as const;
	const found = findAlarms(readSeries(records.slice(0, 45)));
	const decisions = [
		decide(found, { kind: "watch", at: nightAt(44.5), ...given }),
		decide(found, { kind: "watch", at: nightAt(50.5), ...given, reason: "they came" }),
	].flatMap((one) => one?.record ?? []);
	const statesOf = (all: readonly HistoryRecord[]) => {
		const series = readSeries(all);
		return findAlarms(series).alarms.map((alarm) => stateOf(alarm, series));
	};
	expect(statesOf(records)).toEqual([{ state: "open", days: 19 }]);
	const watched = { state: "watched", days: 19, by: "Ada <b>", at: nightAt(50.5), reason: "they came" };
	expect(statesOf([...records, ...decisions])).toEqual([watched]);
	const series = readSeries([...records, ...decisions]);
	expect(judgeTrend(findAlarms(series), series)).toMatchObject([
		{
			status: "fail",
			message: expect.stringMatching(/ Open for 19 days\. Watched by Ada <b> since 2026-02-20: they came\.$/),
		},
	]);
	const accepted = decide(found, { kind: "accept", at: nightAt(52.5), ...given, reason: "agreed" });
	expect(statesOf([...records, ...decisions, ...(accepted ? [accepted.record] : [])])).toEqual([
		{ state: "accepted", days: 12, by: "Ada <b>", at: nightAt(52.5), reason: "agreed" },
	]);
	const both = records.map((record) => ({
		...record,
		rows: ["det", "seg"].flatMap((model) =>
			record.rows.map((row) => ({ ...row, series: `${model}/fp16/b1` })),
		),
	}));
	expect(statesOf([...both, ...decisions])).toMatchObject([{ state: "open", reason: "they came" }]);
	const well = nights(60, (night) => (night >= 40 && night < 50 ? { ppm: 13_000, head: other } : {}));
	expect(statesOf([...well, ...decisions.slice(0, 1)])).toEqual([{ state: "recovered", days: 11 }]);
});

it("alarms begin an epoch if the driver changes", () => {
	const machine = { ...buildRecord(0).machine, driverBranch: "590" };
	const records = nights(60, from(30, { ppm: 20_000 }), from(30, { machine }));
	expect(alarmsOf(records).alarms).toEqual([]);
	expect(latencyOf(records).map(({ changed }) => changed)).toEqual([[], ["driverBranch"]]);
});

it("alarms chain a linked pin, and begin an epoch at any other", () => {
	const pin = buildFacts({ model: short("new pin") });
	const link = buildRow({ kind: "link", ratio: buildRatio(10_000), head: pin });
	const rotated = (night: number): HistoryRecord[] =>
		nights(30, (at) => (at < night ? { ppm: 10_000 } : { ppm: 0, base: pin }));
	const linked = rotated(15).map((record, night) =>
		night === 15 ? { ...record, rows: [link, ...record.rows] } : record,
	);
	const chains = latencyOf(linked);
	expect(chains.map(({ joints, points }) => [joints, points.length])).toEqual([[[15], 30]]);
	expect(chains[0]?.points.every(({ level }) => Math.abs(level - 0.01) < 0.002)).toBe(true);
	expect(latencyOf(rotated(15)).map(({ changed }) => changed)).toEqual([[], ["pin"]]);
});

it.each([
	["is due where the pin moved", [], "old"],
	["is due again after a disturbed night", [2000], "old"],
	["is done where it is certain", [500], null],
	["is done where several nights together are certain", [1000, 1000, 1000], null],
	["is given up after four nights", [9000, 9000, 9000, 9000], null],
])("a link %s", (_what, sdPpms: number[], due) => {
	const ratio = (sdPpm: number) => buildRatio(10_000, { pairs: 16, sdPpm });
	const pinned = (night: number, pin: string, links: number[]) =>
		buildRecord(night, {
			reference: { label: pin, commit: pin },
			rows: [buildRow(), ...links.map((sdPpm) => buildRow({ kind: "link", ratio: ratio(sdPpm) }))],
		});
	const records = [pinned(0, "old", []), ...sdPpms.map((sdPpm, index) => pinned(index + 1, "new", [sdPpm]))];
	const series = readSeries(records);
	const kind = kindOf({ machine: buildRecord(0).machine });
	expect(pinToLink(series, { kind, pin: "new" })).toBe(due);
	expect(pinToLink(series, { kind: "another machine", pin: "new" })).toBeNull();
});
