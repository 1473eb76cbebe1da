import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import type { EngineDiff } from "../../generated/result.ts";
import { diffEngines } from "../../src/engine/core/diff.ts";
import type { EngineLayers, LayerProfile } from "../../src/engine/core/layer.ts";
import { engineModel } from "../../src/engine/core/model.ts";
import { parseProfile } from "../../src/formats/trtexec/layer-profile.ts";
import { parseLayerInfo } from "../../src/formats/trtexec/layers.ts";

export interface RecordedEngine {
	info: EngineLayers;
	profiles: LayerProfile[];
}

function unpacked(path: string): string {
	return gunzipSync(readFileSync(path)).toString("utf8");
}

export function recordedEngine(name: string, { timed = false } = {}): RecordedEngine {
	const folder = "test/fixtures/engines";
	const profiles = timed ? [parseProfile(unpacked(`${folder}/${name}.profile.json.gz`))] : [];
	return { info: parseLayerInfo(unpacked(`${folder}/${name}.layers.json.gz`)), profiles };
}

export function profiledArm(
	comparison: string,
	arm: "base" | "head",
): Record<"layers.json" | "profile.json", string> {
	const { steps } = JSON.parse(unpacked(`test/fixtures/comparisons/${comparison}/steps.json.gz`));
	return steps.find((one: { kind: string; arm: string }) => one.kind === "profile" && one.arm === arm).text;
}

export function recordedArm(comparison: string, arm: "base" | "head"): RecordedEngine {
	const text = profiledArm(comparison, arm);
	return { info: parseLayerInfo(text["layers.json"]), profiles: [parseProfile(text["profile.json"])] };
}

export function diffOf(
	base: RecordedEngine,
	head: RecordedEngine,
	around: { gpu?: string; enginesMs?: { base: number; head: number } } = {},
): EngineDiff {
	const models = { base: engineModel({ ...base, graph: null }), head: engineModel({ ...head, graph: null }) };
	return diffEngines(models, { gpu: around.gpu ?? null, enginesMs: around.enginesMs ?? null });
}

export interface MeasuredEngine extends RecordedEngine {
	medianMs: number;
}

/** `det-base`, …: built, profiled four times and timed on an H200. */
export function h200Engine(name: string): MeasuredEngine {
	const { medianMs, layers, profiles } = JSON.parse(unpacked(`test/fixtures/engines/h200/${name}.json.gz`));
	return { medianMs, info: parseLayerInfo(layers), profiles: profiles.map(parseProfile) };
}
