// Reads the two files that trtexec writes of an engine's layers, their times and their details, as one.
import { ToolError } from "../../core/errors.ts";
import type { EngineLayers } from "../../core/explain/engine-layers.ts";
import { joinLayers } from "../../core/explain/layers.ts";
import type { ArmLayers } from "../../core/schema/result.ts";
import { parseLayerInfo } from "./layer-info.ts";
import { parseProfile } from "./profile.ts";

/**
 * Times are of use without the layers' details.
 * @throws ToolError tool-output, where the times cannot be read.
 */
export function parseTimedLayers(times: string, info: string): ArmLayers {
	return joinLayers(parseProfile(times), detailsOf(info));
}

function detailsOf(info: string): EngineLayers | null {
	try {
		return parseLayerInfo(info);
	} catch (error) {
		if (error instanceof ToolError) return null;
		throw error;
	}
}
