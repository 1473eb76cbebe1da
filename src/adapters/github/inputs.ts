// The one file that reads the action's inputs.
import { getInput } from "@actions/core";

/** Inputs of action.yml as the user wrote them; absent where empty. */
export interface ActionInputs {
	config?: string;
	base?: string;
	head?: string;
	trtexec?: string;
	only?: string;
	out: string;
	/** Values that stand above the config file. */
	overrides: Readonly<Record<string, string>>;
}

export function readInputs(): ActionInputs {
	const named = (name: string): Record<string, string> => {
		const value = getInput(name);
		return value === "" ? {} : { [name]: value };
	};
	return {
		...named("config"),
		...named("base"),
		...named("head"),
		...named("trtexec"),
		...named("only"),
		out: getInput("out") || "trtgate-out",
		overrides: { ...named("backend"), ...named("device"), ...named("onnxruntime"), ...named("inconclusive") },
	};
}
