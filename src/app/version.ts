// The version, from package.json at build time.
import manifest from "../../package.json" with { type: "json" };

export const version: string = manifest.version;
