// The gates on how an engine runs: the share in its declared precision, and sparse kernels.
import type { BuildRecord, GateResult, GateStatus } from "../../../generated/result.ts";
import type { Config, Threshold } from "../config/config.ts";
import type { EngineSpec } from "../plan/plan.ts";
import { formatPercent } from "../text/units.ts";
import { judgeChange, openStatus, placeVerdict } from "./figures.ts";

export function judgePrecision(
	{ spec, base, head }: { spec: EngineSpec; base?: BuildRecord | undefined; head: BuildRecord },
	config: Config,
): GateResult[] {
	const { gates, name: engine, precision } = spec.engine;
	const now = shareOf(head);
	const before = base?.precision === head.precision ? shareOf(base) : null;
	const place = (status: GateStatus, message: string, key: string) => {
		const subject = { model: spec.model.name, engine };
		return placeVerdict(["precision-coverage", status, message], subject, { config, ...spec.engine, key });
	};
	if (now === null) {
		if (before === null || head.state !== "built") return [];
		const message = `In the base ${formatPercent(before)} of the multiply-adds run in ${precision}; the head's share is not known.`;
		return place(openStatus(gates), message, "inconclusive");
	}
	const was = before === null ? "" : `; in the base ${formatPercent(before)}`;
	const message = `${formatPercent(now)} of the multiply-adds run in ${precision}${was}.`;
	const isPromised =
		before === null ? quantised.has(precision) : before >= (gates.precisionCoverage.fail ?? 0);
	const floor = floorStatus(now, isPromised, gates.precisionCoverage);
	const drop = before === null ? "pass" : judgeChange(before - now, gates.precisionDrop);
	return rank[drop] > rank[floor]
		? place(drop, message, "precision-drop")
		: place(floor, message, "precision-coverage");
}

const rank: Readonly<Record<ReturnType<typeof judgeChange>, number>> = { pass: 0, warn: 1, fail: 2 };

const shareOf = (build: BuildRecord | undefined) => build?.precisionCoverage?.multiplyAdds ?? null;

/** In other precisions TensorRT may run all of a small net in fp32 because that is faster. */
const quantised: ReadonlySet<string> = new Set(["int8", "fp8"]);

/** @param isPromised if the base is below the floor too, the change is not the cause. */
function floorStatus(now: number, isPromised: boolean, { warn = 0, fail = 0 }: Threshold) {
	if (now < fail) return isPromised ? "fail" : "warn";
	return now < warn ? "warn" : "pass";
}

export function judgeSparsity(
	{ spec, base, head }: { spec: EngineSpec; base?: BuildRecord | undefined; head: BuildRecord },
	config: Config,
): GateResult[] {
	const { gates, name: engine } = spec.engine;
	const before = base?.sparsity;
	if (before === undefined || head.state !== "built" || gates.sparsity === "off") return [];
	const changes = (["eligible", "picked"] as const).flatMap((key) => {
		const [was, is] = [before[key], head.sparsity?.[key] ?? null];
		if (was === null) return [];
		return [{ isLost: is === null ? was > 0 : is < was, text: `${was} → ${is ?? "unknown"} ${key}` }];
	});
	const status = changes.some(({ isLost }) => isLost) ? gates.sparsity : "pass";
	const why = head.sparsity === undefined ? " The head is not built with --sparsity." : "";
	const message = `Layers for sparse kernels: ${changes.map(({ text }) => text).join(", ")}.${why}`;
	const verdict = ["sparsity", changes.length === 0 ? null : status, message] as const;
	return placeVerdict(verdict, { model: spec.model.name, engine }, { config, ...spec.engine });
}
