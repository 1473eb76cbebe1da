// Reads --exportProfile.
import type { ArmLayers } from "../../../generated/result.ts";
import { ToolError } from "../../core/errors.ts";
import { joinLayers } from "../../engine/core/explain/layers.ts";
import type { EngineLayers, LayerProfile } from "../../engine/core/layer.ts";
import { parseLayerInfo } from "./layers.ts";

const number = "(-?(?:\\d[\\d.]*(?:e[-+]?\\d+)?|nan|inf))";
const nameStart = '"name" : "';
const nameEnd = '", "timeMs" : ';
const figures = new RegExp(`^${nameEnd}${number}, "averageMs" : ${number}`);

/** trtexec escapes nothing in names: the name extends to the last `timeMs`. */
function toTime(line: string) {
	const from = line.indexOf(nameStart) + nameStart.length;
	const to = line.lastIndexOf(nameEnd);
	if (from < nameStart.length || to < from) return null;
	const [, sum, average] = figures.exec(line.slice(to)) ?? [];
	if (average === undefined) return null;
	const averageMs = Number.isFinite(Number(sum)) ? Number(average) : NaN;
	return { name: line.slice(from, to), averageMs, share: 0 };
}

/**
 * trtexec rounds shares, and prints `nan` if the sum is 0.
 * @throws ToolError tool-output if this is not a profile or a time is not a number.
 */
export function parseProfile(text: string): LayerProfile {
	const iterations = /"count" : (\d+)/.exec(text)?.[1];
	const layers = text.split(/\n(?=[,[\]]? *[{\]])/).flatMap((line) => toTime(line) ?? []);
	const isComplete = text.trimEnd().endsWith("]");
	if (iterations === undefined || !isComplete || !layers.every(({ averageMs }) => Number.isFinite(averageMs)))
		throw new ToolError({
			code: "tool-output",
			message: "The layer profile that trtexec wrote cannot be read.",
			fix: "Check that the run finished and that the disk has space.",
		});
	const totalMs = layers.reduce((sum, { averageMs }) => sum + averageMs, 0);
	return {
		iterations: Number(iterations),
		layers: layers.map((layer) => ({ ...layer, share: totalMs > 0 ? layer.averageMs / totalMs : 0 })),
	};
}

export function parseTimedLayers(
	times: string,
	info: string,
): { layers: ArmLayers; info: EngineLayers | null; times: LayerProfile } {
	const [profile, details] = [parseProfile(times), detailsOf(info)];
	return { layers: joinLayers(profile, details), info: details, times: profile };
}

function detailsOf(info: string) {
	try {
		return parseLayerInfo(info);
	} catch (error) {
		if (error instanceof ToolError) return null;
		throw error;
	}
}
