// What one run of the gate is given.
import type { Config } from "../core/config/config.ts";
import type { ArmFolder, PreparedModel } from "../stages/prepared.ts";

/** What is known when the first engine is about to be built. */
export interface BeforeBuild {
	config: Config;
	fingerprint: Readonly<Record<string, string>>;
	/** Of both arms. */
	models: readonly PreparedModel[];
}

export interface GateInput {
	config: Config;
	/** Of the config file's bytes. */
	configSha256: string;
	/** Base first where there is one; head always. */
	arms: readonly ArmFolder[];
	/** Why there is no base, where there is none. */
	noBase?: string;
	/** Sentences about how the arms were opened. */
	notes?: readonly string[];
	/** The base's own config, to notice what is demanded or checked no more; absent where it has none. */
	baseConfig?: Config;
	/** Why the base's config cannot be read, where it has one. */
	baseConfigFault?: string;
	/** Absolute. */
	outFolder: string;
	/** A schedule started the run: what waits for the night is due. */
	isScheduled?: boolean;
	/** Decides the order of the runs: the same seed, the same order. */
	seed: string;
	version: string;
	/** Awaited before the machine is taken for this run alone. */
	beforeBuild?(known: BeforeBuild): Promise<void>;
}
