import type { Occasion } from "../../../src/core/config/config.ts";
import { loadConfig } from "../../../src/core/config/parse.ts";

type Inputs = Readonly<Record<string, string>>;

export function loaded(text: string, inputs: Inputs = {}, occasion?: Occasion) {
	const result = loadConfig(text, { path: "trtgate.yml", inputs, ...(occasion && { occasion }) });
	if (result.state === "invalid") throw new Error(result.errors.map((error) => error.message).join("\n"));
	return result.config;
}

export function refused(text: string, inputs: Inputs = {}) {
	const result = loadConfig(text, { path: "trtgate.yml", inputs });
	if (result.state === "ok") throw new Error("the config was accepted");
	return result.errors;
}

export function withModel(model: string, more = "") {
	return `version: 1\nmodels:\n  net: { onnx: net.onnx, ${model} }\n${more}`;
}

export function engineOf(model: string, more = "") {
	return loaded(withModel(model, more)).models[0]!.engines[0]!;
}

export function refusalOf(model: string, more = "") {
	return refused(withModel(model, more))[0]!;
}
