// How few bits an element may take in an engine of a precision.
import type { Precision } from "../../schema/config.ts";

export function leastBitsOf(precision: Precision | undefined): number {
	if (precision === undefined || precision === "fp32" || precision === "tf32") return 32;
	if (precision === "fp16" || precision === "bf16") return 16;
	return precision === "int4" || precision === "fp4" ? 4 : 8;
}
