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
 * @throws ToolError tool-output if this is not a profile, a time is not a number from 0 on.
 */
export function parseProfile(text: string): LayerProfile {
	const iterations = /"count" : (\d+)/.exec(text)?.[1];
	const layers = text.split(/\n(?=[,[\]]? *[{\]])/).flatMap((line) => toTime(line) ?? []);
	const isComplete = text.trimEnd().endsWith("]");
	const isTime = ({ averageMs }: { averageMs: number }) => averageMs >= 0 && averageMs < Infinity;
	if (iterations === undefined || !isComplete || !layers.every(isTime))
		throw unusable("The layer profile that trtexec wrote cannot be read.");
	const totalMs = layers.reduce((sum, { averageMs }) => sum + averageMs, 0);
	return {
		iterations: Number(iterations),
		layers: layers.map((layer) => ({ ...layer, share: totalMs > 0 ? layer.averageMs / totalMs : 0 })),
	};
}

function unusable(message: string) {
	const fix = "Check that the run finished and that the disk has space.";
	return new ToolError({ code: "tool-output", message, fix });
}

/** @throws ToolError tool-output if most layers are not the engine's. */
export function parseProfileOf(engine: EngineLayers, layersPath: string, text: string): LayerProfile {
	const profile = parseProfile(text);
	const known = new Set(engine.layers.map(({ name }) => name));
	const strange = profile.layers.filter(({ name }) => !known.has(name)).length;
	if (strange * 2 <= profile.layers.length) return profile;
	throw unusable(
		`The layer profile belongs to another engine: ${strange} of its ${profile.layers.length} layers are not in ${layersPath}.`,
	);
}

export function parseTimedLayers(
	times: string,
	info: string,
): { layers: ArmLayers; info: EngineLayers | null; times: LayerProfile } {
	const details = detailsOf(info);
	const profile = details === null ? parseProfile(times) : parseProfileOf(details, "layers.json", times);
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
