// Whether a model's engines are asked anything in this run.
import type { ProbesConfig } from "../../config/config.ts";

export function probesEnabled({ when }: Pick<ProbesConfig, "when">, run: { isScheduled: boolean }): boolean {
	return when === "on" || (when === "nightly" && run.isScheduled);
}
