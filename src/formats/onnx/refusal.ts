// The one way to say that a file cannot be read as an ONNX model.
import { ConfigError } from "../../core/errors.ts";

const fixOfDamage = "Export or download the model again; `onnx.checker.check_model` in Python judges the file.";

export function unreadable(message: string, path: string, fix = fixOfDamage): ConfigError {
	return new ConfigError({ code: "model-unreadable", message, details: { fix, location: { path } } });
}
